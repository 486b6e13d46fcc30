"""Which results of one past turn a prompt shows shortened, and how. Pure functions of that turn's results.

The Record log keeps every result whole; what is shortened here is a projection for one prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from coldturn.reference.policy import Policy
from coldturn.reference.records import ToolResult
from coldturn.reference.tokens import estimate_tokens

READER_NAME = "read_tool_output"


@dataclass(frozen=True, slots=True)
class Limits:
    """Thresholds in estimated tokens, lengths in code points.

    Attributes:
        result: A result of this size or more is shortened once its turn holds as much in all.
        batch: A turn's results are shortened until they hold less than this.
        preview: What a preview keeps from each end.
        failure: What is kept of a failure, from its top.
    """

    result: int
    batch: int
    preview: int
    failure: int

    @classmethod
    def of(cls, policy: Policy) -> Limits:
        """Take the thresholds of `policy`."""
        return cls(policy.result_tokens, policy.batch_tokens, policy.preview_chars, policy.failure_chars)


def shorten(
    results: Iterable[ToolResult], limits: Limits, capped: Mapping[str, str] | None = None
) -> Mapping[str, str]:
    """Choose what of one turn's results to shorten.

    Below the result threshold in all, nothing. Otherwise failures are cut; then each result at or over the
    result threshold becomes a preview; then the others do, largest first, until the sum is below the batch
    threshold. A result whose preview would not be smaller stays.

    Args:
        results: Tool results of one turn, in any order.
        limits: Thresholds.
        capped: Handle -> text of results that were shown shortened from the start; they count at that size
            and stay as they are.

    Returns:
        Handle -> text to show instead. Results that stay as they are are not in it.
    """
    capped = capped or {}
    in_order = sorted(results, key=_record_order)
    sizes = {result.handle: _tokens(capped.get(result.handle, result.shown)) for result in in_order}
    if sum(sizes.values()) < limits.result:
        return {}
    shortened: dict[str, str] = {}
    for result in in_order:
        if result.is_error and (text := cut_failure(result.shown, limits.failure)) != result.shown:
            shortened[result.handle] = text
            sizes[result.handle] = _tokens(text)
    total = sum(sizes.values())
    candidates = [result for result in in_order if not result.is_error and result.handle not in capped]
    for result in sorted(candidates, key=lambda result: -sizes[result.handle]):
        size = sizes[result.handle]
        if size < limits.result and total < limits.batch:
            break
        text = preview(result, limits.preview)
        if text != result.shown:
            shortened[result.handle] = text
            total += _tokens(text) - size
    return shortened


def preview(result: ToolResult, characters: int) -> str:
    """Show both ends of a result around a line that says how to read the rest.

    The text is given back as it is where head and tail would meet, or where the preview would be no shorter.

    Args:
        result: The whole result.
        characters: Code points to keep from each end.
    """
    head_end = _safe_cut(result.shown, characters)
    return _both_ends(result.shown, characters, f"the middle of this result. {_read_on(result, head_end)}")


def cap(result: ToolResult, tokens: int | None, characters: int) -> str | None:
    """Give the preview of a result of the current turn that is over the cap; None when it is shown whole.

    Failures are whole in their own turn, and so are pages of the reader, which have a limit of their own.

    Args:
        result: The whole result.
        tokens: The policy's ``current_turn_cap`` in estimated tokens; None caps nothing.
        characters: Code points to keep from each end.
    """
    exempt = tokens is None or result.is_error or result.reads is not None
    if exempt or _tokens(result.shown) <= (tokens or 0):
        return None
    reason = f"the middle of this result, which is over the cap of {tokens} estimated tokens. "
    head_end = _safe_cut(result.shown, characters)
    text = _both_ends(result.shown, characters, reason + _read_on(result, head_end))
    return None if text == result.shown else text


def _both_ends(text: str, characters: int, told: str) -> str:
    head_end = _safe_cut(text, characters)
    tail_start = _safe_cut(text, len(text) - characters)
    if head_end >= tail_start:
        return text
    middle = f"\n...\n[elided: {told}]\n...\n"
    # In code points; what is left out then has at least as many bytes, since the inserted lines are ASCII or
    # repeat characters of the original call.
    if len(middle) >= tail_start - head_end or utf8_size(middle) >= utf8_size(text[head_end:tail_start]):
        return text
    return text[:head_end] + middle + text[tail_start:]


def cut_failure(text: str, characters: int) -> str:
    """Keep the top of a failure: mostly a stack trace, whose top is what helps."""
    return text[: _safe_cut(text, characters)]


def utf8_size(text: str) -> int:
    """Give the bytes of a text; a lone surrogate counts as three."""
    return len(text.encode("utf-8", "surrogatepass"))


def _read_on(result: ToolResult, offset: int) -> str:
    """Say how to read on; for an answer of the reader, how to read the original again."""
    arguments = result.reads
    if arguments is None:
        arguments = f'{{"handle":"{result.handle}","offset":{offset}}}'
    return f"To read on, call {READER_NAME} with {arguments}"


def _safe_cut(text: str, at: int) -> int:
    """Move a cut in front of a surrogate pair that it would part."""
    at = min(max(at, 0), len(text))
    if 0 < at < len(text) and "\ud800" <= text[at - 1] <= "\udbff" and "\udc00" <= text[at] <= "\udfff":
        return at - 1
    return at


def _record_order(result: ToolResult) -> tuple[int, int, str]:
    """Order as logged: handles are numbered, so among equally long ones their text decides."""
    return result.step, len(result.handle), result.handle


def _tokens(text: str) -> int:
    return estimate_tokens(utf8_size(text))

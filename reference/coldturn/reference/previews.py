"""What stands in for a result that is not shown whole: both ends of it, or the top of a failure. Pure.

The Record log keeps every result whole; whoever shortens one starts from there.
"""

from __future__ import annotations

from coldturn.reference.records import ToolResult
from coldturn.reference.tokens import EstimatedTokens, estimate_tokens

READER_NAME = "read_tool_output"


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
    if exempt or estimated_tokens(result.shown) <= (tokens or 0):
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


def estimated_tokens(text: str) -> EstimatedTokens:
    """Estimate the tokens of a text."""
    return estimate_tokens(utf8_size(text))

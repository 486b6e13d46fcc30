"""Which results of one past turn a prompt shows shortened, and how. Pure functions of that turn's results.

The Record log keeps every result whole; what is shortened here is a projection for one prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from coldturn.reference.policy import Policy
from coldturn.reference.previews import cut_failure, estimated_tokens, preview
from coldturn.reference.records import ToolResult


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
    sizes = {result.handle: estimated_tokens(capped.get(result.handle, result.shown)) for result in in_order}
    if sum(sizes.values()) < limits.result:
        return {}
    shortened: dict[str, str] = {}
    for result in in_order:
        if result.is_error and (text := cut_failure(result.shown, limits.failure)) != result.shown:
            shortened[result.handle] = text
            sizes[result.handle] = estimated_tokens(text)
    total: int = sum(sizes.values())
    candidates = [result for result in in_order if not result.is_error and result.handle not in capped]
    for result in sorted(candidates, key=lambda result: -sizes[result.handle]):
        size = sizes[result.handle]
        if size < limits.result and total < limits.batch:
            break
        text = preview(result, limits.preview)
        if text != result.shown:
            shortened[result.handle] = text
            total += estimated_tokens(text) - size
    return shortened


def _record_order(result: ToolResult) -> tuple[int, int, str]:
    """Order as logged: handles are numbered, so among equally long ones their text decides."""
    return result.step, len(result.handle), result.handle

"""What `advise` prints for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from coldturn.analysis.advise.report import Advice, Remedy, Sums
from coldturn.analysis.rates import format_rate

_UNLIKE_EXPLAIN = (
    "All of this is simulated, and a cause counts behind another too; `coldturn explain` differs: it counts",
    "what each break took as it was sent, by its first cause, and shows reads that the provider reported.",
)


def advice_text(advice: Advice, requests: int) -> str:
    """A row per cause, the most saving first; then what to do about those that save something."""
    counted = f"{requests:,} request{'s' * (requests != 1)}"
    if not advice.remedies:
        return f"{counted}: nothing to mend"
    if not advice.before.requests:
        causes = ", ".join(f"{one.cause} ({one.breaks})" for one in advice.remedies)
        return f"{counted}: no rules say what mending would be worth; the causes: {causes}"
    before = advice.before
    rate = format_rate(before.read, before.input)
    lines = [f"{counted}; {rate} of the input is read from a cache (estimated)"]
    if any(one.after is not None for one in advice.remedies):
        lines += ["", *_table(_rows(advice)), *_told_of_all(advice)]
    lines += [line for remedy in advice.remedies if remedy.saved for line in _told(remedy)]
    unsimulated = [one for one in advice.remedies if one.saved is None]
    lines += ["", "Not simulated:"] if unsimulated else []
    lines += [f"  {one.cause}: {one.remedy or one.way.wire}" for one in unsimulated]
    return "\n".join(lines)


def _told_of_all(advice: Advice) -> list[str]:
    if not any(sums.read for sums in _all(advice)):
        told = "Nothing is read whatever of this is mended (estimated)"
        if any(one.after is None for one in advice.remedies):
            return ["", f"{told}."]
        return [
            "",
            f"{told}: by the rules these prompts",
            "are too short to be kept, or nothing marks what to keep.",
        ]
    alone = "Each row mends one cause alone, so rows do not add up: what stands behind one shows next."
    return ["", *([alone] if advice.together is not None else []), *_UNLIKE_EXPLAIN]


def _all(advice: Advice) -> Iterator[Sums]:
    yield advice.before
    yield from (one.after for one in advice.remedies if one.after is not None)
    if advice.together is not None:
        yield advice.together


def _rows(advice: Advice) -> Iterator[tuple[str, ...]]:
    yield "if mended", "requests", "saved tokens", "hit rate"
    for (after, breaks), same in groupby(
        (one for one in advice.remedies if one.after is not None),
        key=lambda one: (_key(one.after), one.breaks),
    ):
        del after
        together = list(same)
        first = together[0]
        names = ", ".join(one.cause for one in together)
        yield names, f"{breaks:,}", _saved(first.saved), _becomes(first.before, first.after)
    if advice.together is not None:
        saved = advice.before.uncached - advice.together.uncached
        yield "all of these", "", _saved(saved), _becomes(advice.before, advice.together)


def _key(sums: Sums | None) -> tuple[int, int] | None:
    return None if sums is None else (sums.input, sums.read)


def _saved(tokens: int | None) -> str:
    if tokens is None:
        return "-"
    return f"{tokens:,}" if tokens >= 0 else f"costs {-tokens:,}"


def _becomes(before: Sums, after: Sums | None) -> str:
    if after is None:
        return "-"
    return f"{format_rate(before.read, before.input)} becomes {format_rate(after.read, after.input)}"


def _told(remedy: Remedy) -> Iterator[str]:
    yield ""
    yield f"{remedy.cause}: {remedy.remedy}"
    yield f"  on the wire  {remedy.way.wire}"
    yield f"  trade-off    {remedy.way.trade_off}"
    if (remedy.saved or 0) < 0:
        yield f"  costs more   {_why_dearer(remedy)}"


def _why_dearer(remedy: Remedy) -> str:
    """Why mending a cause alone costs tokens, as far as the sums tell."""
    after = remedy.after
    if after is None or after.read or not remedy.before.read:
        return "What is sent behind the history, or kept, is more than what caches then read in addition."
    short = "What requests still share alone is then too short to be kept, or nothing marks it."
    listed = " Not simulated: listing the tool from the first request on, which may avoid that."
    return short + (listed if remedy.cause == "tool_added" else "")


def _table(rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    held: Sequence[tuple[str, ...]] = list(rows)
    widths = [max(len(row[column]) for row in held) for column in range(len(held[0]))]
    for row in held:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)]
        yield "  ".join([*cells, row[-1]]).rstrip()

"""What a mended request carries over from the mended one before it: a merge of three.

`was` is what was sent before, `mended` what would have been sent in its place, `now` what was sent next.
Changes from `was` to `now` are taken over, except those that the mend undoes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias, TypeVar

from coldturn.reference.prefix.causes.align import Gap, gaps, grown_gaps, matches

T = TypeVar("T", bound=Hashable)


Replace: TypeAlias = Callable[[Gap, Sequence[T]], Sequence[T] | None]
"""Takes a change, and what stands in the mended request for what was there before; gives what is sent there,
or None for what was really sent."""


def carry(
    was: Sequence[T],
    mended: Sequence[T],
    now: Sequence[T],
    replace: Replace[T],
    like: Callable[[T, T], T],
    *,
    grows: bool = False,
) -> tuple[list[T], int]:
    """Merge.

    Args:
        was: What was sent before.
        mended: What would have been sent in its place.
        now: What was sent next.
        replace: Decides about each change, but for what is appended.
        like: Takes one of `mended` and its counterpart in `now`; gives the former, marked as the latter.
        grows: `now` is appended to.

    Returns:
        What is sent, and how many of it stand in front of what is appended.
    """
    places = _counterparts(was, mended)
    found, behind = (
        changes(was, now) if grows else (gaps(was, now), Gap(len(was), len(was), len(now), len(now)))
    )
    sent: list[T] = []
    was_at = now_at = mended_at = 0
    for gap in [*found, behind]:
        start = max(_start(places, gap.was_start, len(mended)), mended_at)
        alike = {
            places[was_at + step]: now[now_at + step]
            for step in range(gap.was_start - was_at)
            if was_at + step in places
        }
        sent += [like(mended[at], alike[at]) if at in alike else mended[at] for at in range(mended_at, start)]
        if gap is behind:
            sent += mended[start:]
            return [*sent, *now[gap.now_start : gap.now_end]], len(sent)
        end = max(_end(places, gap, len(mended)), start)
        kept = replace(gap, mended[start:end])
        sent += now[gap.now_start : gap.now_end] if kept is None else kept
        was_at, now_at, mended_at = gap.was_end, gap.now_end, end
    return sent, len(sent)


def changes(was: Sequence[T], now: Sequence[T]) -> tuple[list[Gap], Gap]:
    """What changed in a sequence that was appended to, and what was appended.

    Where the last items changed too, as many of the new ones as there were stand for them.
    """
    found = grown_gaps(was, now)
    if not found or found[-1].was_end < len(was):
        return found, Gap(len(was), len(was), len(now), len(now))
    last = found.pop()
    changed = min(last.was_end - last.was_start, last.now_end - last.now_start)
    if last.was_end > last.was_start:
        found.append(Gap(last.was_start, last.was_end, last.now_start, last.now_start + changed))
    return found, Gap(len(was), len(was), last.now_start + changed, last.now_end)


def _counterparts(was: Sequence[T], mended: Sequence[T]) -> dict[int, int]:
    """Index in `was` -> index in `mended` of the same thing, or of what stands for it."""
    places = dict(matches(was, mended))
    for gap in gaps(was, mended):
        if gap.was_end - gap.was_start == gap.now_end - gap.now_start:
            places.update(
                zip(range(gap.was_start, gap.was_end), range(gap.now_start, gap.now_end), strict=True)
            )
    return places


def _start(places: dict[int, int], at: int, end: int) -> int:
    """Where in the mended sequence begins what stands for `was` from an index on."""
    if at in places:
        return places[at]
    before = next((places[one] + 1 for one in range(at - 1, -1, -1) if one in places), 0)
    return before if any(one >= at for one in places) else min(before, end)


def _end(places: dict[int, int], gap: Gap, end: int) -> int:
    """Where in the mended sequence ends what stands for a gap's run of `was`."""
    last = gap.was_end - 1
    if gap.was_start == gap.was_end:
        return _start(places, gap.was_start, end)
    if last in places:
        return places[last] + 1
    return min((places[one] for one in places if one > last), default=end)

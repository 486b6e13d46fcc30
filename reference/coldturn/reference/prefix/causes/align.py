"""Which items of two sequences correspond: common ends first, then the longest matches of the middle."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TypeVar

from coldturn.reference.prefix.difference import common_length

T = TypeVar("T", bound=Hashable)

_MAX_CELLS = 4_000_000
"""Above this product of lengths the middle is taken as one gap: alignment is quadratic at worst."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A run of the older sequence that stands where a run of the newer one stands. Either may be empty."""

    was_start: int
    was_end: int
    now_start: int
    now_end: int


def gaps(was: Sequence[T], now: Sequence[T]) -> list[Gap]:
    """What differs between two sequences, in order."""
    head = common_length(was, now)
    tail = 0
    limit = min(len(was), len(now)) - head
    while tail < limit and was[-1 - tail] == now[-1 - tail]:
        tail += 1
    middle_was = was[head : len(was) - tail]
    middle_now = now[head : len(now) - tail]
    if not middle_was and not middle_now:
        return []
    if not middle_was or not middle_now or len(middle_was) * len(middle_now) > _MAX_CELLS:
        return [Gap(head, len(was) - tail, head, len(now) - tail)]
    matcher = SequenceMatcher(None, middle_was, middle_now, autojunk=False)
    return [
        Gap(head + was_start, head + was_end, head + now_start, head + now_end)
        for tag, was_start, was_end, now_start, now_end in matcher.get_opcodes()
        if tag != "equal"
    ]


def grown_gaps(was: Sequence[T], now: Sequence[T]) -> list[Gap]:
    """What differs between two sequences of which the newer one was appended to.

    The older one's end is sought anywhere in the newer one, not at its end alone: a message that is said
    again and again would else be taken for the last time it is said.
    """
    head = common_length(was, now)
    if head == len(was):
        return [Gap(head, head, head, len(now))] if head < len(now) else []
    older, newer = was[head:], now[head:]
    end, run = _end_of(older, newer)
    if end is None:
        return gaps(was, now)
    middle = gaps(older[: len(older) - run], newer[: end - run])
    found = [
        Gap(one.was_start + head, one.was_end + head, one.now_start + head, one.now_end + head)
        for one in middle
    ]
    return found if head + end == len(now) else [*found, Gap(len(was), len(was), head + end, len(now))]


def _end_of(was: Sequence[T], now: Sequence[T]) -> tuple[int | None, int]:
    """Where in `now` the end of `was` ends, and how many items of it stand there; (None, 0) when nowhere.

    The longest run counts; of equal ones the one that leaves least in front unexplained, then the one that
    moved least, then the first.
    """
    if now.count(was[-1]) * len(was) > _MAX_CELLS:
        return None, 0
    last = was[-1]
    runs = {at + 1: _run_up_to(was, now, at) for at, one in enumerate(now) if one == last}
    if not runs:
        return None, 0
    run = max(runs.values())
    ends = [end for end, length in runs.items() if length == run]
    if len(ends) == 1:
        return ends[0], run
    older = Counter(was[: len(was) - run])

    def cost(end: int) -> tuple[int, int, int]:
        newer = Counter(now[: end - run])
        left = older.total() + newer.total() - 2 * (older & newer).total()
        return left, abs(end - len(was)), end

    return min(ends, key=cost), run


def _run_up_to(was: Sequence[T], now: Sequence[T], at: int) -> int:
    limit = min(len(was), at + 1)
    run = 1
    while run < limit and was[-1 - run] == now[at - run]:
        run += 1
    return run


def matches(was: Sequence[T], now: Sequence[T]) -> list[tuple[int, int]]:
    """Index pairs of the items that correspond, in order."""
    pairs: list[tuple[int, int]] = []
    was_at = now_at = 0
    for gap in [*gaps(was, now), Gap(len(was), len(was), len(now), len(now))]:
        pairs += zip(range(was_at, gap.was_start), range(now_at, gap.now_start), strict=True)
        was_at, now_at = gap.was_end, gap.now_end
    return pairs


def displaced(was: Sequence[T], now: Sequence[T]) -> list[int]:
    """Indices into `now` of the items of a permutation of `was` that moved.

    Those stayed that stand in every longest choice of items whose order is the same in both. So of two
    neighbours that changed places both moved, and of one that went to the other end of many it alone.
    """
    places = {item: place for place, item in enumerate(was)}
    order = [places[item] for item in now]
    front = _run_lengths(order)
    back = _run_lengths([-place for place in reversed(order)])[::-1]
    longest = max(front, default=0)
    on_some = [length + rest - 1 == longest for length, rest in zip(front, back, strict=True)]
    alternatives = Counter(length for length, some in zip(front, on_some, strict=True) if some)
    return [
        index
        for index, (length, some) in enumerate(zip(front, on_some, strict=True))
        if not some or alternatives[length] > 1
    ]


def _run_lengths(order: Sequence[int]) -> list[int]:
    """Of each item, how many the longest rising subsequence has that ends with it."""
    ends: list[int] = []
    lengths: list[int] = []
    for place in order:
        at = bisect_left(ends, place)
        ends[at : at + 1] = [place]
        lengths.append(at + 1)
    return lengths

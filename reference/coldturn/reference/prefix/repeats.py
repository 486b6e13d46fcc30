"""Where a body repeats a recent one, element by element, and the runs in which it does not.

Elements are known of the recent body only. Looks compare bytes in large pieces, so what is repeated costs
little, however much it is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from coldturn.reference.prefix.reading import PlacedGroup

MOST_RUNS = 8
"""With more of them, reading in full costs about the same."""
_MOST_SKIPPED = 3
_WINDOW = 1 << 16

_Place = tuple[int, int]
"""A group, in the order of the body, and an element in it."""


@dataclass(frozen=True, slots=True)
class Run:
    """Elements that give way to other values.

    Attributes:
        group: Which one, in the order of the body.
        first: The first element.
        behind: The first one behind the run.
        start: Where the new values stand in the new body.
        stop: The byte behind them.
        moved: Bytes by which what stands behind the run has moved.
    """

    group: int
    first: int
    behind: int
    start: int
    stop: int
    moved: int


def changed_runs(body: bytes, before: bytes, order: Sequence[PlacedGroup]) -> list[Run] | None:
    """The runs of elements in which `body` differs from `before`; None when it differs elsewhere too.

    A run that only adds holds the element in front of what is added.

    Args:
        body: The new bytes.
        before: The recent ones.
        order: The groups of `before` that hold elements, as they stand in it.

    Returns:
        At least one, even for equal bodies. Both bodies are the same between runs, which does not yet say
        that what stands in the place of a run are values.
    """
    repeats = _Repeats(body, memoryview(before), order)
    runs: list[Run] = []
    place, at, shift = (0, 0), 0, 0
    while len(runs) < MOST_RUNS:
        changed = repeats.first_changed(place, at, shift)
        if changed is None:
            return None
        last = repeats.last_run(changed, shift)
        if last is not None and last.behind - last.first <= _MOST_SKIPPED:
            return [*runs, last]
        # A run that long may hide elements that are repeated.
        met = repeats.run_up_to_next(changed, shift)
        if met is None:
            return None if last is None else [*runs, last]
        run, place = met
        runs.append(run)
        at, shift = order[place[0]].start(place[1]), run.moved
    return None


@dataclass(frozen=True, slots=True)
class _Repeats:
    body: bytes
    view: memoryview
    order: Sequence[PlacedGroup]

    def first_changed(self, place: _Place, at: int, shift: int) -> _Place | None:
        """The first element from `place` on that is not repeated, or the one in front of an insertion.

        Args:
            place: An element that is looked at first.
            at: Up to which byte of the recent body all is known.
            shift: Bytes by which the new body has moved there.
        """
        found: _Place | None = None
        group, low = place
        for number in range(group, len(self.order)):
            placed = self.order[number]
            if not self._repeated(at, placed.start(low), shift):
                break
            last = len(placed.elements) - 1
            if self._repeated(at, placed.end(last), shift):
                found, at, low = (number, last), placed.end(last), 0
                continue
            index = self._first_not_repeated(placed, low, at, shift)
            if self._repeated(at, placed.start(index), shift):
                return number, index
            return (number, index - 1) if index > low else found
        return found

    def _repeated(self, start: int, stop: int, shift: int) -> bool:
        return self.body.startswith(self.view[start:stop], start + shift)

    def _first_not_repeated(self, placed: PlacedGroup, low: int, at: int, shift: int) -> int:
        def differs(index: int) -> bool:
            return not self._repeated(at, placed.end(index), shift)

        # From the end, in growing strides: most often the last one or two differ, and a look costs a
        # comparison of all the bytes in front.
        high, stride = len(placed.elements), 1
        while high > low and differs(max(high - stride, low)):
            high, stride = max(high - stride, low), stride * 2
        return bisect_left(range(high), True, lo=max(high - stride, low), key=differs)

    def last_run(self, place: _Place, shift: int) -> Run | None:
        """The run from `place` on, behind which the new body ends as the recent one does.

        None when that is not within the group.
        """
        group, first = place
        placed = self.order[group]
        count = len(placed.elements)

        def repeats_behind(index: int) -> bool:
            return self.body.endswith(self.view[placed.end(index) :])

        if not repeats_behind(count - 1):
            return None
        last = bisect_left(range(first, count), True, key=repeats_behind) + first
        start, room = placed.start(first) + shift, len(self.body) - len(self.view)
        while placed.end(last) + room <= start:
            # The two runs overlap: something was taken out between equal neighbours.
            last += 1
            if last == count:
                return None
        return Run(group, first, last + 1, start, placed.end(last) + room, room)

    def run_up_to_next(self, place: _Place, shift: int) -> tuple[Run, _Place] | None:
        """The run from `place` up to an element that is sent again or a next group, and what stands there.

        None when none of the next few elements is.
        """
        group, first = place
        placed = self.order[group]
        start = placed.start(first) + shift
        end = len(placed.elements)
        # The last of all, too: a list may have lost its end.
        for last in dict.fromkeys((*range(first, min(first + _MOST_SKIPPED, end)), end - 1)):
            following = self._following(group, last)
            if following is None:
                break
            # With what stands between both, which is no value and stays as it is; between groups it is a key.
            next_placed, element = self.order[following[0]], following[1]
            known = next_placed.end(element) if following[0] == group else next_placed.start(element)
            old = self.view[placed.end(last) : known]
            most = start + 2 * (placed.end(last) - placed.start(first)) + len(old) + _WINDOW
            stop = self.body.find(old, start, most)
            if stop > start:
                return Run(group, first, last + 1, start, stop, stop - placed.end(last)), following
        return None

    def _following(self, group: int, element: int) -> _Place | None:
        if element + 1 < len(self.order[group].elements):
            return group, element + 1
        return (group + 1, 0) if group + 1 < len(self.order) else None

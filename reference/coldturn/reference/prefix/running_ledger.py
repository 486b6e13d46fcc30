"""The ledgers of requests that grow out of one another: what stands still is hashed once."""

from __future__ import annotations

from dataclasses import dataclass

from coldturn.reference.prefix.blocks import element_named
from coldturn.reference.prefix.difference import common_length
from coldturn.reference.prefix.ledger import Ledger, LedgerState, SegmentHash, finished
from coldturn.reference.prefix.request import PromptRequest

_KEPT = 8
"""Places near the end of a request at which the next one may go on."""


@dataclass(frozen=True, slots=True)
class _Place:
    """The state in front of an element, and how many segments and blocks stand before it."""

    element: int
    state: LedgerState
    segments: int
    blocks: int


class RunningLedger:
    """Gives each request's ledger as `ledger_of` does; a request that repeats the last one costs what is new.

    It holds the last request alone. One whose older parts changed is hashed from the start.
    """

    def __init__(self) -> None:
        self._last: PromptRequest | None = None
        self._segments: tuple[SegmentHash, ...] = ()
        self._ends: tuple[int, ...] = ()
        self._places: list[_Place] = []

    def of(self, request: PromptRequest) -> Ledger:
        """The ledger of the next request."""
        place = self._go_on_from(request)
        state = place.state.copy()
        segments: list[SegmentHash] = []
        ends: list[int] = []
        elements = len(request.contents)
        places = [one for one in self._places if one.element <= place.element][-_KEPT:]
        first = max(place.element, elements - _KEPT)
        for start, end in [(place.element, first), *((at, at + 1) for at in range(first, elements))]:
            if places[-1:] == [] or places[-1].element < start:
                met = place.segments + len(segments), place.blocks + len(ends)
                places.append(_Place(start, state.copy(), *met))
            added, added_ends = state.add(request.lazy_blocks.of_elements(start, end))
            segments += added
            ends += added_ends
        self._last, self._places = request, places[-_KEPT:]
        self._segments = self._segments[: place.segments] + tuple(segments)
        self._ends = self._ends[: place.blocks] + tuple(ends)
        return finished(request, state, self._segments, self._ends)

    def _go_on_from(self, request: PromptRequest) -> _Place:
        same = 0 if self._last is None else _repeated(self._last, request)
        fitting = [place for place in self._places if place.element <= same]
        return fitting[-1] if fitting else _Place(0, LedgerState(), 0, 0)


def _repeated(was: PromptRequest, now: PromptRequest) -> int:
    """How many elements say the same at the same place and in the same zone, from the start."""
    if _shape(was) != _shape(now):
        return 0
    limit = min(len(was.contents), len(now.contents))
    for path, _ in was.labels.zones.items() ^ now.labels.zones.items():
        # A path that names nothing lets nothing be relied on.
        limit = min(limit, element_named(now.groups, path) or 0)
    return min(limit, common_length(was.contents, now.contents))


def _shape(request: PromptRequest) -> list[tuple[str, bool, int, int]]:
    """Where groups begin: the last one's end is free to move."""
    begins, found = 0, []
    for placed in request.groups:
        found.append((placed.group.key, placed.listed, placed.leading, begins))
        begins += len(placed.elements)
    return found

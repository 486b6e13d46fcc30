"""A request's blocks, each made when somebody looks at it: a step of a long session looks at a few."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import overload

from coldturn.reference.prefix.elements import Piece
from coldturn.reference.prefix.model import Block, Labels, Zone
from coldturn.reference.prefix.reading import PlacedGroup

_facts_of, _digest_of, _pieces_of = attrgetter("content.facts"), attrgetter("digest"), attrgetter("pieces")
_FEW = 128
"""A slice that is shorter is made by itself; who looks at more elements than that will look at all."""


_INDEX = re.compile(r"\[(\d+)\]")


def element_named(groups: Sequence[PlacedGroup], path: str) -> int | None:
    """The element, counted over all groups, that a JSON path stands in; None when there is none."""
    base = 0
    for placed in groups:
        key = f"$.{placed.group.key}"
        if path.startswith(key) and path[len(key) : len(key) + 1] in {"", ".", "["}:
            match = _INDEX.match(path, len(key))
            index = int(match[1]) if match is not None else 0
            return base + index if index < len(placed.elements) else None
        base += len(placed.elements)
    return None


class Blocks(Sequence[Block]):
    """The blocks of one request in render order. Equal indices give the identical block.

    Args:
        groups: Where they stand.
        labels: What is known of their zones.
        ends: How many blocks stand in front of each element, and in all at the end.
    """

    __slots__ = ("_all", "_digests", "_ends", "_groups", "_labels", "_made", "_pieces")

    def __init__(self, groups: tuple[PlacedGroup, ...], labels: Labels, ends: Sequence[int]) -> None:
        self._groups = groups
        self._labels = labels
        self._ends = ends
        self._made: dict[int, tuple[Block, ...]] = {}
        self._all: tuple[Block, ...] | None = None
        self._digests: list[bytes] | None = None
        self._pieces: list[Piece] | None = None

    def __len__(self) -> int:
        return self._ends[-1]

    @overload
    def __getitem__(self, index: int) -> Block: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Block, ...]: ...
    def __getitem__(self, index: int | slice) -> Block | tuple[Block, ...]:
        if self._all is not None:
            return self._all[index]
        if isinstance(index, slice):
            wanted = range(len(self))[index]
            return tuple(self[at] for at in wanted) if len(wanted) < _FEW else self._every()[index]
        if len(self._made) >= _FEW:
            return self._every()[index]
        element, piece = self._place(index)
        return self._of(element)[piece]

    @property
    def every(self) -> tuple[Block, ...] | None:
        """All of them once somebody looked at all; a tuple answers faster."""
        return self._all

    def __iter__(self) -> Iterator[Block]:
        return iter(self._every())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Blocks | tuple) and self._every() == tuple(other)

    __hash__ = None  # type: ignore[assignment] # as of any sequence that is compared by what it holds

    def start(self, element: int) -> int:
        """Index of the first block of an element; elements are counted over all groups."""
        return self._ends[element]

    def of_elements(self, first: int, end: int) -> Iterator[Block]:
        """The blocks of some elements, counted over all groups."""
        return chain.from_iterable(self._of(element) for element in range(first, end))

    def within(self, zones: Collection[Zone]) -> list[int]:
        """Indices of the blocks that stand in some zones; none is made but those that labels name."""
        moved = self._moved()
        if len(moved) >= _FEW:
            return [index for index, block in enumerate(self._every()) if block.zone in zones]
        found: list[int] = []
        first = 0
        for placed in self._groups:
            inner, end = first + placed.leading, first + len(placed.elements)
            if Zone.SYSTEM in zones:
                found += range(self._ends[first], self._ends[inner])
            if placed.group.zone in zones:
                found += range(self._ends[inner], self._ends[end])
            first = end
        return self._with_moved(found, moved, zones)

    def _moved(self) -> list[int]:
        """The elements that labels name, in order."""
        named = (element_named(self._groups, path) for path in self._labels.zones)
        return sorted({element for element in named if element is not None})

    def _with_moved(self, found: list[int], moved: list[int], zones: Collection[Zone]) -> list[int]:
        """Indices by the dialect, with those of labelled elements as their labels have it."""
        for element in moved:
            start, end = self._ends[element], self._ends[element + 1]
            inside = [start + at for at, block in enumerate(self._of(element)) if block.zone in zones]
            found[bisect_left(found, start) : bisect_left(found, end)] = inside
        return found

    def digests(self) -> Sequence[bytes]:
        """The digest of every block; none is made."""
        if self._digests is None:
            elements = chain.from_iterable(placed.elements for placed in self._groups)
            facts = chain.from_iterable(map(_facts_of, elements))
            self._digests = list(map(_digest_of, facts))
        return self._digests

    def pieces(self) -> Sequence[Piece]:
        """What every block is, wherever it stands; none is made."""
        if self._pieces is None:
            elements = chain.from_iterable(placed.elements for placed in self._groups)
            self._pieces = list(chain.from_iterable(map(_pieces_of, elements)))
        return self._pieces

    def names(self) -> set[str]:
        """Names of the tools that are defined or called; no block is made."""
        return {piece.name for piece in self.pieces() if piece.name}

    def find(self, index: int) -> tuple[PlacedGroup, int, int]:
        """Where a block stands: the group, the element's index in it, the piece's index in that.

        Raises:
            IndexError: when there is no such block.
        """
        element, piece = self._place(index)
        placed, inside = self._element(element)
        return placed, inside, piece

    def _place(self, index: int) -> tuple[int, int]:
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(index)
        element = bisect_right(self._ends, index) - 1
        return element, index - self._ends[element]

    def _element(self, element: int) -> tuple[PlacedGroup, int]:
        for placed in self._groups:
            if element < len(placed.elements):
                return placed, element
            element -= len(placed.elements)
        raise IndexError(element)

    def _of(self, element: int) -> tuple[Block, ...]:
        made = self._made.get(element)
        if made is None:
            placed, index = self._element(element)
            made = self._made[element] = tuple(_blocks(placed, self._labels, index, index + 1))
        return made

    def _every(self) -> tuple[Block, ...]:
        if self._all is None:
            made = [
                block
                for placed in self._groups
                for block in _blocks(placed, self._labels, 0, len(placed.elements))
            ]
            for element, given_out in self._made.items():
                made[self._ends[element] : self._ends[element + 1]] = given_out
            self._all = tuple(made)
            self._made.clear()
        return self._all


def _blocks(placed: PlacedGroup, labels: Labels, first: int, end: int) -> Iterator[Block]:
    zones = labels.zones
    group, leading = placed.group, placed.leading
    for index in range(first, end):
        element, start = placed.elements[index], placed.offsets[index] + placed.shift
        outer = f"{group.key}[{index}]" if placed.listed else group.key
        usual = Zone.SYSTEM if index < leading else group.zone
        for kind, suffix, title, role, name, call_id, (begin, stop), _, _, facts in element.pieces:
            place = outer + suffix
            path = "$." + place
            # By position: a break in a long session makes thousands of these.
            yield Block(
                (zones.get(path) or zones.get("$." + outer) or usual) if zones else usual,
                kind,
                path,
                f"{place} {title}" if title else place,
                role,
                index if group.numbered else None,
                name,
                call_id,
                (start + begin, start + stop),
                facts,
            )

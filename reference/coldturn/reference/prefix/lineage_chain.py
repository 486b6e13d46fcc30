"""Chains of requests that only go on from one another, and sums of changes along them.

A new chain begins where a request does not repeat its parent in full, where another one goes on from the same
parent, and where ids change. Places in a chain are the indices of the requests placed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from coldturn.reference.prefix.lineage_node import Node


class Chain:
    """Requests each of which repeats the one before it.

    Attributes:
        first: Place of the first one there was.
        last: Place of the last one there was.
        above: The chain that it leaves, at place `at`.
        members: Those that are kept, in order.
        below: Chains that leave this one and are not gone.
        gone: Whether nothing of it is kept, nor of any chain below it.
    """

    __slots__ = ("above", "at", "below", "first", "gone", "last", "members")

    def __init__(self, first: int, above: Chain | None, at: int) -> None:
        self.first = self.last = first
        self.above = above
        self.at = at
        self.members: list[Node] = []
        self.below: list[Chain] = []
        self.gone = False
        if above is not None:
            above.below.append(self)

    def append(self, node: Node) -> None:
        """Go on with a node."""
        self.members.append(node)
        self.last = node.index

    def remove(self, node: Node) -> None:
        """A node is kept no longer."""
        del self.members[bisect_left(self.members, node.index, key=_index)]

    def leave(self) -> None:
        """Be gone when nothing is left here or below, and then likewise the chains above."""
        chain: Chain | None = self
        while chain is not None and not chain.members and not chain.below:
            chain.gone = True
            if chain.above is not None:
                chain.above.below.remove(chain)
            chain = chain.above

    def between(self, start: int, stop: int) -> Sequence[Node]:
        """The members from place `start` to before `stop`."""
        low = bisect_left(self.members, start, key=_index)
        return self.members[low : bisect_left(self.members, stop, lo=low, key=_index)]


class Run(NamedTuple):
    """Places of a chain, from `start` to before `stop`, with the same sum of changes."""

    value: int
    chain: Chain
    start: int
    stop: int


class Values:
    """Sums of changes along chains, from the roots on.

    Args:
        gains: By chain and place, what is added from there on; a chain that is not named changes nothing.
    """

    def __init__(self, gains: Mapping[Chain, Mapping[int, int]]) -> None:
        self._gains = gains
        self._sums: dict[Chain, tuple[list[int], list[int]]] = {}

    def runs(self, least: int) -> list[Run]:
        """The runs of at least that value, of all chains that change something, the highest first."""
        found = []
        for chain in self._gains:
            places, sums = self._of(chain)
            stops = [*places[1:], chain.last + 1]
            for value, start, stop in zip(sums, places, stops, strict=True):
                if value >= least and start < stop:
                    found.append(Run(value, chain, start, stop))
        found.sort(key=_value, reverse=True)
        return found

    def members(self, run: Run) -> Iterator[Sequence[Node]]:
        """The nodes of a run, and by chain those of chains that leave it and change nothing."""
        waiting = [(run.chain, run.start, run.stop)]
        for chain, start, stop in waiting:
            members = chain.between(start, stop)
            if members:
                yield members
            waiting += [
                (one, one.first, one.last + 1)
                for one in chain.below
                if start <= one.at < stop and one not in self._gains
            ]

    def _of(self, chain: Chain) -> tuple[list[int], list[int]]:
        """Places at which a chain's sum changes, the first one included, and the sums."""
        path = []
        above: Chain | None = chain
        while above is not None and above not in self._sums:
            path.append(above)
            above = above.above
        for one in reversed(path):
            total = 0
            if one.above is not None:
                places, sums = self._sums[one.above]
                total = sums[bisect_right(places, one.at) - 1]
            places, sums = [one.first], [total]
            for place, gain in sorted(self._gains.get(one, {}).items()):
                total += gain
                places.append(place)
                sums.append(total)
            self._sums[one] = places, sums
        return self._sums[chain]


def _index(node: Node) -> int:
    return node.index


def _value(run: Run) -> int:
    return run.value

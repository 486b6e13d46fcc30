"""Requests of which only digests are left, so arranged that few are looked at for one that shares much.

Elements are told apart by a few bits of their digests only, so that what is kept besides the digests is small
however many there are. A sum by these bits is at least what is shared; those with a sum that is high enough
are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import itemgetter

from coldturn.reference.prefix import lineage_bits as bits
from coldturn.reference.prefix.lineage_node import Forgotten
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.prefix.shared import element_digests

_FEW = 8
"""Requests that are looked at without such sums."""
_BITS = (1 << 14) - 1


class Digests:
    """The forgotten requests of one key."""

    def __init__(self) -> None:
        self._kept: dict[int, Forgotten] = {}
        self._sets: _Sets | None = None

    def add(self, one: Forgotten) -> None:
        """Keep what is left of a request."""
        self._kept[one.index] = one
        if self._sets is not None:
            self._sets.add(one)

    def remove(self, one: Forgotten) -> None:
        """Keep it no longer."""
        del self._kept[one.index]
        if self._sets is not None:
            self._sets.remove(one)

    def sharing_more(self, request: PromptRequest, least: int) -> Iterator[Forgotten]:
        """The last forgotten first: all that share more bytes of equal elements than that; maybe others."""
        if len(self._kept) <= _FEW:
            found = reversed(self._kept.values())
        else:
            if self._sets is None:
                self._sets = _Sets()
                for one in self._kept.values():
                    self._sets.add(one)
            found = self._sets.above(_sizes(request), least)
        return (one for one in found if one.size > least)


class _Sets:
    """Which forgotten requests hold an element that is like one by those bits."""

    def __init__(self) -> None:
        self._sets: dict[int, int] = {}
        self._places: dict[int, int] = {}
        self._placed: list[tuple[int, Forgotten]] = []
        self._free: list[int] = []
        self._count = 0

    def add(self, one: Forgotten) -> None:
        self._count += 1
        placed = self._count, one
        if self._free:
            place = self._free.pop()
            self._placed[place] = placed
        else:
            place = len(self._placed)
            self._placed.append(placed)
        self._places[one.index] = place
        for short in _shorts(one):
            self._sets[short] = self._sets.get(short, 0) | 1 << place

    def remove(self, one: Forgotten) -> None:
        place = self._places.pop(one.index)
        self._free.append(place)
        for short in _shorts(one):
            self._sets[short] &= ~(1 << place)
            if not self._sets[short]:
                del self._sets[short]

    def above(self, sizes: Mapping[int, int], least: int) -> Iterator[Forgotten]:
        """Those with a sum above `least`, the last added first.

        Args:
            sizes: Bytes by digest.
            least: Bytes.
        """
        weights: dict[int, int] = {}
        for digest, size in sizes.items():
            holding = self._sets.get(digest & _BITS)
            if holding is not None:
                weights[holding] = weights.get(holding, 0) + size
        found = (self._placed[place] for place in bits.members(bits.above(bits.sums(weights), least)))
        return (one for _, one in sorted(found, key=itemgetter(0), reverse=True))


def _sizes(request: PromptRequest) -> dict[int, int]:
    pairs = zip(element_digests(request), request.contents, strict=True)
    return {digest: content.size for digest, content in pairs}


def _shorts(one: Forgotten) -> set[int]:
    return {digest & _BITS for digest in one.digests}

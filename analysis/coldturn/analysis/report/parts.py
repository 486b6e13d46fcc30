"""Parts of prompts: what a map shows as one piece, kept once for all requests that hold it.

A part is the segments of one block under one heading, or the whole block. Requests list ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from xxhash import xxh3_64_intdigest


@dataclass(frozen=True, slots=True)
class Piece:
    """A segment, from a ledger or a span.

    Attributes:
        key: A name for people: the block's label, with the section behind it where it has one.
        bytes: Content bytes.
    """

    digest: bytes
    bytes: int
    zone: str
    key: str
    kind: str


@dataclass(frozen=True, slots=True)
class Part:
    """What the map draws as one bar; `bytes` are content bytes."""

    bytes: int
    zone: str
    key: str
    kind: str


@dataclass(slots=True)
class PartTable:
    """Every part once, by its id."""

    parts: list[Part] = field(default_factory=list)
    _ids: dict[tuple[int, str, str], int] = field(default_factory=dict)

    def ids(self, pieces: Iterable[Piece]) -> Iterator[int]:
        """Ids of the parts that neighbouring pieces of one name make, new ones added."""
        for (zone, key), group in groupby(pieces, key=lambda piece: (piece.zone, piece.key)):
            yield self._id(zone, key, list(group))

    def bytes_of(self, ids: Iterable[int]) -> int:
        """Content bytes of some parts."""
        return sum(self.parts[one].bytes for one in ids)

    def _id(self, zone: str, key: str, pieces: Sequence[Piece]) -> int:
        digest = xxh3_64_intdigest(b"".join(piece.digest for piece in pieces))
        place = digest, zone, key
        known = self._ids.get(place)
        if known is None:
            known = self._ids[place] = len(self.parts)
            self.parts.append(Part(sum(piece.bytes for piece in pieces), zone, key, pieces[0].kind))
        return known


def encoded(ids: Sequence[int], base: Sequence[int]) -> list[int]:
    """Ids as runs, those that stand in `base` by their place there: a request mostly repeats another one.

    Returns:
        Triples, one behind the other: 0, first id, length for ids that count up; 1, place, length for a run
        of `base`.
    """
    places = {one: place for place, one in reversed(list(enumerate(base)))}
    found: list[int] = []
    at = 0
    while at < len(ids):
        place = places.get(ids[at])
        length = 1
        if place is None:
            while at + length < len(ids) and ids[at + length] == ids[at] + length:
                length += 1
            found += [0, ids[at], length]
        else:
            most = min(len(ids) - at, len(base) - place)
            while length < most and ids[at + length] == base[place + length]:
                length += 1
            found += [1, place, length]
        at += length
    return found


def decoded(runs: Sequence[int], base: Sequence[int]) -> list[int]:
    """The ids that `encoded` packed; the page does the same."""
    found: list[int] = []
    for at in range(0, len(runs), 3):
        kind, first, length = runs[at : at + 3]
        found += base[first : first + length] if kind else range(first, first + length)
    return found

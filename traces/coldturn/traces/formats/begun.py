"""Logs whose entries hold a call each and when it began, read in the order of those times.

Callbacks write an entry when its call is over, some from threads. Held is only where each entry stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import IO

from coldturn.traces.limits import MAX_LINE
from coldturn.traces.objects import began
from coldturn.traces.opening import BOM, Line, lines
from coldturn.traces.pieces import Piece, pieces
from coldturn.traces.slices import NotJsonError, object_parts

_LOOKED_AT = 8
_EARLY = float("-inf")
_SPACE = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an entry stands; one without a time stays behind the entry in front of it."""

    started: float
    entry: int
    number: int
    offset: int
    length: int


def lines_in_time(stream: IO[bytes]) -> Iterator[tuple[int, Line]]:
    """Each line with its index among those that are not blank: by time where calls say when they began."""
    told = any(_began(line.content) is not None for line in islice(lines(stream), _LOOKED_AT))
    stream.seek(0)
    places = _disordered(_lines(stream)) if told else None
    stream.seek(0)
    if places is None:
        yield from enumerate(lines(stream))
        return
    for place in places:
        stream.seek(place.offset)
        content = stream.read(place.length)
        yield place.entry, Line(place.number, _bare(content), content.endswith(b"\n"))


def elements_in_time(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Each element of a list with its index: by time where calls say when they began.

    Raises:
        NotJsonError: The document is damaged or cut off; what stands in front of the damage comes first.
    """
    told = False
    try:
        told = any(_began(one.content) is not None for one in islice(_pieces(stream), _LOOKED_AT))
        stream.seek(0)
        places = _disordered(_elements(stream)) if told else None
    except NotJsonError:
        places = None
    stream.seek(0)
    if places is None:
        yield from ((entry, piece.content) for entry, piece in enumerate(_pieces(stream)))
        return
    for place in places:
        stream.seek(place.offset)
        yield place.entry, stream.read(place.length)


def _disordered(places: Iterable[_Place | None]) -> list[_Place] | None:
    """The places by time; None where they stand so already, or one of them cannot be told."""
    found: list[_Place] = []
    for one in places:
        if one is None:
            return None
        found.append(one)
    if all(before.started <= after.started for before, after in pairwise(found)):
        return None
    return sorted(found, key=lambda one: one.started)


def _lines(stream: IO[bytes]) -> Iterator[_Place | None]:
    offset = entry = number = 0
    latest = _EARLY
    while line := stream.readline(MAX_LINE):
        number += 1
        if len(line) >= MAX_LINE:
            yield None
            return
        content = _bare(line)
        if content:
            latest = _later(content, latest)
            yield _Place(latest, entry, number, offset, len(line))
            entry += 1
        offset += len(line)


def _elements(stream: IO[bytes]) -> Iterator[_Place]:
    latest = _EARLY
    for entry, piece in enumerate(_pieces(stream)):
        latest = _later(piece.content, latest)
        yield _Place(latest, entry, entry, piece.offset, piece.length)


def _pieces(stream: IO[bytes]) -> Iterator[Piece]:
    return pieces(stream, lambda path: not path)


def _bare(line: bytes) -> bytes:
    return line.removeprefix(BOM).strip(_SPACE)


def _later(content: bytes, latest: float) -> float:
    started = _began(content)
    return latest if started is None else started


def _began(content: bytes) -> float | None:
    try:
        return began(object_parts(content))
    except NotJsonError:
        return None

"""Logs whose entries stand in no order of time, read in that order.

Tracers write an entry when its call is over, several of them from threads, and exports often begin with the
newest. Held is only where each entry stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, TypeAlias

from coldturn.traces.errors import NoRequestsError, UnreadableJsonError
from coldturn.traces.exchange import EntryError
from coldturn.traces.formats.model import Record
from coldturn.traces.limits import MAX_LINE
from coldturn.traces.opening import BOM
from coldturn.traces.pieces import holds_lines, opening_members, pieces
from coldturn.traces.slices import NotJsonError, value_of

Json: TypeAlias = Any

_LATE = float("inf")
_HEAD = 65_536


@dataclass(frozen=True, slots=True)
class Found:
    """A call inside an entry of a log.

    Attributes:
        started: Epoch seconds; a call without is told behind those that have one.
        within: Where it stands inside its entry, as its reader understands it.
        id: By which another call may name it as the one around it, or tell of it again.
        parent: Of the call around it. What is around a call is a wrapper whose numbers are that call's.
    """

    started: float | None
    within: tuple[int, ...] = ()
    id: str = ""
    parent: str = ""


@dataclass(frozen=True, slots=True)
class Log:
    """How the entries of a kind of log are found and told.

    Attributes:
        what: An entry in a word.
        under: Keys of which one holds the entries as a list, where the log is one object.
        look: The calls inside an entry.
        tell: The records of one of them: its entry, where it stands in it, and its number.
    """

    what: str
    under: frozenset[str]
    look: Callable[[Mapping[str, Json]], Iterable[Found]]
    tell: Callable[[Mapping[str, Json], tuple[int, ...], int], Iterator[Record]]


@dataclass(frozen=True, slots=True)
class _Place:
    found: Found
    offset: int
    length: int

    @property
    def order(self) -> tuple[float, int, tuple[int, ...]]:
        started = self.found.started
        return (_LATE if started is None else started, self.offset, self.found.within)


def records_in_time(stream: IO[bytes], name: str, log: Log) -> Iterator[Record]:
    """Every call of a log, by its time.

    Raises:
        NoRequestsError: It holds no call, and nothing that cannot be read.
        UnreadableJsonError: A log that is one document is damaged or cut off.
    """
    places: dict[str, _Place] = {}
    parents: set[str] = set()
    seen = errors = 0
    for offset, content in _entries(stream, name, log.under):
        try:
            for found in log.look(_object(content)):
                places[found.id or f"#{len(places)}"] = _Place(found, offset, len(content))
                parents.add(found.parent)
        except (NotJsonError, RecursionError) as error:
            errors += 1
            reason = error if isinstance(error, NotJsonError) else "nested too deeply"
            yield EntryError(name, seen, f"a {log.what} cannot be read: {reason}")
        seen += 1
    wrappers = parents - in_circles({id_: one.found.parent for id_, one in places.items()})
    calls = sorted((one for id_, one in places.items() if id_ not in wrappers), key=lambda one: one.order)
    told = 0
    for record in _told(stream, name, log, calls):
        told += 1
        yield record
    if not told and not errors:
        what = f"{seen} {log.what}{'s'[: seen != 1]}, none of them a call to a model with a prompt or usage"
        raise NoRequestsError(name, [what])


def in_circles(parents: Mapping[str, str]) -> set[str]:
    """The calls that are their own ancestors, which no wrapper is.

    Args:
        parents: The call around each call, by their ids.
    """
    found: set[str] = set()
    passed: dict[str, str] = {}
    for begin in parents:
        way: list[str] = []
        at = begin
        while at in parents and at not in passed:
            passed[at] = begin
            way.append(at)
            at = parents[at]
        if way and passed.get(at) == begin:
            found.update(way[way.index(at) :])
    return found


def _told(stream: IO[bytes], name: str, log: Log, calls: Iterable[_Place]) -> Iterator[Record]:
    held: tuple[int, Mapping[str, Json]] = (-1, {})
    for number, place in enumerate(calls):
        if place.offset != held[0]:
            stream.seek(place.offset)
            held = (place.offset, _object(stream.read(place.length)))
        try:
            yield from log.tell(held[1], place.found.within, number)
        except RecursionError:
            yield EntryError(name, number, f"a {log.what} is nested too deeply")


def _object(content: bytes) -> Mapping[str, Json]:
    value = value_of(content)
    if not isinstance(value, Mapping):
        raise NotJsonError("it is no object")
    return value


def _entries(stream: IO[bytes], name: str, under: frozenset[str]) -> Iterator[tuple[int, bytes]]:
    """Where each entry stands: an element of a list, a line, or all of a file that is one object."""
    first = stream.read(64).removeprefix(BOM).lstrip()[:1]
    stream.seek(0)
    if first == b"{" and holds_lines(stream):
        yield from _lines(stream)
        return
    depth, key = (1, None) if first == b"[" else (0, None)
    if first == b"{":
        members = opening_members(stream, _HEAD)
        key = next((one for one in under if members.get(one, b"")[:1] == b"["), None)
        depth = 0 if key is None else 2
        stream.seek(0)
    try:
        for piece in pieces(stream, lambda path: len(path) < depth and path[:1] in ((), (key,))):
            if len(piece.path) == depth:
                yield piece.offset, piece.content
    except NotJsonError as error:
        raise UnreadableJsonError(name, str(error)) from error


def _lines(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    offset = 0
    while line := stream.readline(MAX_LINE):
        if line.strip():
            yield offset, line
        offset += len(line)


def mapping(value: object) -> Mapping[str, Json]:
    """An object; an empty one in place of anything else."""
    return value if isinstance(value, Mapping) else {}


def listed(value: object) -> list[Json]:
    """A list; an empty one in place of anything else."""
    return value if isinstance(value, list) else []


def text(value: object) -> str:
    """A text; an empty one in place of anything else."""
    return value if isinstance(value, str) else ""

"""Reading a body that differs from a recent one in a few runs of elements: only those runs are parsed.

That is the usual case: a request repeats the one before it and appends, or a message or tool was changed too.
A parser that has read what the recent body holds in front of an element is in the same state here when the
bytes are the same. So where a run gives way to values with commas between them, and what stood behind the run
stands behind those values, everything around is known.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter

from coldturn.reference.prefix import slicing
from coldturn.reference.prefix.elements import Element
from coldturn.reference.prefix.errors import UnreadableBodyError
from coldturn.reference.prefix.model import Surface
from coldturn.reference.prefix.reading import (
    PlacedGroup,
    Reading,
    count_leading,
    flags_in,
    places,
    read_body,
    read_elements,
)
from coldturn.reference.prefix.recognise import Told, surface_of_tool
from coldturn.reference.prefix.repeats import Run, changed_runs
from coldturn.reference.prefix.strings import Flag

MOST_RECENT = 4
"""Bodies that are held so that a next one may go on from them: enough for a few sessions that interleave."""

_content_of = attrgetter("content")
_QUOTE = ord('"')


@dataclass(frozen=True, slots=True, eq=False)
class _Recent:
    asked: tuple[Surface | None, str]
    told: Told
    body: bytes
    reading: Reading


_recent: deque[_Recent] = deque(maxlen=MOST_RECENT)
_latest: deque[_Recent] = deque(maxlen=1)
"""What was read last: the same object is often read by one room and then by the next."""


def read_again(body: bytes, surface: Surface | None, path: str) -> Reading:
    """Read a body as `read_body` does, and at the same result for less when a recent one was nearly the same.

    Raises:
        UnreadableBodyError: when it is no JSON object, or of no format that we know.
    """
    asked = (surface, path)
    latest = _latest[-1] if _latest else None
    if latest is not None and latest.body is body and latest.asked == asked:
        return latest.reading
    recent = _read_again(body, asked)
    _latest.append(recent)
    return recent.reading


def _read_again(body: bytes, asked: tuple[Surface | None, str]) -> _Recent:
    for recent in reversed(tuple(_recent)):
        if recent.asked == asked:
            spliced = splice(body, recent.body, recent.reading)
            if spliced is not None and _is_of_that_surface(body, spliced, recent):
                with suppress(ValueError):  # another thread went on from it too
                    _recent.remove(recent)
                held = _Recent(asked, recent.told, body, spliced)
                _recent.append(held)
                return held
    reading, told = read_body(body, *asked)
    held = _Recent(asked, told, body, reading)
    if told is not Told.WORDS and not reading.envelope.flags:
        _recent.append(held)
    return held


def _is_of_that_surface(body: bytes, spliced: Reading, recent: _Recent) -> bool:
    """Whether a body spliced from a recent one is of its surface even if that had to be recognised."""
    if recent.told is Told.ENVELOPE:
        return True
    tools, before = _tools(spliced), _tools(recent.reading)
    if [one.elements for one in tools] == [one.elements for one in before]:
        return True
    told = (
        surface_of_tool(body[one.start(at) : one.end(at)]) for one in tools for at in range(len(one.elements))
    )
    return next((one for one in told if one is not None), None) is recent.reading.envelope.surface


def _tools(reading: Reading) -> list[PlacedGroup]:
    return [placed for placed in reading.groups if placed.group.key == "tools"]


def splice(body: bytes, before: bytes, reading: Reading) -> Reading | None:
    """The reading of `body`, made from that of `before`; None when they differ in more than a few runs.

    Args:
        body: The bytes to read.
        before: Bytes that were read in full, without flags.
        reading: What they say.
    """
    order = sorted((one for one in reading.groups if one.elements), key=_begin)
    runs = changed_runs(body, before, order)
    if runs is None:
        return None
    changes: dict[int, list[_Change]] = {}
    for run in runs:
        spans = _values(body, run)
        placed = order[run.group]
        if spans is None or not (placed.listed or _is_text(body, before, placed, spans)):
            return None
        added = read_elements(body, spans, placed.group, reading.envelope.surface)
        changes.setdefault(run.group, []).append(_Change(run, spans, added))
    return _with_changes(reading, order, changes)


def _begin(placed: PlacedGroup) -> int:
    return placed.start(0)


def _values(body: bytes, run: Run) -> tuple[tuple[int, int], ...] | None:
    """Where the values in a run's place stand; None when there are none, or odd ones."""
    try:
        spans, flags = slicing.items(b"[%b]" % body[run.start : run.stop])
    except UnreadableBodyError:
        return None
    if flags or not spans:
        return None
    moved = run.start - 1
    return tuple((start + moved, stop + moved) for start, stop in spans)


def _is_text(body: bytes, before: bytes, placed: PlacedGroup, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a key's one value was a text and is one: other types are read in another way."""
    return len(spans) == 1 and body[spans[0][0]] == before[placed.start(0)] == _QUOTE


@dataclass(frozen=True, slots=True)
class _Change:
    run: Run
    spans: Sequence[tuple[int, int]]
    added: tuple[Element, ...]


def _with_changes(
    reading: Reading, order: Sequence[PlacedGroup], changes: Mapping[int, Sequence[_Change]]
) -> Reading:
    """The reading once the changes, by group and in order, have taken place."""
    moved = 0
    now: dict[str, PlacedGroup] = {}
    for number, placed in enumerate(order):
        inside = changes.get(number, ())
        now[placed.group.key] = _changed(placed, inside, moved) if inside else _moved(placed, moved)
        moved = inside[-1].run.moved if inside else moved
    groups = tuple(now.get(placed.group.key, placed) for placed in reading.groups)
    first = _first_in_render_order(reading.groups, {order[at].group.key: changes[at] for at in changes})
    behind = tuple(map(_content_of, _from(groups, first)))
    contents = reading.contents[:first] + behind
    flags = _flags(reading, groups, changes)
    return Reading(reading.envelope, groups, contents, reading.totals.replaced(first, behind), flags)


def _from(groups: Iterable[PlacedGroup], first: int) -> Iterator[Element]:
    """The elements from one on, counted over all groups."""
    for placed in groups:
        yield from placed.elements[first:]
        first = max(first - len(placed.elements), 0)


def _flags(
    reading: Reading, groups: Sequence[PlacedGroup], changes: Mapping[int, Sequence[_Change]]
) -> frozenset[Flag]:
    if reading.flags:
        # What they are of may be gone.
        return reading.envelope.flags.union(*(flags_in(placed.elements) for placed in groups))
    return flags_in(element for inside in changes.values() for one in inside for element in one.added)


def _first_in_render_order(groups: Sequence[PlacedGroup], changes: Mapping[str, Sequence[_Change]]) -> int:
    """The first element that changed, counted over all groups."""
    base = 0
    for placed in groups:
        inside = changes.get(placed.group.key)
        if inside:
            return base + inside[0].run.first
        base += len(placed.elements)
    return base


def _changed(placed: PlacedGroup, changes: Sequence[_Change], moved: int) -> PlacedGroup:
    """A group with changes inside, which as a whole has moved by so many bytes."""
    elements: tuple[Element, ...] = ()
    offsets = places(())
    shift, at, by = placed.shift + moved, 0, 0
    for change in changes:
        run = change.run
        elements += placed.elements[at : run.first] + change.added
        offsets += _by(placed.offsets[at : run.first], by)
        offsets += places(start - shift for start, _ in change.spans)
        at, by = run.behind, run.moved - moved
    elements += placed.elements[at:]
    offsets += _by(placed.offsets[at:], by)
    leading = count_leading(placed.group, elements) if placed.listed else 0
    return PlacedGroup(placed.group, placed.listed, elements, offsets, leading, shift)


def _by(offsets: array[int], by: int) -> array[int]:
    return places(offset + by for offset in offsets) if by else offsets


def _moved(placed: PlacedGroup, by: int) -> PlacedGroup:
    """A group that is the same and has moved as a whole."""
    if not by:
        return placed
    return PlacedGroup(
        placed.group, placed.listed, placed.elements, placed.offsets, placed.leading, placed.shift + by
    )

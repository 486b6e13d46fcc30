"""Reading a body that differs from a recent one in one run of elements: only that run is parsed.

That is the usual case: a request repeats the one before it and appends, or one message or tool was changed.
When the bytes before an element's start and the bytes behind another one's end are those of the recent body,
and the elements stand in one list, then a parser would meet both places in the same state as it did there. So
what stands between must be values with commas between them, and everything around is known.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from contextlib import suppress
from dataclasses import dataclass

from coldturn.reference.prefix import slicing
from coldturn.reference.prefix.elements import Element
from coldturn.reference.prefix.errors import UnreadableBodyError
from coldturn.reference.prefix.model import Surface
from coldturn.reference.prefix.reading import PlacedGroup, Reading, count_leading, read_body, read_elements
from coldturn.reference.prefix.recognise import Told

MOST_RECENT = 4
"""Bodies that are held so that a next one may go on from them: enough for a few sessions that interleave."""


@dataclass(frozen=True, slots=True, eq=False)
class _Recent:
    asked: tuple[Surface | None, str]
    told: Told
    body: bytes
    reading: Reading


_recent: deque[_Recent] = deque(maxlen=MOST_RECENT)


def read_again(body: bytes, surface: Surface | None, path: str) -> Reading:
    """Read a body as `read_body` does, and at the same result for less when a recent one was nearly the same.

    Raises:
        UnreadableBodyError: when it is no JSON object, or of no format that we know.
    """
    asked = (surface, path)
    for recent in reversed(tuple(_recent)):
        if recent.asked == asked:
            spliced = splice(body, recent.body, recent.reading)
            if spliced is not None and _is_of_that_surface(spliced, recent):
                with suppress(ValueError):  # another thread went on from it too
                    _recent.remove(recent)
                _recent.append(_Recent(asked, recent.told, body, spliced))
                return spliced
    reading, told = read_body(body, surface, path)
    if told is not Told.WORDS and not reading.envelope.flags:
        _recent.append(_Recent(asked, told, body, reading))
    return reading


def _is_of_that_surface(spliced: Reading, recent: _Recent) -> bool:
    """Whether a body spliced from a recent one is of its surface even if that had to be recognised."""
    return recent.told is Told.ENVELOPE or _tools(spliced) == _tools(recent.reading)


def _tools(reading: Reading) -> list[tuple[Element, ...]]:
    return [placed.elements for placed in reading.groups if placed.group.key == "tools"]


def splice(body: bytes, before: bytes, reading: Reading) -> Reading | None:
    """The reading of `body`, made from that of `before`; None when they differ in more than one run.

    Args:
        body: The bytes to read.
        before: Bytes that were read in full, without flags.
        reading: What they say.
    """
    view = memoryview(before)
    place = _first_changed(body, view, reading)
    if place is None:
        return None
    placed, first = place
    last = _last_changed(body, view, placed, first)
    if last is None:
        return None
    start = placed.start(first)
    stop = len(body) - (len(before) - placed.end(last))
    try:
        spans, flags = slicing.items(b"[%b]" % body[start:stop])
    except UnreadableBodyError:
        return None
    if flags or not spans:
        return None
    run = _Run(first, last + 1, tuple((a + start - 1, b + start - 1) for a, b in spans))
    return _spliced(body, reading, placed, run, len(body) - len(before))


@dataclass(frozen=True, slots=True)
class _Run:
    """The elements from `first` to before `behind` give way to those at `spans` of the new body."""

    first: int
    behind: int
    spans: tuple[tuple[int, int], ...]


def _spliced(body: bytes, reading: Reading, placed: PlacedGroup, run: _Run, moved: int) -> Reading:
    added = read_elements(body, run.spans, placed.group, reading.envelope.surface)
    elements = placed.elements[: run.first] + (added + placed.elements[run.behind :])
    starts = [start - placed.shift for start, _ in run.spans]
    starts += [offset + moved for offset in placed.offsets[run.behind :]]
    offsets = placed.offsets[: run.first] + tuple(starts)
    leading = count_leading(placed.group, elements)
    changed = PlacedGroup(placed.group, True, elements, offsets, leading, placed.shift)
    at = 0
    groups: list[PlacedGroup] = []
    for one in reading.groups:
        if one is placed:
            at = sum(len(other.elements) for other in groups)
        groups.append(changed if one is placed else _moved(one, placed, moved))
    contents = reading.contents
    said = tuple(element.content for element in added)
    unsaid = contents[at + run.first : at + run.behind]
    size = reading.content_bytes + sum(one.size for one in said) - sum(one.size for one in unsaid)
    behind = said + contents[at + run.behind :]
    totals = reading.totals.replaced(at + run.first, behind)
    contents = contents[: at + run.first] + behind
    return Reading(reading.envelope, tuple(groups), contents, size, totals)


def _moved(placed: PlacedGroup, changed: PlacedGroup, by: int) -> PlacedGroup:
    """A group behind the one that changed has moved as a whole."""
    if not by or not placed.elements or placed.start(0) < changed.start(0):
        return placed
    return PlacedGroup(
        placed.group, placed.listed, placed.elements, placed.offsets, placed.leading, placed.shift + by
    )


def _first_changed(body: bytes, view: memoryview, reading: Reading) -> tuple[PlacedGroup, int] | None:
    """The first element that `body` does not repeat at its place, or the one in front of an insertion."""
    found: tuple[PlacedGroup, int] | None = None
    for placed in sorted((one for one in reading.groups if one.listed and one.elements), key=_begin):
        if not body.startswith(view[: placed.start(0)]):
            break
        count = len(placed.elements)
        if body.startswith(view[: placed.end(count - 1)]):
            found = placed, count - 1
            continue
        index = _first_not_repeated(body, view, placed)
        return placed, index if body.startswith(view[: placed.start(index)]) else index - 1
    return found


def _first_not_repeated(body: bytes, view: memoryview, placed: PlacedGroup) -> int:
    def differs(index: int) -> bool:
        return not body.startswith(view[: placed.end(index)])

    # From the end, in growing strides: most often the last one or two differ, and a look costs a comparison
    # of all the bytes in front.
    high, stride = len(placed.elements), 1
    while high > 0 and differs(max(high - stride, 0)):
        high, stride = max(high - stride, 0), stride * 2
    return bisect_left(range(high), True, lo=max(high - stride, 0), key=differs)


def _begin(placed: PlacedGroup) -> int:
    return placed.start(0)


def _last_changed(body: bytes, view: memoryview, placed: PlacedGroup, first: int) -> int | None:
    """The last element that `body` does not repeat, as seen from its end; None when that lies further on."""
    count = len(placed.elements)

    def repeats_behind(index: int) -> bool:
        return body.endswith(view[placed.end(index) :])

    if not repeats_behind(count - 1):
        return None
    last = bisect_left(range(first, count), True, key=repeats_behind) + first
    room = len(body) - len(view)
    while placed.end(last) + room <= placed.start(first):
        # The two runs overlap: something was taken out between equal neighbours.
        last += 1
        if last == count:
            return None
    return last

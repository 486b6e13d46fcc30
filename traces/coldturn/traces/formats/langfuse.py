"""Langfuse: a trace with its observations, or observations alone: a list, a page of the API, or lines.

An export is in no order, so its generations are read in the order of their times. Their input is what the
instrumentation gave to Langfuse: a request's JSON, its messages, or something else, which is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any

from coldturn.traces.classify import instant
from coldturn.traces.errors import NoRequestsError, UnreadableJsonError
from coldturn.traces.exchange import EntryError
from coldturn.traces.formats.genai_content import parsed, tools_in
from coldturn.traces.formats.model import Format, Head, Layout, Record
from coldturn.traces.formats.observed import Observed, Records
from coldturn.traces.formats.spans import Span
from coldturn.traces.formats.talk import Message, messages_of, parts_of
from coldturn.traces.formats.timed import in_circles
from coldturn.traces.kinds import InputKind
from coldturn.traces.limits import MAX_LINE
from coldturn.traces.pieces import Path, holds_lines, opening_members, pieces
from coldturn.traces.slices import NotJsonError, value_of
from coldturn.traces.usage_reply import Counts, counted, counts

_OBSERVATION = frozenset({"traceId", "type", "startTime"})
_PAGE = "data"
"""Under it the API answers with a page of observations."""
_HELD = 65_536
_GENERATION = "GENERATION"
_LATE = float("inf")
_READ = ("input_cache_read", "cache_read_input_tokens", "input_cached_tokens", "prompt_details.cache_read")
_WRITTEN = ("input_cache_creation", "cache_creation_input_tokens", "input_cache_write")


@dataclass(frozen=True, slots=True, order=True)
class _Place:
    """Where an observation stands in the file, ordered by its time."""

    started: float
    offset: int
    length: int


def _recognise(head: Head) -> bool:
    if head.layout is Layout.OBJECT and "observations" in head.keys:
        return "trace" in head.keys or "projectId" in head.keys or "id" in head.keys
    if head.layout is Layout.OBJECT and all(
        b'"%s"' % key.encode() in head.member(_PAGE) for key in _OBSERVATION
    ):
        return True
    return head.layout is not Layout.TEXT and any(one.keys() >= _OBSERVATION for one in head.objects)


def _read(stream: IO[bytes], name: str) -> Iterator[Record]:
    records = Records(name)
    index = _Index()
    yield from index.fill(stream, name)
    calls = 0
    for place in sorted(index.places):
        try:
            call = _call(index.fetch(stream, place), calls)
        except RecursionError:
            index.errors += 1
            yield EntryError(name, calls, "an observation is nested too deeply")
            continue
        if call.has_content or call.usage.known:
            calls += 1
            yield from records.of(call)
    if not calls and not index.errors:
        what = f"{index.seen} observation{'s'[: index.seen != 1]}, none of them a call with a prompt or usage"
        raise NoRequestsError(name, [what])


class _Index:
    """Where the generations stand: only this is held of an export, since it has to be sorted.

    A generation that holds another one is a wrapper around it, and its numbers are those of the other.

    Attributes:
        seen: Observations of any type.
        errors: Those that cannot be read.
    """

    def __init__(self) -> None:
        self.seen = 0
        self.errors = 0
        self._places: dict[str, _Place] = {}
        self._parents: dict[str, str] = {}

    @property
    def places(self) -> list[_Place]:
        """The generations that are calls."""
        wrappers = set(self._parents.values()) - in_circles(self._parents)
        return [place for name, place in self._places.items() if name not in wrappers]

    def fill(self, stream: IO[bytes], name: str) -> Iterator[EntryError]:
        """Read over the whole file; what cannot be read is yielded."""
        for place, content in _observations(stream, name):
            try:
                self._add(value_of(content), place)
            except NotJsonError as error:
                self.errors += 1
                yield EntryError(name, self.seen, f"an observation cannot be read: {error}")
            self.seen += 1

    def fetch(self, stream: IO[bytes], place: _Place) -> Mapping[str, Any]:
        """An observation again."""
        stream.seek(place.offset)
        found: Mapping[str, Any] = value_of(stream.read(place.length))
        return found

    def _add(self, value: object, place: _Place) -> None:
        if not isinstance(value, dict):
            raise NotJsonError("it is no object")
        if value.get("type") != _GENERATION:
            return
        started = instant(value.get("startTime"))
        key = value.get("id")
        placed = replace(place, started=_LATE if started is None else started)
        called = key if isinstance(key, str) else f"#{self.seen}"
        self._places[called] = placed
        parent = value.get("parentObservationId")
        if isinstance(parent, str):
            self._parents[called] = parent


def _observations(stream: IO[bytes], name: str) -> Iterator[tuple[_Place, bytes]]:
    first = stream.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    stream.seek(0)
    if first == b"{" and _is_lines(stream):
        yield from _lines(stream)
        return
    stream.seek(0)
    opens = _opens_list if first == b"[" else _opens_trace
    depth = 1 if first == b"[" else 2
    try:
        for piece in pieces(stream, opens):
            if len(piece.path) == depth:
                yield _Place(_LATE, piece.offset, piece.length), piece.content
    except NotJsonError as error:
        raise UnreadableJsonError(name, str(error)) from error


def _opens_list(path: Path) -> bool:
    return not path


def _opens_trace(path: Path) -> bool:
    return path in ((), ("observations",), (_PAGE,))


def _is_lines(stream: IO[bytes]) -> bool:
    """Whether each line is an observation; a trace on a single line is none."""
    if not holds_lines(stream):
        return False
    found = opening_members(stream.readline(_HELD), _HELD).keys().isdisjoint(("observations", _PAGE))
    stream.seek(0)
    return found


def _lines(stream: IO[bytes]) -> Iterator[tuple[_Place, bytes]]:
    offset = 0
    while line := stream.readline(MAX_LINE):
        if line.strip():
            yield _Place(_LATE, offset, len(line)), line
        offset += len(line)


def _call(value: Mapping[str, Any], entry: int) -> Observed:
    given = parsed(value.get("input"))
    metadata = _mapping(parsed(value.get("metadata")))
    span = Span("", "", None, {**_mapping(metadata.get("attributes"))})
    settings = _mapping(parsed(value.get("modelParameters")))
    answer = _mapping(parsed(value.get("output")))
    system = _first_of("instructions", answer, settings)
    tools = _tools(given)
    if tools is None:
        tools = _listed(answer.get("tools")) if answer.get("object") == "response" else tools_in(span)
    return Observed(
        entry=entry,
        model=_text(value.get("model")),
        provider=_text(span.attributes.get("gen_ai.system")),
        messages=_messages(given, system),
        tools=tools,
        usage=_usage(_mapping(parsed(value.get("usageDetails") or value.get("usage")))),
        started=instant(value.get("startTime")),
        answered=instant(value.get("completionStartTime")),
        conversation=_text(value.get("traceId")),
    )


def _messages(given: object, system: str) -> Sequence[Message]:
    """The prompt of a generation; nothing where its input holds only a part of one."""
    if isinstance(given, Mapping):
        config = _mapping(given.get("config"))
        system = system or _text(config.get("system_instruction")) or _text(given.get("system"))
        given = next((given[key] for key in ("messages", "contents", "input") if key in given), None)
    if not isinstance(given, list | str) or not given:
        return ()
    said = messages_of(given)
    if system and said[0].role != "system":
        return (Message("system", parts_of(system)), *said)
    return said


def _tools(given: object) -> list[Any] | None:
    """Tools that stand beside the messages; Gemini's are listed inside declarations."""
    if not isinstance(given, Mapping):
        return None
    held = given if "tools" in given else _mapping(given.get("config"))
    if "tools" not in held:
        return None
    found: list[Any] = []
    for tool in _listed(held["tools"]):
        declared = tool.get("function_declarations") if isinstance(tool, Mapping) else None
        found += declared if isinstance(declared, list) else [tool]
    return found


def _usage(told: Mapping[str, Any]) -> Counts:
    """Langfuse's kinds of tokens are disjoint where they add up to the total, else nested."""
    read = next((told[key] for key in _READ if key in told), None)
    written = next((told[key] for key in _WRITTEN if key in told), None)
    whole, output = told.get("input"), told.get("output")
    named = [counted(one) or 0 for one in (whole, output, read, written)]
    total = counted(told.get("total"))
    disjoint = total is None or total >= sum(named)
    return counts(whole, read, written, output, excludes_cache=disjoint)


def _first_of(key: str, *holders: Mapping[str, Any]) -> str:
    return next((holder[key] for holder in holders if isinstance(holder.get(key), str)), "")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


FORMATS = (Format(InputKind.LANGFUSE, "a Langfuse export", _recognise, _read, streams=True),)

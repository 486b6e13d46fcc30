"""Spans of other libraries, from OTLP's JSON and from the flat shapes that exporters print.

OTLP: documents or lines of ``resourceSpans``, several spans in each, integers as numbers or texts. Flat: what
the SDKs' console exporters write (JavaScript's ``spanContext``, Python's ``context``), and objects that are a
span's attributes alone.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, TypeAlias

from coldturn.traces.classify import instant
from coldturn.traces.errors import UnreadableJsonError
from coldturn.traces.exchange import EntryError
from coldturn.traces.opening import lines
from coldturn.traces.pieces import Path, Piece, pieces
from coldturn.traces.slices import NotJsonError, value_of

Json: TypeAlias = Any

_SPANS = (
    ("resourceSpans", "resource_spans"),
    ("scopeSpans", "scope_spans", "instrumentationLibrarySpans"),
    ("spans",),
)
_LOGS = (("resourceLogs", "resource_logs"), ("scopeLogs", "scope_logs"), ("logRecords", "log_records"))
"""Keys on the way to a span or a log record; between them stand places in lists."""
_SIGNALS = frozenset({*_SPANS[0], *_LOGS[0], "resourceMetrics", "resource_metrics"})
DETAILS = "gen_ai.client.inference.operation.details"
"""The event that tells of a whole call; libraries write it into a span, or as a log record of its own."""
MESSAGE_EVENT = re.compile(r"gen_ai\.(?:(?:system|user|assistant|tool)\.message|choice)")
"""Events that tell of one message each."""
CONTEXTS = ("spanContext", "_spanContext", "context")
"""Under these the SDKs' exporters print the ids of a span."""
_NANOSECONDS = 1e9
_DEPTH = 6
"""Keys and places down to a span."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a span."""

    name: str
    attributes: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Span:
    """What is read of a span.

    Attributes:
        start: Epoch seconds; None without a usable time.
        span_id: 16 hex digits; empty where the source has none.
        attributes: By name; maps and lists are Python's.
    """

    name: str
    trace_id: str
    start: float | None
    attributes: Mapping[str, Json]
    events: tuple[Event, ...] = ()
    span_id: str = ""


def otlp_spans(stream: IO[bytes], name: str, *, by_lines: bool) -> Iterator[Span | EntryError]:
    """The spans of OTLP JSON, one at a time.

    Args:
        stream: At its start.
        name: What errors call it.
        by_lines: Each line is a document of its own; else the whole is one.

    Raises:
        UnreadableJsonError: A document that is all there is breaks off or is damaged.
    """
    if not by_lines:
        try:
            yield from _document(stream, name, 0)
        except NotJsonError as error:
            raise UnreadableJsonError(name, str(error)) from error
        return
    for entry, line in enumerate(lines(stream)):
        if line.too_long:
            yield EntryError(name, entry, f"line {line.number} is too long to be held")
            continue
        try:
            yield from list(_document(io.BytesIO(line.content), name, entry))
        except NotJsonError as error:
            if line.complete:
                yield EntryError(name, entry, f"line {line.number}: {error}")
            else:
                message = f"line {line.number} is cut off: the spans in flight were dropped"
                yield EntryError(name, entry, message, torn=True)


def _document(stream: IO[bytes], name: str, entry: int) -> Iterator[Span | EntryError]:
    seen: set[str | int] = set()
    for piece in pieces(stream, _opens):
        seen.update(piece.path[:1] or ("",))
        if len(piece.path) == _DEPTH and piece.path[4] in (*_SPANS[2], *_LOGS[2]):
            found = _guarded(piece, name, entry)
            if found is not None:
                yield found
    if seen and seen.isdisjoint(_SIGNALS):
        raise NotJsonError("it holds no resourceSpans")


def _guarded(piece: Piece, name: str, entry: int) -> Span | EntryError | None:
    read = otlp_span if piece.path[4] in _SPANS[2] else _log_span
    try:
        return read(value_of(piece.content))
    except (NotJsonError, RecursionError) as error:
        reason = str(error) if isinstance(error, NotJsonError) else "it is nested too deeply"
        return EntryError(name, entry, f"a span cannot be read: {reason}")


def _opens(path: Path) -> bool:
    """Down to the single span, so that none of what is around it is held."""
    keys = path[::2]
    ways = ([step in known for step, known in zip(keys, way, strict=False)] for way in (_SPANS, _LOGS))
    return len(path) < _DEPTH and any(all(way) for way in ways)


def otlp_span(value: Json) -> Span:
    """A span in OTLP's JSON."""
    if not isinstance(value, Mapping):
        raise NotJsonError("it is no object")
    return Span(
        name=_text(value.get("name")),
        trace_id=_text(value.get("traceId", value.get("trace_id"))),
        span_id=_text(value.get("spanId", value.get("span_id"))),
        start=_nanoseconds(value.get("startTimeUnixNano", value.get("start_time_unix_nano"))),
        attributes=_pairs(value.get("attributes")),
        events=tuple(
            Event(_text(one.get("name")), _pairs(one.get("attributes")))
            for one in _objects(value.get("events"))
        ),
    )


def _log_span(value: Json) -> Span | None:
    """A log record that tells of a whole call, written at its end, or of one message; None for any other.

    A message is the event of a span that has its name; messages are written when the call begins.
    """
    if not isinstance(value, Mapping):
        raise NotJsonError("it is no object")
    attributes = _pairs(value.get("attributes"))
    told = _text(value.get("eventName", value.get("event_name", attributes.get("event.name"))))
    body = _mapping(plain(value.get("body")))
    trace_id = _text(value.get("traceId", value.get("trace_id")))
    span_id = _text(value.get("spanId", value.get("span_id")))
    if told == DETAILS:
        return Span(told, trace_id, None, {**body, **attributes}, span_id=span_id)
    if span_id and MESSAGE_EVENT.fullmatch(told):
        return Span(told, trace_id, _logged_at(value), attributes, (Event(told, body),), span_id)
    return None


def _logged_at(value: Mapping[str, Json]) -> float | None:
    """When a log record was written; a library may leave the time to whoever observes it."""
    keys = ("timeUnixNano", "time_unix_nano", "observedTimeUnixNano", "observed_time_unix_nano")
    times = (_nanoseconds(value.get(key)) for key in keys)
    return next((one for one in times if one is not None), None)


def flat_span(value: Json) -> Span:
    """A span as an exporter printed it; an object without a span's own keys is taken for its attributes."""
    if not isinstance(value, Mapping):
        raise NotJsonError("it is no object")
    if not isinstance(value.get("attributes"), Mapping):
        return Span("", "", None, value)
    context = next((value[key] for key in CONTEXTS if key in value), None)
    ids = context if isinstance(context, Mapping) else value
    return Span(
        name=_text(value.get("name")),
        trace_id=_text(ids.get("traceId", ids.get("trace_id"))),
        start=_moment(value.get("startTime", value.get("start_time"))),
        attributes=value["attributes"],
        events=tuple(
            Event(_text(one.get("name")), _mapping(one.get("attributes")))
            for one in _objects(value.get("events"))
        ),
    )


def _pairs(value: Json) -> Mapping[str, Json]:
    """Attributes: OTLP's list of keys and values, or a plain map as some write it."""
    if isinstance(value, Mapping):
        return value
    return {one["key"]: plain(one.get("value")) for one in _objects(value) if isinstance(one.get("key"), str)}


def plain(value: Json) -> Json:
    """OTLP's AnyValue as Python's own; what is none stays."""
    if not isinstance(value, Mapping):
        return value
    for key, kept in value.items():
        read = _VALUES.get(key.replace("_v", "V"))
        if read is not None:
            return read(kept)
    return None


def _whole(value: Json) -> int | None:
    if isinstance(value, str) and len(value) < 21:
        try:
            return int(value)
        except ValueError:
            return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _nanoseconds(value: Json) -> float | None:
    whole = _whole(value)
    return instant(whole / _NANOSECONDS) if whole is not None and 0 < whole < 1 << 64 else None


def _moment(value: Json) -> float | None:
    """A text, seconds, or JavaScript's pair of seconds and nanoseconds."""
    match value:
        case [int() as seconds, int() as nanoseconds] if 0 <= nanoseconds < _NANOSECONDS:
            whole = instant(seconds)
            return None if whole is None else whole + nanoseconds / _NANOSECONDS
        case _:
            return instant(value)


def _objects(value: Json) -> list[Mapping[str, Json]]:
    return [one for one in _list(value) if isinstance(one, Mapping)]


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _same(value: Json) -> Json:
    return value


_VALUES: Mapping[str, Callable[[Json], Json]] = {
    "stringValue": _same,
    "boolValue": _same,
    "bytesValue": _same,
    "doubleValue": _same,
    "intValue": _whole,
    "arrayValue": lambda value: [plain(one) for one in _list(_mapping(value).get("values"))],
    "kvlistValue": lambda value: dict(_pairs(_mapping(value).get("values"))),
}
"""How each kind of AnyValue is read."""

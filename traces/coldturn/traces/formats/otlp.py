"""OpenTelemetry spans with GenAI attributes, whoever wrote them; coldturn's own traces among them.

A span that holds messages is a request at fidelity ``messages`` (one with the logged request itself at
``canonical``); a span that holds only usage is a `UsageRecord`. Other spans are passed over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import IO

from coldturn.traces import names
from coldturn.traces.errors import NoRequestsError, UnreadableJsonError
from coldturn.traces.exchange import EntryError
from coldturn.traces.formats.genai import call_of, is_call
from coldturn.traces.formats.message_events import with_messages
from coldturn.traces.formats.model import Format, Head, Layout, Record
from coldturn.traces.formats.observed import Observed, Records
from coldturn.traces.formats.spans import CONTEXTS, Span, flat_span, otlp_spans
from coldturn.traces.kinds import InputKind
from coldturn.traces.opening import BOM, lines
from coldturn.traces.pieces import documents, holds_lines, opening_members, pieces
from coldturn.traces.slices import NotJsonError, value_of

_RESOURCES = ("resourceSpans", "resource_spans")
_LOGS = ("resourceLogs", "resource_logs")
_HELD = 4096
_REMEMBERED = 1024
"""Calls back to which a span is known to repeat an event of its own."""
_OURS = f'"{names.SCHEMA}"'.encode()
_FLAT_HINTS = ("openinference.span.kind", "gen_ai.operation.name", "gen_ai.system", "llm.model_name")


def _is_otlp(head: Head) -> bool:
    return head.layout in (Layout.OBJECT, Layout.LINES) and any(
        head.any_has(key) for key in (*_RESOURCES, *_LOGS)
    )


def _is_ours(head: Head) -> bool:
    return _is_otlp(head) and any(_OURS in one.get(_RESOURCES[0], b"") for one in head.objects)


def _is_flat(head: Head) -> bool:
    if any(head.any_has(key, "attributes") for key in CONTEXTS):
        return True
    if any(head.any_has(hint) for hint in _FLAT_HINTS):
        return True
    groups = list(head.objects[0].values()) if head.layout is Layout.OBJECT and head.objects else []
    return bool(groups) and all(one[:1] == b"[" and b'"spanContext"' in one for one in groups)


def spans_in(stream: IO[bytes], name: str) -> Iterator[Span | EntryError]:
    """The spans of lines where each is a document by itself, else of one document; errors as `otlp_spans`."""
    return otlp_spans(stream, name, by_lines=holds_lines(stream))


def _read(stream: IO[bytes], name: str) -> Iterator[Record]:
    return _records(with_messages(stream, name, spans_in), name)


def _read_flat(stream: IO[bytes], name: str) -> Iterator[Record]:
    return _records(_flat_spans(stream, name), name)


def _flat_spans(stream: IO[bytes], name: str) -> Iterator[Span | EntryError]:
    """A list of spans, lists of spans by name, one span, or one on each line."""
    first = stream.read(_HELD).removeprefix(BOM).lstrip()[:1]
    stream.seek(0)
    grouped = first == b"{" and _is_grouped(stream)
    stream.seek(0)
    if first == b"{" and not grouped and holds_lines(stream):
        for line in lines(stream):
            yield _flat(line.content, f"line {line.number}: ", name)
        return
    depth = 1 if first == b"[" else 2 if grouped else 0
    try:
        if not depth:
            yield from _printed(stream, name)
            return
        for piece in pieces(stream, lambda path: len(path) < depth):
            if len(piece.path) == depth:
                yield _flat(piece.content, "", name)
    except NotJsonError as error:
        raise UnreadableJsonError(name, str(error)) from error


def _printed(stream: IO[bytes], name: str) -> Iterator[Span | EntryError]:
    """Spans as consoles show them, one laid out behind another, with a program's own words between them."""
    words = False
    for piece in documents(stream):
        is_span = piece.content[:1] == b"{"
        if is_span:
            yield _flat(piece.content, "", name)
        elif not words:
            yield EntryError(name, 0, f"what stands at byte {piece.offset} is no span")
        words = not is_span


def _is_grouped(stream: IO[bytes]) -> bool:
    members = opening_members(stream, _HELD)
    return bool(members) and all(value[:1] == b"[" for value in members.values())


def _flat(content: bytes, where: str, name: str) -> Span | EntryError:
    try:
        return flat_span(value_of(content))
    except NotJsonError as error:
        return EntryError(name, 0, f"{where}a span cannot be read: {error}")


def _records(spans: Iterator[Span | EntryError], name: str) -> Iterator[Record]:
    """Calls are numbered in their order, and an error by the call that would have been next.

    A client library and an instrumentation around it may both tell of a call; the one without content ends
    first and is then passed over. Beside other calls the id of the response tells which ones are the same.
    """
    records = Records(name)
    held: Observed | None = None
    told: deque[str] = deque(maxlen=_REMEMBERED)
    waiting: dict[str, Observed] = {}
    for item in _calls(spans, name):
        if isinstance(item, EntryError):
            yield item
            continue
        if held is not None and not _tells_of(item, held):
            yield from _later(held, waiting, records)
        held = None
        if item.has_content:
            told += (one for one in (item.span_id, item.response_id) if one)
            waiting.pop(item.response_id, None)
            yield from records.of(item)
        elif told_of := {item.span_id, item.response_id} - {""}:
            held = item if told_of.isdisjoint(told) else None
        else:
            held = item
    for one in (*waiting.values(), *([] if held is None else [held])):
        yield from records.of(one)


def _later(bare: Observed, waiting: dict[str, Observed], records: Records) -> Iterator[Record]:
    """A call without content: put by where its id may tell that a later one is the same."""
    if not bare.response_id:
        yield from records.of(bare)
        return
    waiting[bare.response_id] = bare
    if len(waiting) > _REMEMBERED:
        yield from records.of(waiting.pop(next(iter(waiting))))


def _calls(spans: Iterator[Span | EntryError], name: str) -> Iterator[Observed | EntryError]:
    calls = passed = given = 0
    for span in spans:
        found: Observed | EntryError | None
        try:
            found = replace(span, entry=calls) if isinstance(span, EntryError) else _call(span, calls)
        except RecursionError:
            found = EntryError(name, calls, "a span is nested too deeply")
        calls += isinstance(found, Observed)
        if found is None:
            passed += 1
        elif isinstance(found, EntryError) or found.has_content or found.usage.known:
            given += 1
            yield found
    if not given:
        raise NoRequestsError(name, [_seen(calls, passed)])


def _seen(calls: int, passed: int) -> str:
    """What stood there instead of a call that tells something."""
    if calls:
        return f"{calls} call{'s'[: calls != 1]} with neither content nor token counts"
    if passed:
        return f"{passed} span{'s'[: passed != 1]}, none of them a call to a model"
    return "no span or event of a call to a model"


def _call(span: Span, entry: int) -> Observed | None:
    return call_of(span, entry) if is_call(span) else None


def _tells_of(call: Observed, bare: Observed) -> bool:
    """Whether a call with content is the one that `bare` only has the numbers of."""
    same = (call.span_id and call.span_id == bare.span_id) or (
        call.response_id and call.response_id == bare.response_id
    )
    if call.has_content and same:
        return True
    if not call.has_content or call.model != bare.model or call.started is None or bare.started is None:
        return False
    return call.started <= bare.started and call.usage.agrees(bare.usage)


FORMATS = (
    Format(InputKind.TRACE, "a trace of ours", _is_ours, _read, numbers=True, streams=True),
    Format(InputKind.OTLP, "OpenTelemetry spans", _is_otlp, _read, streams=True),
    Format(InputKind.SPANS, "spans", _is_flat, _read_flat),
)

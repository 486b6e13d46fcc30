"""Spans that were read, written again as a trace file: one OTLP-JSON span a line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import orjson

from coldturn.traces import names
from coldturn.traces.otlp import attribute_values
from coldturn.traces.span_reader import KINDS, SpanRow
from coldturn.traces.whole_file import is_trace, written_whole

_ERROR = 2


def write_span_lines(path: Path, spans: Iterable[SpanRow]) -> int:
    """Write a trace file. It stands under its name only once it is whole.

    What the reader leaves out of a line of others is not there to be written: events, and attributes of a
    resource or a library.

    Args:
        path: The file; a trace of ours of that name is replaced.
        spans: In the order in which they are to stand.

    Returns:
        How many there were.

    Raises:
        TraceFileError: It cannot be written.
        ForeignFileError: The file exists and is no trace.
    """
    count = 0
    with written_whole(path, "trace", is_trace) as partial, partial.open("wb") as file:
        for span in spans:
            file.write(span_line(span))
            count += 1
    return count


def span_line(span: SpanRow) -> bytes:
    """Return `span` as one line of OTLP JSON, newline included."""
    service = {str(names.SERVICE_NAME): span.service} if span.service else {}
    body: dict[str, object] = {"traceId": span.trace_id, "spanId": span.span_id}
    if span.parent_id:
        body["parentSpanId"] = span.parent_id
    body |= {
        "name": span.name,
        "kind": KINDS.index(span.kind) if span.kind in KINDS else 0,
        "startTimeUnixNano": str(span.start),
        "endTimeUnixNano": str(span.end),
        "attributes": attribute_values(span.attributes),
    }
    if span.links:
        body["links"] = [{"traceId": link.trace_id, "spanId": link.span_id} for link in span.links]
    failed = {"message": span.error} if span.error else {}
    body["status"] = {} if span.error is None else {"code": _ERROR, **failed}
    groups = [{"scope": {"name": span.scope} if span.scope else {}, "spans": [body]}]
    document = {
        "resourceSpans": [{"resource": {"attributes": attribute_values(service)}, "scopeSpans": groups}]
    }
    return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)

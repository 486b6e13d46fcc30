"""Trace files: one OTLP-JSON span a line, written the moment the span ends.

The shape is that of the OpenTelemetry Collector's file exporter (an ExportTraceServiceRequest in OTLP's JSON
encoding: camelCase keys, hex ids, 64-bit integers as strings) with a single span in each line.
"""

from __future__ import annotations

import logging
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import orjson
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.trace import Link, SpanContext, StatusCode

from coldturn.reference.prefix.errors import ColdturnError

Json: TypeAlias = "str | bool | int | float | list[Json] | dict[str, Json] | None"

_log = logging.getLogger(__name__)
_SURROGATES = re.compile("[\ud800-\udfff]")
_FLAG_REMOTE_KNOWN = 0x100
"""SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK of OTLP: bit 9 (remote) is meant; ours are never remote."""


class TraceFileError(ColdturnError):
    """A trace file that cannot be opened for writing."""

    slug = "trace-file"

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"the trace file {path} cannot be written ({reason}): choose another folder")


class SpanFile(SpanProcessor):
    """Writes every span that ends as one line, in one system call: what has ended survives ``kill -9``.

    A disk that fails is reported once through `logging`; the agent goes on, and later spans are tried again.

    Attributes:
        path: The file.
        lost: Spans that could not be written whole.
    """

    def __init__(self, path: str | Path, *, mode: Literal["append", "replace"] = "append") -> None:
        """Open `path`, with its folders.

        Args:
            path: The file to write.
            mode: ``append`` keeps what is there (a torn last line is closed first); ``replace`` starts anew.

        Raises:
            TraceFileError: It cannot be opened.
        """
        self.path = Path(path)
        self.lost = 0
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._torn = mode == "append" and _is_torn(self.path)
            fresh = os.O_TRUNC if mode == "replace" else 0
            self._file: int | None = os.open(
                self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | fresh, 0o644
            )
        except OSError as error:
            raise TraceFileError(self.path, error.strerror or str(error)) from error

    def on_end(self, span: ReadableSpan) -> None:
        """Write `span`."""
        if self._file is None:
            return
        line = encode_line(span)
        try:
            self._write(self._file, b"\n" + line if self._torn else line)
        except OSError as error:
            self.lost += 1
            if self.lost == 1:
                reason = error.strerror or str(error)
                _log.warning(
                    "the trace file %s cannot be written (%s): spans are missing from it", self.path, reason
                )

    def shutdown(self) -> None:
        """Close the file; spans that end later are ignored."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _write(self, file: int, line: bytes) -> None:
        written = os.write(file, line)
        while written < len(line):
            self._torn = True
            written += os.write(file, memoryview(line)[written:])
        self._torn = False


def _is_torn(path: Path) -> bool:
    """Whether `path` ends inside a line, as a killed machine leaves it."""
    try:
        with path.open("rb") as file:
            if file.seek(0, os.SEEK_END) == 0:
                return False
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"
    except FileNotFoundError:
        return False


def encode_line(span: ReadableSpan) -> bytes:
    """Return `span` as one line of OTLP JSON, newline included."""
    document = _document(span)
    try:
        return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:
        # A lone surrogate somewhere: rare, so only then is every string looked at.
        return orjson.dumps(_clean(document), option=orjson.OPT_APPEND_NEWLINE)


def clean_text(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot carry, by U+FFFD."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def _clean(value: Json) -> Json:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): _clean(item) for key, item in value.items()}
    return value


def _document(span: ReadableSpan) -> Json:
    scope: dict[str, Json] = {}
    if span.instrumentation_scope is not None:
        scope["name"] = span.instrumentation_scope.name
        if span.instrumentation_scope.version:
            scope["version"] = span.instrumentation_scope.version
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": attribute_values(span.resource.attributes)},
                "scopeSpans": [{"scope": scope, "spans": [_span(span)]}],
            }
        ]
    }


def _span(span: ReadableSpan) -> Json:
    body: dict[str, Json] = _context(span.get_span_context())
    if span.parent is not None:
        body["parentSpanId"] = f"{span.parent.span_id:016x}"
    body |= {
        "name": span.name,
        "kind": span.kind.value + 1,
        "startTimeUnixNano": str(span.start_time or 0),
        "endTimeUnixNano": str(span.end_time or 0),
        "attributes": attribute_values(span.attributes),
    }
    if span.events:
        body["events"] = [
            {"timeUnixNano": str(e.timestamp), "name": e.name, "attributes": attribute_values(e.attributes)}
            for e in span.events
        ]
    if span.links:
        body["links"] = [_link(link) for link in span.links]
    status: dict[str, Json] = {}
    if span.status.status_code is not StatusCode.UNSET:
        status["code"] = span.status.status_code.value
        if span.status.description:
            status["message"] = span.status.description
    body["status"] = status
    return body


def _context(context: SpanContext | None) -> dict[str, Json]:
    if context is None:
        return {}
    return {
        "traceId": f"{context.trace_id:032x}",
        "spanId": f"{context.span_id:016x}",
        "flags": int(context.trace_flags) | _FLAG_REMOTE_KNOWN,
    }


def _link(link: Link) -> Json:
    return _context(link.context) | {"attributes": attribute_values(link.attributes)}


def attribute_values(attributes: Mapping[str, object] | None) -> Json:
    """Return OTLP's list of keys and values; what JSON cannot say (NaN, infinity, null) is left out."""
    pairs = ((key, _value(value)) for key, value in (attributes or {}).items())
    return [{"key": key, "value": value} for key, value in pairs if value is not None]


def _value(value: object) -> dict[str, Json] | None:
    """Return OTLP's AnyValue; None for what it cannot say in JSON (NaN, infinity) and for null."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value} if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return {"arrayValue": {"values": [item for item in map(_value, value) if item is not None]}}
    return None

"""Reads trace files: our own lines, and those of the OpenTelemetry Collector's file exporter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeAlias

import msgspec

from coldturn.reference.prefix.errors import ColdturnError
from coldturn.traces import names

AttributeValue: TypeAlias = "str | bool | int | float | tuple[AttributeValue, ...] | None"

KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
"""OTLP's span kinds, by their numbers."""
_FAILED = (2, "2", "STATUS_CODE_ERROR")


class UnreadableTraceError(ColdturnError):
    """A file that is no trace file."""

    slug = "unreadable-trace"

    def __init__(self, path: Path, reason: str, *, line: int | None = None) -> None:
        self.path = path
        self.reason = reason
        self.line = line
        at = "" if line is None else f" at line {line}"
        super().__init__(
            f"{path}: cannot be read as a trace{at} ({reason}): give a file of OTLP-JSON lines, one span each"
        )


@dataclass(frozen=True, slots=True)
class SpanLink:
    """A reference from a span to another."""

    trace_id: str
    span_id: str


@dataclass(frozen=True, slots=True)
class SpanRow:
    """One span.

    Attributes:
        trace_id: 32 hex digits. `span_id`: 16.
        parent_id: Span above it; empty for a root.
        kind: INTERNAL, CLIENT, ...
        start: Nanoseconds since the epoch. `end` likewise.
        scope: Name of the library that made it.
        error: Message of a failed span, maybe empty; None when it did not fail.
        service: ``service.name`` of its resource; empty when there is none.
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    kind: str
    start: int
    end: int
    attributes: Mapping[str, AttributeValue]
    links: tuple[SpanLink, ...] = ()
    scope: str = ""
    error: str | None = None
    service: str = ""

    def reported(self, name: str) -> int | None:
        """Return a usage figure under its name or one of its aliases; None when it was not reported."""
        for candidate in (name, *names.ALIASES.get(name, ())):
            value = self.attributes.get(candidate)
            if isinstance(value, int | float):
                return int(value)
        return None


def read_spans(path: str | Path) -> SpanReader:
    """Read the spans of a trace file, one line at a time.

    Raises:
        UnreadableTraceError: The file is missing, or holds something else (raised at the line that shows it).
    """
    return SpanReader(Path(path))


class SpanReader(Iterator[SpanRow]):
    """Yields spans in file order.

    Attributes:
        dropped: Lines left out so far: torn ones, as a killed writer or a full disk leaves them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.dropped = 0
        self._rows = self._read()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> SpanRow:
        return next(self._rows)

    def _read(self) -> Iterator[SpanRow]:
        understood = False
        try:
            with self.path.open("rb") as file:
                for number, line in enumerate(file, 1):
                    if not line.strip():
                        continue
                    try:
                        rows = _decode(line)
                    except (msgspec.DecodeError, ValueError, RecursionError) as error:
                        if not understood and not _is_ours(line):
                            raise UnreadableTraceError(self.path, str(error), line=number) from error
                        self.dropped += 1
                        continue
                    if rows is None:
                        raise UnreadableTraceError(self.path, "it is no OTLP", line=number)
                    understood = True
                    yield from rows
        except OSError as error:
            raise UnreadableTraceError(self.path, error.strerror or str(error)) from error


def _is_ours(line: bytes) -> bool:
    """Whether a line that cannot be decoded may be the beginning of one of ours."""
    start, seen = b'{"resourceSpans":', line.rstrip(b"\n")
    return seen.startswith(start) or start.startswith(seen)


class _Otlp(msgspec.Struct, rename="camel", frozen=True):
    """OTLP's JSON names are camelCase; unknown keys are ignored."""


class _Value(_Otlp, frozen=True):
    string_value: str | None = None
    bool_value: bool | None = None
    int_value: int | str | None = None
    double_value: float | str | None = None
    array_value: _Array | None = None

    def plain(self) -> AttributeValue:
        """The value as Python's own type; maps and bytes, which we never write, read as None."""
        if self.string_value is not None:
            return self.string_value
        if self.int_value is not None:
            return int(self.int_value)
        if self.bool_value is not None:
            return self.bool_value
        if self.double_value is not None:
            return float(self.double_value)
        if self.array_value is not None:
            return tuple(value.plain() for value in self.array_value.values)
        return None


class _Array(_Otlp, frozen=True):
    values: tuple[_Value, ...] = ()


class _Pair(_Otlp, frozen=True):
    key: str
    value: _Value = _Value()


class _Link(_Otlp, frozen=True):
    trace_id: str = ""
    span_id: str = ""


class _Status(_Otlp, frozen=True):
    code: int | str = 0
    message: str = ""


class _Span(_Otlp, frozen=True):
    trace_id: str
    span_id: str
    parent_span_id: str = ""
    name: str = ""
    kind: int | str = 0
    start_time_unix_nano: int | str = 0
    end_time_unix_nano: int | str = 0
    attributes: tuple[_Pair, ...] = ()
    links: tuple[_Link, ...] = ()
    status: _Status = _Status()

    def row(self, scope: str, service: str) -> SpanRow:
        """The span as the other rooms see it."""
        return SpanRow(
            trace_id=self.trace_id,
            span_id=self.span_id,
            parent_id=self.parent_span_id,
            name=self.name,
            kind=_kind(self.kind),
            start=int(self.start_time_unix_nano),
            end=int(self.end_time_unix_nano),
            attributes={pair.key: pair.value.plain() for pair in self.attributes},
            links=tuple(SpanLink(link.trace_id, link.span_id) for link in self.links),
            scope=scope,
            error=self.status.message if self.status.code in _FAILED else None,
            service=service,
        )


def _kind(kind: int | str) -> str:
    if isinstance(kind, int):
        return KINDS[kind] if 0 <= kind < len(KINDS) else KINDS[0]
    return kind.removeprefix("SPAN_KIND_")


class _Scope(_Otlp, frozen=True):
    name: str = ""


class _ScopeSpans(_Otlp, frozen=True):
    scope: _Scope = _Scope()
    spans: tuple[_Span, ...] = ()


class _Resource(_Otlp, frozen=True):
    attributes: tuple[_Pair, ...] = ()

    @property
    def service(self) -> str:
        """Its ``service.name``."""
        found = (pair.value.string_value for pair in self.attributes if pair.key == names.SERVICE_NAME)
        return next(found, None) or ""


class _ResourceSpans(_Otlp, frozen=True):
    resource: _Resource = _Resource()
    scope_spans: tuple[_ScopeSpans, ...] = ()


class _Line(_Otlp, frozen=True):
    resource_spans: tuple[_ResourceSpans, ...] | msgspec.UnsetType = msgspec.UNSET
    resource_logs: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    resource_metrics: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET

    @property
    def is_otlp(self) -> bool:
        """Whether any signal stands in it: a Collector may write logs and metrics into the same file."""
        signals = (self.resource_spans, self.resource_logs, self.resource_metrics)
        return any(signal is not msgspec.UNSET for signal in signals)

    def rows(self) -> Iterator[SpanRow]:
        """All spans of the line."""
        if isinstance(self.resource_spans, msgspec.UnsetType):
            return
        for resource in self.resource_spans:
            service = resource.resource.service
            for group in resource.scope_spans:
                for span in group.spans:
                    yield span.row(group.scope.name, service)


_LINES = msgspec.json.Decoder(_Line)


def _decode(line: bytes) -> list[SpanRow] | None:
    """The spans of a line; None for a JSON object that is no OTLP."""
    document = _LINES.decode(line)
    return list(document.rows()) if document.is_otlp else None

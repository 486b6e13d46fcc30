"""The columns of `spans.parquet` and `segments.parquet`, and how a span becomes a row and a row a span.

Core columns carry the names that DuckDB's `otlp` extension gives them. Each attribute of ours has a column of
its own, named as the attribute; what others write stands in `span_attributes` as one JSON object.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

import orjson
import polars as pl
from polars.datatypes import DataType, DataTypeClass

from coldturn.traces import names
from coldturn.traces.span_reader import KINDS, AttributeValue, SpanLink, SpanRow

Types: TypeAlias = Mapping[str, DataType | DataTypeClass]
"""Name of a column -> its type."""

REST: Final = "span_attributes"
_LINKS: Final = "links_json"
_START: Final = "start_time_unix_nano"
_DURATION: Final = "duration_time_unix_nano"
_MOST, _LEAST = 2**63 - 1, -(2**63)
_ERROR: Final = 2

CORE: Final[Types] = {
    _START: pl.Datetime("ns", "UTC"),
    _DURATION: pl.Int64,
    "trace_id": pl.String,
    "span_id": pl.String,
    "parent_span_id": pl.String,
    "service_name": pl.String,
    "name": pl.String,
    "kind": pl.Int32,
    "status_code": pl.Int32,
    "status_status_message": pl.String,
    "scope_name": pl.String,
}
"""What every span has. A root has no `parent_span_id`; a status is 0 (unset) or 2 (error)."""

_BY_KIND: Final[Types] = {
    "string": pl.String,
    "int": pl.Int64,
    "bool": pl.Boolean,
    "double": pl.Float64,
    "string[]": pl.List(pl.String),
    "int[]": pl.List(pl.Int64),
}
_PLAIN: Final = {"string": str, "bool": bool, "double": float}

ATTRIBUTES: Final[Mapping[str, names.Attribute]] = {
    str(one): one
    for one in vars(names).values()
    if isinstance(one, names.Attribute) and one.on is not names.On.RESOURCE
}
"""The attributes that have a column."""

SPANS: Final[Types] = {
    **CORE,
    **{name: _BY_KIND[one.type] for name, one in ATTRIBUTES.items()},
    REST: pl.String,
    _LINKS: pl.String,
}
"""The columns of `spans.parquet`, in order; further ones of an analysis may follow."""

SEGMENTS: Final[Types] = {
    "span_id": pl.String,
    "ordinal": pl.Int64,
    "hash": pl.String,
    "bytes": pl.Int64,
    "zone": pl.String,
    "key": pl.String,
    "kind": pl.String,
    "defined": pl.Boolean,
}
"""The columns of `segments.parquet`: a row per segment of a request, in render order."""


def table(rows: Iterable[Mapping[str, Any]], types: Types) -> pl.DataFrame:
    """Rows as a frame: a column per name in `types`; what a row lacks is null."""
    held = list(rows)
    columns = {
        name: pl.Series(name, [row.get(name) for row in held], dtype=dtype, strict=True)
        for name, dtype in types.items()
    }
    return pl.DataFrame(columns)


def has_moments(span: SpanRow) -> bool:
    """Whether its times are ones that OTLP and Parquet can hold: from 1970 to 2262, in nanoseconds."""
    return 0 <= span.start <= _MOST and 0 <= span.end <= _MOST


def without_moments(span: SpanRow) -> SpanRow:
    """The span with the epoch as its times, which stands for unknown ones."""
    return replace(span, start=0, end=0)


def row_of(span: SpanRow) -> dict[str, Any]:
    """A span as a row of `spans.parquet`; columns that it has nothing for are left out.

    An attribute of ours whose value is of another type than it should be stands among the rest. Times that
    the columns cannot hold count as unknown.
    """
    if not has_moments(span):
        span = without_moments(span)
    row: dict[str, Any] = {
        _START: span.start,
        _DURATION: span.end - span.start,
        "trace_id": span.trace_id,
        "span_id": span.span_id,
        "parent_span_id": span.parent_id or None,
        "service_name": span.service or None,
        "name": span.name,
        "kind": KINDS.index(span.kind) if span.kind in KINDS else 0,
        "status_code": 0 if span.error is None else _ERROR,
        "status_status_message": span.error or None,
        "scope_name": span.scope or None,
    }
    rest: dict[str, AttributeValue] = {}
    for name, value in span.attributes.items():
        known = ATTRIBUTES.get(name)
        if known is not None and _fits(value, known.type):
            row[name] = value
        else:
            rest[str(name)] = value
    if rest:
        row[REST] = _json(rest)
    if span.links:
        row[_LINKS] = orjson.dumps([_link(link) for link in span.links]).decode()
    return row


def _json(rest: Mapping[str, AttributeValue]) -> str:
    try:
        return orjson.dumps(rest).decode()
    except TypeError:
        # A whole number of more than 64 bits, which OTLP knows nothing of.
        return json.dumps(rest)


def _link(link: SpanLink) -> dict[str, str]:
    return {"trace_id": link.trace_id, "span_id": link.span_id}


def _fits(value: AttributeValue, kind: str) -> bool:
    if kind.endswith("[]"):
        return isinstance(value, tuple) and all(_fits(item, kind[:-2]) for item in value)
    if kind == "int":
        return isinstance(value, int) and not isinstance(value, bool) and _LEAST <= value <= _MOST
    return isinstance(value, _PLAIN[kind])


def span_of(row: Mapping[str, Any]) -> SpanRow:
    """The span that a row of `spans.parquet` was made from.

    Args:
        row: Its columns; `start_time_unix_nano` as an integer.
    """
    attributes: dict[str, AttributeValue] = {
        name: _plain(row[name]) for name in ATTRIBUTES if row.get(name) is not None
    }
    attributes |= {name: _plain(value) for name, value in json.loads(row[REST] or "{}").items()}
    links = orjson.loads(row[_LINKS] or b"[]")
    start = row[_START]
    return SpanRow(
        trace_id=row["trace_id"],
        span_id=row["span_id"],
        parent_id=row["parent_span_id"] or "",
        name=row["name"],
        kind=KINDS[row["kind"]],
        start=start,
        end=start + row[_DURATION],
        attributes=attributes,
        links=tuple(SpanLink(link["trace_id"], link["span_id"]) for link in links),
        scope=row["scope_name"] or "",
        error=(row["status_status_message"] or "") if row["status_code"] == _ERROR else None,
        service=row["service_name"] or "",
    )


def _plain(value: Any) -> AttributeValue:  # noqa: ANN401 - any JSON
    if isinstance(value, list):
        return tuple(_plain(item) for item in value)
    return value  # type: ignore[no-any-return] # JSON of attributes holds nothing else


def spans_of(frame: pl.DataFrame) -> Iterable[SpanRow]:
    """The spans of a frame with the columns of `spans.parquet`, in order."""
    exact = frame.with_columns(pl.col(_START).dt.epoch("ns"))
    return (span_of(row) for row in exact.iter_rows(named=True))

"""Calls of which only usage was kept, as `chat` spans: a model, a time, reported tokens, and no prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from coldturn.traces import names
from coldturn.traces.span_attributes import compact
from coldturn.traces.span_ids import DerivedIds
from coldturn.traces.span_reader import AttributeValue, SpanRow
from coldturn.traces.usage_record import UsageRecord

_EPOCH_SECONDS: Final = 1_000_000_000
"""Times before 2001 are seconds from a source's own zero: no moment."""


def usage_span(record: UsageRecord, label: str) -> tuple[SpanRow, Mapping[str, Any]]:
    """The span of one call, and what stands beside it in Parquet.

    Args:
        record: As read.
        label: Short name of its source.
    """
    ids = DerivedIds(label)
    ids.about("usage", record.conversation, str(record.call), str(record.entry))
    dated = record.started is not None and record.started >= _EPOCH_SECONDS
    start = round(record.started * 1_000_000_000) if dated and record.started is not None else 0
    model, provider = record.model or None, record.provider or None
    found = compact(
        {
            names.SCHEMA: names.SCHEMA_VERSION,
            names.OPERATION: "chat",
            names.RUN_ID: record.conversation,
            names.REPLAY_CASSETTE: label,
            names.TURN_INDEX: 0,
            names.STEP_INDEX: record.call,
            names.PROVIDER: provider,
            names.REQUEST_MODEL: model,
            names.CACHE_SCOPE: f"{provider or 'unknown'}/{model or 'unknown'}",
            names.FIDELITY: "numbers",
            names.REQUEST_INDEX: record.entry,
            names.INPUT_TOKENS: record.input_tokens,
            names.OUTPUT_TOKENS: record.output_tokens,
            names.CACHE_READ_TOKENS: record.cached_tokens,
            names.CACHE_WRITE_TOKENS: record.written_tokens,
            names.USAGE_RAW: record.raw.decode(errors="replace") if record.raw else None,
        }
    )
    attributes: dict[str, AttributeValue] = {
        name: value for name, value in found.items() if isinstance(value, str | int)
    }
    span = SpanRow(
        trace_id=f"{ids.generate_trace_id():032x}",
        span_id=f"{ids.generate_span_id():016x}",
        parent_id="",
        name=f"chat {record.model or 'unknown'}",
        kind="CLIENT",
        start=start,
        end=start,
        attributes=attributes,
        scope=names.SCOPE,
        service="coldturn",
    )
    return span, {
        "source": label,
        "input_tokens_reported": record.input_tokens,
        "read_tokens_reported": record.cached_tokens,
        "written_tokens_reported": record.written_tokens,
        "output_tokens_reported": record.output_tokens,
    }

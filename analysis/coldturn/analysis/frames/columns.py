"""The columns of the frames: each with its type and what it says. Computed figures carry ``estimated``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl
from polars.datatypes import DataType, DataTypeClass

_TIME = pl.Datetime("ns", "UTC")


@dataclass(frozen=True, slots=True)
class Column:
    """A column's type and meaning; null means unknown."""

    dtype: DataType | DataTypeClass
    says: str


Columns = Mapping[str, Column]

IDENTITY: Final[Columns] = {
    "recording": Column(pl.String, "Recording that was replayed; empty for a live Run."),
    "policy": Column(pl.String, "How prompts were assembled; empty when unknown."),
    "run_id": Column(pl.String, "The Run (a conversation)."),
    "turn": Column(pl.Int64, "Turn in the Run, from 0."),
}

STEP_IDENTITY: Final[Columns] = {
    **IDENTITY,
    "step": Column(pl.Int64, "Step in the turn, from 0."),
    "span_id": Column(pl.String, "The `chat` span."),
}

_BREAK: Final[Columns] = {
    "stable": Column(
        pl.Boolean, "The compared request's stable part is a prefix of this one; null for a first."
    ),
    "break_zone": Column(pl.String, "Zone of the first difference."),
    "break_segment": Column(pl.String, "Block of the first difference."),
    "break_path": Column(pl.String, "JSON path of that block."),
    "break_section": Column(pl.String, "Nearest heading or tag above the place."),
    "break_offset": Column(pl.Int64, "Content bytes before it."),
    "break_block_offset": Column(pl.Int64, "Bytes into the block's content."),
    "break_cause": Column(pl.String, "Why the prefix broke."),
    "break_confidence": Column(pl.String, "observed, inferred or unknown."),
    "break_planned": Column(pl.Boolean, "A deliberate move."),
    "break_lost_bytes": Column(pl.Int64, "Content bytes that could have been served and now cannot."),
    "break_delta_bytes": Column(pl.Int64, "Content bytes that the change added."),
    "later_causes": Column(pl.List(pl.String), "Causes that show once the first is masked."),
    "harmless_cause": Column(pl.String, "Cause of a difference at the very end that loses nothing."),
}

REPORTED: Final[Columns] = {
    "input_tokens_reported": Column(
        pl.Int64, "Input tokens by the provider, cached and written ones included."
    ),
    "read_tokens_reported": Column(pl.Int64, "Of these read from its cache."),
    "written_tokens_reported": Column(pl.Int64, "Of these written to its cache."),
    "output_tokens_reported": Column(pl.Int64, "Output tokens by the provider."),
}

ESTIMATED: Final[Columns] = {
    "input_tokens_estimated": Column(pl.Int64, "Content bytes / 4, rounded up."),
    "ceiling_estimated": Column(pl.Int64, "Tokens in common with the best earlier request of the scope."),
    "read_estimated": Column(pl.Int64, "Tokens read from a cache by the rule longest-prefix-1024-128."),
    "uncached_estimated": Column(pl.Int64, "Input minus read."),
    "hit_rate_estimated": Column(pl.Float64, "Read over input."),
}

STEPS: Final[Columns] = {
    **STEP_IDENTITY,
    "trace_id": Column(pl.String, "Its trace: one a turn."),
    "started": Column(_TIME, "Start of the request."),
    "provider": Column(pl.String, "Provider whose format the request has."),
    "model": Column(pl.String, "Model asked for."),
    "surface": Column(pl.String, "messages, chat_completions or responses."),
    "scope": Column(pl.String, "What can share a cache."),
    "wire_bytes": Column(pl.Int64, "Bytes of the body as sent."),
    "content_bytes": Column(pl.Int64, "Bytes that the provider sees, all zones."),
    "tools_bytes": Column(pl.Int64, "Content bytes of the tools array."),
    "system_bytes": Column(pl.Int64, "Content bytes of zone 1."),
    "tail_bytes": Column(pl.Int64, "Content bytes of zone 2."),
    "history_bytes": Column(pl.Int64, "Content bytes of zone 3."),
    "transient_bytes": Column(pl.Int64, "Content bytes of zone 4."),
    "segments": Column(pl.Int64, "Segments of the prompt."),
    "base_span_id": Column(pl.String, "The `chat` span that it was compared with."),
    "base_age_ms": Column(pl.Int64, "Milliseconds since that one's start."),
    "common_bytes": Column(pl.Int64, "Content bytes in common with it from the start."),
    **_BREAK,
    "elided_results": Column(pl.Int64, "Tool results that the prompt shows shortened."),
    **REPORTED,
    **ESTIMATED,
}

TURNS: Final[Columns] = {
    **IDENTITY,
    "trace_id": Column(pl.String, "Its trace."),
    "agent": Column(pl.String, "Name of the agent; null when the turn's own span is missing."),
    "started": Column(_TIME, "Start of the turn, or of its first step."),
    "steps": Column(pl.Int64, "Steps seen."),
    "tool_calls": Column(pl.Int64, "Tool calls seen."),
    "complete": Column(pl.Boolean, "The turn's span has ended and all its steps are here."),
    "breaks_planned": Column(pl.Int64, "Steps whose first break was planned."),
    "breaks_unplanned": Column(pl.Int64, "Steps whose first break was not planned."),
    "break_step": Column(pl.Int64, "Step of the turn's break: its first unplanned one."),
    "break_zone": Column(pl.String, "Zone of that break."),
    "break_cause": Column(pl.String, "Cause of that break."),
    "planned_cause": Column(pl.String, "Cause of the turn's first planned break."),
    **REPORTED,
    **ESTIMATED,
}

SEGMENTS: Final[Columns] = {
    **STEP_IDENTITY,
    "ordinal": Column(pl.Int64, "Place in render order, from 0."),
    "hash": Column(pl.String, "First 16 hex digits of the content digest."),
    "bytes": Column(pl.Int64, "Content bytes."),
    "zone": Column(pl.String, "Zone in this request."),
    "key": Column(pl.String, "Where the file first met the hash."),
    "kind": Column(pl.String, "What it was there: tool, text, tool_call, ..."),
    "defined": Column(pl.Boolean, "This request is where the file first met it."),
}


def schema(columns: Columns) -> dict[str, DataType | DataTypeClass]:
    """Return polars' schema of `columns`."""
    return {name: column.dtype for name, column in columns.items()}

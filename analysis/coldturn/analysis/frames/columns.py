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
    "recording": Column(pl.String, "Recording that was replayed or converted; empty for a live Run."),
    "policy": Column(pl.String, "How prompts were assembled; empty when unknown."),
    "run_id": Column(pl.String, "The Run (a conversation); of a converted recording its lineage."),
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
    "verdict": Column(
        pl.String, "planned, broken, broken_harmless, unknown, or what usage and time add; null: no break."
    ),
    "judged_cause": Column(pl.String, "Cause of a miss that the bytes do not explain."),
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

RATES: Final[Columns] = {
    "hit_rate_reported": Column(pl.Float64, "Reported reads over reported input; null unless both were."),
}

ESTIMATED: Final[Columns] = {
    "input_tokens_estimated": Column(pl.Int64, "Input tokens; of a trace content bytes / 4, rounded up."),
    "ceiling_estimated": Column(pl.Int64, "Tokens in common with the best earlier request of the scope."),
    "read_estimated": Column(pl.Int64, "Tokens read from a cache by the rules that `rules` names."),
    "uncached_estimated": Column(pl.Int64, "Input minus read."),
    "hit_rate_estimated": Column(pl.Float64, "Read over input."),
}

STEPS: Final[Columns] = {
    **STEP_IDENTITY,
    "trace_id": Column(pl.String, "Its trace: one a turn."),
    "source": Column(pl.String, "The file that it was read from, by a short name."),
    "request": Column(pl.Int64, "Number among its recording's requests; null for a trace of the runtime."),
    "started": Column(_TIME, "Start of the request; null when it is not known."),
    "duration_ms": Column(pl.Float64, "From its start to its end."),
    "fidelity": Column(pl.String, "How much of the bytes the recording kept: wire, canonical, messages."),
    "provider": Column(pl.String, "Provider whose format the request has."),
    "model": Column(pl.String, "Model asked for."),
    "surface": Column(pl.String, "Request format: messages, chat_completions, responses, ..."),
    "scope": Column(pl.String, "What can share a cache."),
    "wire_bytes": Column(pl.Int64, "Bytes of the body as sent."),
    "content_bytes": Column(pl.Int64, "Bytes that the provider sees; null when a zone was not recorded."),
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
    **RATES,
    "rules": Column(pl.String, "Rules behind the estimates."),
    **ESTIMATED,
    "written_estimated": Column(pl.Int64, "Tokens written to a cache, by rules that count them."),
    "error": Column(pl.String, "Kind of failure."),
}

TURNS: Final[Columns] = {
    **IDENTITY,
    "trace_id": Column(pl.String, "Its trace."),
    "agent": Column(pl.String, "Name of the agent; null when the turn's own span is missing."),
    "started": Column(_TIME, "Start of the turn, or of its first step; null when it is not known."),
    "model": Column(pl.String, "Model of its first step."),
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
    **RATES,
    "rules": Column(pl.String, "Rules behind the estimates; several where its steps have different ones."),
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

TOOLS: Final[Columns] = {
    "recording": IDENTITY["recording"],
    "policy": IDENTITY["policy"],
    "tool": Column(pl.String, "Name by which the model sees or calls it."),
    "server": Column(pl.String, "Connection of its MCP server; null when no call tells."),
    "steps_shown": Column(pl.Int64, "Steps whose tools array defines it."),
    "definition_bytes": Column(pl.Int64, "Content bytes of its definition, the largest seen."),
    "sent_bytes": Column(pl.Int64, "Content bytes of its definition in all steps together."),
    "definitions": Column(pl.Int64, "Different definitions seen."),
    "calls": Column(
        pl.Int64, "Calls by that name in answers and histories; null when histories are not kept."
    ),
    "errors": Column(pl.Int64, "Of these failed or refused; null for a recording, which does not say."),
    "result_bytes": Column(pl.Int64, "Bytes of its results, as far as they are known."),
}

SERVERS: Final[Columns] = {
    **IDENTITY,
    "started": Column(_TIME, "Start of the turn."),
    "server": Column(pl.String, "Connection id."),
    "state": Column(pl.String, "State of the connection at the end of the turn."),
    "tier": Column(pl.String, "How it is shown: direct, facade, search, deferred or none."),
    "preload": Column(
        pl.String, "Whether its tools are loaded into the prompt up front: true, false, unset."
    ),
    "tool_count": Column(pl.Int64, "Its tools that are not removed."),
    "catalog_version": Column(pl.Int64, "Version of its catalogue."),
    "catalog_hash": Column(pl.String, "Hash of its catalogue."),
    "prompt_bytes": Column(pl.Int64, "Bytes that it takes in the prompt."),
    "calls": Column(pl.Int64, "Calls to it in the turn."),
}

CATALOG_VERSIONS: Final[Columns] = {
    **IDENTITY,
    "started": Column(_TIME, "Start of the refresh."),
    "duration_ms": Column(pl.Float64, "How long it took."),
    "server": Column(pl.String, "Connection id."),
    "trigger": Column(pl.String, "connect, sweep, demand, list_changed or reconnect."),
    "version": Column(pl.Int64, "Version that was committed."),
    "previous_version": Column(pl.Int64, "Version before; 0 for none."),
    "hash": Column(pl.String, "Hash over the definitions."),
    "tool_count": Column(pl.Int64, "Tools that are not removed."),
    "added": Column(pl.List(pl.String), "Tools that are new."),
    "removed": Column(pl.List(pl.String), "Tools that are gone."),
    "changed": Column(pl.List(pl.String), "Tools whose definition is another."),
    "error": Column(pl.String, "Kind of failure; then nothing was committed."),
}

BREAKS: Final[Columns] = {
    **STEP_IDENTITY,
    **{
        name: STEPS[name]
        for name in ("source", "request", "started", "provider", "model", "base_span_id", "base_age_ms")
    },
    "cause": Column(pl.String, "Why the prefix broke, or was not read."),
    "verdict": STEPS["verdict"],
    "planned": Column(pl.Boolean, "A deliberate move."),
    "confidence": Column(pl.String, "observed, inferred or unknown."),
    "zone": Column(pl.String, "Zone of the first difference; null when no text differs."),
    "segment": Column(pl.String, "Block of the first difference."),
    "path": Column(pl.String, "JSON path of that block."),
    "section": Column(pl.String, "Nearest heading or tag above the place."),
    "offset": Column(pl.Int64, "Content bytes before it."),
    "block_offset": Column(pl.Int64, "Bytes into the block's content."),
    "lost_bytes": Column(pl.Int64, "Content bytes that could have been served and now cannot."),
    "lost_tokens_estimated": Column(
        pl.Int64, "By the rules of the recording; of a trace these bytes / 4, rounded up."
    ),
    "delta_bytes": Column(pl.Int64, "Content bytes that the change added."),
    "later_causes": Column(pl.List(pl.String), "Causes that show once the first is masked."),
    "read_tokens_reported": REPORTED["read_tokens_reported"],
}

FRAMES: Final[Mapping[str, Columns]] = {
    "turns": TURNS,
    "steps": STEPS,
    "segments": SEGMENTS,
    "tools": TOOLS,
    "servers": SERVERS,
    "catalog_versions": CATALOG_VERSIONS,
    "breaks": BREAKS,
}
"""Every frame by its name."""


def schema(columns: Columns) -> dict[str, DataType | DataTypeClass]:
    """Return polars' schema of `columns`."""
    return {name: column.dtype for name, column in columns.items()}


def shaped(frame: pl.LazyFrame, columns: Columns) -> pl.LazyFrame:
    """The documented columns of `frame`, in order and of their types."""
    return frame.select(pl.col(name).cast(column.dtype) for name, column in columns.items())


_ABOUT: Final[Mapping[str, str]] = {
    "turns": "One row per turn, in the order in which turns began. A turn whose span is missing is made from "
    "its steps, and is not `complete`.",
    "steps": "One row per request to a model, in the order of sending.",
    "segments": "One row per segment of each request, in render order.",
    "tools": "One row per tool that was shown or called, the most bytes sent first.",
    "servers": "One row per turn and MCP server, as it stood at the end of the turn. Traces of the reference "
    "runtime alone tell of servers.",
    "catalog_versions": "One row per refresh of a server's catalogue, in the order of time.",
    "breaks": "One row per request that did not go on where an earlier one ended; planned and harmless ones "
    "too.",
}


def columns_page() -> str:
    """The section of ``docs/frames.md`` that says what each column holds."""
    parts = ["## Columns\n"]
    for name, frame in FRAMES.items():
        parts.append(f"\n### `{name}`\n\n{_ABOUT[name]}\n\n| column | type | says |\n|---|---|---|\n")
        parts += [f"| `{column}` | {_type(one.dtype)} | {one.says} |\n" for column, one in frame.items()]
    return "".join(parts)


def _type(dtype: DataType | DataTypeClass) -> str:
    words = (
        (pl.String, "text"),
        (pl.Int64, "whole number"),
        (pl.Float64, "number"),
        (pl.Boolean, "true, false"),
    )
    lists = "texts" if dtype == pl.List(pl.String) else "time, UTC"
    return next((word for one, word in words if dtype == one), lists)

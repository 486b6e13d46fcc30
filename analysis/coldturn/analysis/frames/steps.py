"""Steps, turns, segments and breaks, from the columns of `spans.parquet`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from coldturn.analysis.frames import columns
from coldturn.analysis.frames.expressions import (
    START,
    attributes,
    duration,
    identity,
    known_sum,
    ours,
    rate,
    started,
    zone_bytes,
)
from coldturn.analysis.frames.further import REPORTED
from coldturn.traces import names

ZONES: Final = ("tools", "system", "tail", "history", "transient")
"""In render order."""

_ATTRIBUTES: Final[Mapping[str, str]] = {
    "step": names.STEP_INDEX,
    "request": names.REQUEST_INDEX,
    "fidelity": names.FIDELITY,
    "provider": names.PROVIDER,
    "model": names.REQUEST_MODEL,
    "surface": names.WIRE_FORMAT,
    "scope": names.CACHE_SCOPE,
    "wire_bytes": names.WIRE_BYTES,
    "segments": names.SEGMENT_COUNT,
    "base_span_id": names.BASE_SPAN_ID,
    "base_age_ms": names.BASE_AGE_MS,
    "common_bytes": names.COMMON_BYTES,
    "stable": names.STABLE,
    "break_zone": names.BREAK_ZONE,
    "break_segment": names.BREAK_SEGMENT,
    "break_path": names.BREAK_PATH,
    "break_section": names.BREAK_SECTION,
    "break_offset": names.BREAK_OFFSET,
    "break_block_offset": names.BREAK_BLOCK_OFFSET,
    "break_cause": names.BREAK_CAUSE,
    "break_confidence": names.BREAK_CONFIDENCE,
    "break_planned": names.BREAK_PLANNED,
    "break_lost_bytes": names.BREAK_LOST_BYTES,
    "break_delta_bytes": names.BREAK_DELTA_BYTES,
    "harmless_cause": names.HARMLESS_CAUSE,
    "elided_results": names.ELISION_COUNT,
    "error": names.ERROR_TYPE,
}
_FURTHER: Final = (
    "span_id", "trace_id", "source", *REPORTED, "rules", "input_tokens_estimated", "ceiling_estimated",
    "read_estimated", "written_estimated", "lost_tokens_estimated", "verdict", "judged_cause",
)  # fmt: skip
_SUMS: Final = tuple(name for name in (*columns.REPORTED, *columns.ESTIMATED) if name != "hit_rate_estimated")
_HIT_RATES: Final = (
    rate("read_tokens_reported", "input_tokens_reported").alias("hit_rate_reported"),
    rate("read_estimated", "input_tokens_estimated").alias("hit_rate_estimated"),
)


def steps_of(spans: pl.LazyFrame) -> pl.LazyFrame:
    """Steps in the order of sending: the columns of the frame, `parent_span_id` and the start as it is."""
    later = pl.col(names.BREAK_LATER_CAUSES)
    return (
        spans.with_columns(identity())
        .filter(ours("chat"))
        .select(
            *columns.IDENTITY,
            *attributes(_ATTRIBUTES),
            *_FURTHER,
            *zone_bytes(ZONES),
            pl.when(later.list.len() > 0).then(later).alias("later_causes"),
            started(),
            duration(),
            "parent_span_id",
            START,
        )
        .with_columns(
            (pl.col("input_tokens_estimated") - pl.col("read_estimated")).alias("uncached_estimated"),
            *_HIT_RATES,
            pl.col("step").fill_null(0),
        )
        .sort("recording", "policy", START, "run_id", "turn", "step", maintain_order=True)
    )


def turns_of(spans: pl.LazyFrame) -> pl.LazyFrame:
    """Turns with the columns of the frame."""
    planned = pl.col("break_planned").fill_null(value=False)
    broken = pl.col("break_cause").is_not_null()
    unplanned = broken & ~planned
    taken = (
        steps_of(spans)
        .with_columns(pl.coalesce("parent_span_id", "span_id").alias("turn_span"))
        .group_by("turn_span", maintain_order=True)
        .agg(
            pl.col(*columns.IDENTITY, "trace_id", START, "model").first(),
            pl.len().alias("steps"),
            (broken & planned).sum().alias("breaks_planned"),
            unplanned.sum().alias("breaks_unplanned"),
            pl.col("step").filter(unplanned).first().alias("break_step"),
            pl.col("break_zone").filter(unplanned).first(),
            pl.col("break_cause").filter(unplanned).first(),
            pl.col("break_cause").filter(broken & planned).first().alias("planned_cause"),
            pl.when(pl.col("rules").n_unique() > 1)
            .then(pl.lit("several"))
            .otherwise(pl.col("rules").first())
            .alias("rules"),
            *(known_sum(name) for name in _SUMS),
        )
    )
    calls = spans.filter(ours("execute_tool")).group_by("parent_span_id").agg(pl.len().alias("tool_calls"))
    joined = _own_turns(spans).join(taken, on="turn_span", how="full", coalesce=True, suffix="_taken")
    return (
        joined.with_columns(
            pl.coalesce(name, f"{name}_taken") for name in (*columns.IDENTITY, "trace_id", START)
        )
        .join(calls, left_on="turn_span", right_on="parent_span_id", how="left")
        .with_columns(
            pl.col("steps", "tool_calls", "breaks_planned", "breaks_unplanned").fill_null(0),
            started(),
            *_HIT_RATES,
        )
        .with_columns((pl.col("told_steps") == pl.col("steps")).fill_null(value=False).alias("complete"))
        .sort("recording", "policy", START, "run_id", "turn")
    )


def _own_turns(spans: pl.LazyFrame) -> pl.LazyFrame:
    return (
        spans.with_columns(identity())
        .filter(ours("invoke_agent"))
        .select(
            pl.col("span_id").alias("turn_span"),
            *columns.IDENTITY,
            "trace_id",
            START,
            pl.col(names.AGENT_NAME).alias("agent"),
            pl.col(names.TURN_STEP_COUNT).alias("told_steps"),
        )
    )


def segments_of(spans: pl.LazyFrame, rows: pl.LazyFrame) -> pl.LazyFrame:
    """Segments in the order of their steps, then in render order."""
    place = steps_of(spans).select(*columns.STEP_IDENTITY)
    return place.join(rows, on="span_id", how="inner", maintain_order="left_right")


def breaks_of(spans: pl.LazyFrame) -> pl.LazyFrame:
    """Breaks with the columns of the frame, in the order of their steps."""
    lost = pl.col("break_lost_bytes")
    cause = pl.coalesce("break_cause", "harmless_cause", "judged_cause")
    plain = ("zone", "segment", "path", "section", "offset", "block_offset", "confidence", "delta_bytes")
    return (
        steps_of(spans)
        .filter(cause.is_not_null())
        .with_columns(
            cause.alias("cause"),
            pl.col("break_planned").fill_null(value=False).alias("planned"),
            lost.alias("lost_bytes"),
            pl.coalesce("lost_tokens_estimated", (lost + 3) // 4).alias("lost_tokens_estimated"),
            *(pl.col(f"break_{name}").alias(name) for name in plain),
        )
    )

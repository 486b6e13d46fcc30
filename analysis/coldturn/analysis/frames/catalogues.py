"""Tools, servers and catalogue versions, from the columns of `spans.parquet` and `segments.parquet`."""

from __future__ import annotations

from typing import Final

import polars as pl

from coldturn.analysis.frames import columns
from coldturn.analysis.frames.expressions import START, attributes, duration, identity, ours, started
from coldturn.analysis.frames.steps import segments_of
from coldturn.traces import names

_NAMED: Final = r"^[^ ]* ([^ ]+)"
"""A tool's segments are named ``tools[12] web_search``, perhaps with a heading behind it."""

_BY_SERVER: Final = {
    "server": names.SERVER_NAMES,
    "state": names.SERVER_STATES,
    "tier": names.SERVER_TIERS,
    "preload": names.SERVER_PRELOADS,
    "tool_count": names.SERVER_TOOL_COUNTS,
    "catalog_version": names.SERVER_VERSIONS,
    "catalog_hash": names.SERVER_HASHES,
    "prompt_bytes": names.SERVER_PROMPT_BYTES,
}
_REFRESH: Final = {
    "server": names.SERVER_NAME,
    "trigger": names.CATALOG_TRIGGER,
    "version": names.CATALOG_VERSION,
    "previous_version": names.CATALOG_PREVIOUS,
    "hash": names.CATALOG_HASH,
    "tool_count": names.CATALOG_TOOL_COUNT,
    "added": names.CATALOG_ADDED,
    "removed": names.CATALOG_REMOVED,
    "changed": names.CATALOG_CHANGED,
    "error": names.ERROR_TYPE,
}
_KEY: Final = ("recording", "policy", "tool")


def tools_of(spans: pl.LazyFrame, rows: pl.LazyFrame) -> pl.LazyFrame:
    """Tools with the columns of the frame: what was shown, joined with what was called."""
    joined = _shown(spans, rows).join(_called(spans), on=_KEY, how="full", coalesce=True)
    counts = ("steps_shown", "definition_bytes", "sent_bytes", "definitions")
    return (
        joined.join(_told(spans), on=_KEY[:2], how="left")
        .with_columns(
            pl.col(counts).fill_null(0),
            pl.when(pl.col("tells_calls")).then(pl.col("calls").fill_null(0)).otherwise("calls"),
            pl.when(pl.col("tells_errors")).then(pl.col("errors").fill_null(0)),
        )
        .sort("recording", "policy", "sent_bytes", "tool", descending=[False, False, True, False])
    )


def _told(spans: pl.LazyFrame) -> pl.LazyFrame:
    """Whether a recording tells all calls, which stand in histories, and whether it tells how they ended."""
    history = pl.col(names.ZONE_NAMES).list.contains("history").fill_null(value=False)
    return (
        spans.with_columns(identity())
        .filter(ours("chat"))
        .group_by(_KEY[:2])
        .agg(
            history.all().alias("tells_calls"),
            pl.col(names.REQUEST_INDEX).is_null().all().alias("tells_errors"),
        )
    )


def _shown(spans: pl.LazyFrame, rows: pl.LazyFrame) -> pl.LazyFrame:
    """Definitions in tools arrays; a long one has several segments in each request."""
    defined = (pl.col("zone") == "tools") & (pl.col("kind") == "tool")
    per_step = (
        segments_of(spans, rows)
        .filter(defined)
        .with_columns(pl.col("key").str.extract(_NAMED).alias("tool"))
        .filter(pl.col("tool").is_not_null())
        .group_by(*_KEY, "span_id", maintain_order=True)
        .agg(pl.col("bytes").sum(), pl.col("hash").str.join("").alias("definition"))
    )
    return per_step.group_by(*_KEY).agg(
        pl.len().alias("steps_shown"),
        pl.col("bytes").max().alias("definition_bytes"),
        pl.col("bytes").sum().alias("sent_bytes"),
        pl.col("definition").n_unique().alias("definitions"),
    )


def _called(spans: pl.LazyFrame) -> pl.LazyFrame:
    failed = pl.col(names.ERROR_TYPE).is_not_null()
    sizes = pl.col(names.TOOL_BYTES)
    return (
        spans.with_columns(identity())
        .filter(ours("execute_tool"))
        .with_columns(pl.col(names.TOOL_NAME).alias("tool"))
        .group_by(_KEY)
        .agg(
            pl.col(names.SERVER_NAME).drop_nulls().first().alias("server"),
            pl.len().alias("calls"),
            failed.sum().alias("errors"),
            pl.when(sizes.is_not_null().any()).then(sizes.sum()).alias("result_bytes"),
        )
    )


def servers_of(spans: pl.LazyFrame) -> pl.LazyFrame:
    """Servers with the columns of the frame."""
    calls = (
        spans.filter(ours("execute_tool") & pl.col(names.SERVER_NAME).is_not_null())
        .group_by("parent_span_id", pl.col(names.SERVER_NAME).alias("server"))
        .agg(pl.len().alias("calls"))
    )
    return (
        spans.with_columns(identity())
        .filter(ours("invoke_agent") & pl.col(names.SERVER_NAMES).is_not_null())
        .select(*columns.IDENTITY, "span_id", START, started(), *attributes(_BY_SERVER))
        .explode(list(_BY_SERVER))
        .join(calls, left_on=["span_id", "server"], right_on=["parent_span_id", "server"], how="left")
        .with_columns(pl.col("calls").fill_null(0))
        .sort("recording", "policy", START, "run_id", "turn", "server")
    )


def catalog_versions_of(spans: pl.LazyFrame) -> pl.LazyFrame:
    """Refreshes with the columns of the frame."""
    listed = (pl.col(names.MCP_METHOD) == "tools/list") & pl.col(names.CATALOG_TRIGGER).is_not_null()
    return (
        spans.with_columns(identity())
        .filter(listed)
        .select(*columns.IDENTITY, START, started(), duration(), *attributes(_REFRESH))
        .sort("recording", "policy", START, "server", maintain_order=True)
    )

"""Five worked queries over the frames: what notebooks show and ``docs/frames.md`` explains."""

from __future__ import annotations

import polars as pl

from coldturn.analysis.breaks.findings import Verdict
from coldturn.analysis.estimates.plateau import RECURRING, SHARE, SMALL


def hit_rates(steps: pl.LazyFrame, *by: str) -> pl.LazyFrame:
    """Hit rate per model and day, or by other columns of `steps`.

    Tokens are summed first: a mean of rates would weigh a short request like a long one. Reported figures
    count only requests that report both input and read, and `requests_reported` says how many these were.
    """
    whole, part = pl.col("input_tokens_reported"), pl.col("read_tokens_reported")
    told = whole.is_not_null() & part.is_not_null()
    known = pl.col("input_tokens_estimated").is_not_null() & pl.col("read_estimated").is_not_null()
    tokens, read = pl.col("input_tokens_estimated"), pl.col("read_estimated")
    return (
        steps.with_columns(pl.col("started").dt.date().alias("day"))
        .group_by(by or ("model", "day"))
        .agg(
            pl.len().alias("requests"),
            (read.filter(known).sum() / tokens.filter(known).sum()).alias("hit_rate_estimated"),
            told.sum().alias("requests_reported"),
            (part.filter(told).sum() / whole.filter(told).sum()).alias("hit_rate_reported"),
        )
        .with_columns(pl.col("^hit_rate_.*$").fill_nan(None))
        .sort(by or ("model", "day"))
    )


def costs(breaks: pl.LazyFrame, *by: str) -> pl.LazyFrame:
    """Which cause costs most: breaks, and tokens that were sent again although they could have been read."""
    unplanned = pl.col("verdict").is_in([str(one) for one in Verdict if one.unplanned])
    keys = by or ("cause",)
    return (
        breaks.group_by(keys)
        .agg(
            pl.len().alias("breaks"),
            unplanned.sum().alias("unplanned"),
            pl.col("lost_tokens_estimated").sum(),
            pl.col("zone").drop_nulls().mode().sort().first().alias("mostly_in"),
        )
        .sort("lost_tokens_estimated", *keys, descending=[True] + [False] * len(keys))
    )


def zone_bytes(steps: pl.LazyFrame) -> pl.LazyFrame:
    """Bytes per zone over time: what a turn's largest request was made of, turn by turn."""
    zones = [f"{zone}_bytes" for zone in ("tools", "system", "tail", "history", "transient")]
    return (
        steps.group_by("recording", "policy", "run_id", "turn", maintain_order=True)
        .agg(pl.col("started").min(), pl.len().alias("requests"), pl.col(zones).max())
        .sort("recording", "policy", "started", "run_id", "turn")
    )


def plateaus(steps: pl.LazyFrame) -> pl.LazyFrame:
    """The plateau: the same small cache read that keeps coming back, so prompts break at the same place.

    A read counts when it is at most half of the input, and came back at least three times and in a tenth of
    the conversation's requests (the thresholds of `coldturn.analysis.estimates.plateau`).
    """
    key = ("recording", "run_id", "model")
    small = pl.col("read_tokens_reported") <= SMALL * pl.col("input_tokens_reported")
    return (
        steps.filter(pl.all_horizontal(pl.col("input_tokens_reported", "read_tokens_reported").is_not_null()))
        .with_columns(pl.len().over(key).alias("of_requests"))
        .filter(small & (pl.col("read_tokens_reported") > 0))
        .group_by(*key, "of_requests", "read_tokens_reported")
        .agg(
            pl.len().alias("requests"),
            pl.col("input_tokens_reported").min().alias("shortest_input_reported"),
            pl.col("input_tokens_reported").max().alias("longest_input_reported"),
        )
        .filter((pl.col("requests") >= RECURRING) & (pl.col("requests") >= SHARE * pl.col("of_requests")))
        .sort("requests", *key, "read_tokens_reported", descending=[True] + [False] * 4)
    )


def never_called(tools: pl.LazyFrame) -> pl.LazyFrame:
    """Tools that are shown and never called, those that took the most bytes first."""
    return tools.filter((pl.col("steps_shown") > 0) & (pl.col("calls") == 0)).sort(
        "sent_bytes", "recording", "policy", "tool", descending=[True, False, False, False]
    )

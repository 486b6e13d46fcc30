"""Expressions that the frames share, over the columns of `spans.parquet`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import polars as pl

from coldturn.traces import names

START: Final = "start_time_unix_nano"
DURATION: Final = "duration_time_unix_nano"


def attributes(columns: Mapping[str, str]) -> list[pl.Expr]:
    """Attributes under the names of a frame's columns."""
    return [pl.col(name).alias(column) for column, name in columns.items()]


def identity() -> list[pl.Expr]:
    """Recording, policy, Run and turn. A span that is not labelled belongs where its file's others do."""
    return [
        _labelled(names.REPLAY_CASSETTE).alias("recording"),
        _labelled(names.REPLAY_POLICY).alias("policy"),
        pl.col(names.RUN_ID).fill_null("").alias("run_id"),
        pl.col(names.TURN_INDEX).fill_null(0).alias("turn"),
    ]


def _labelled(name: str) -> pl.Expr:
    label = pl.col(name)
    return pl.coalesce(label, label.drop_nulls().first().over("source")).fill_null("")


def started() -> pl.Expr:
    """When the span began; null for the epoch, which stands for an unknown time."""
    return (
        pl.when(pl.col(START) > pl.datetime(1970, 1, 1, time_zone="UTC")).then(pl.col(START)).alias("started")
    )


def duration() -> pl.Expr:
    """Milliseconds from start to end."""
    return (pl.col(DURATION) / 1_000_000).alias("duration_ms")


def ours(operation: str) -> pl.Expr:
    """Spans of one kind. Those of other libraries are left out where the file has any of ours."""
    schema = pl.col(names.SCHEMA)
    foreign = schema.is_null().all().over("source")
    return (pl.col(names.OPERATION) == operation) & (schema.is_not_null() | foreign)


def zone_bytes(zones: Iterable[str]) -> list[pl.Expr]:
    """Content bytes of each zone, and of all; null where a zone was not recorded."""
    known, sizes = pl.col(names.ZONE_NAMES), pl.col(names.ZONE_BYTES)
    wanted = list(zones)
    whole = pl.all_horizontal(known.list.contains(zone) for zone in wanted)
    return [
        pl.when(whole).then(sizes.list.sum()).alias("content_bytes"),
        *(
            pl.when(known.list.contains(zone))
            .then(sizes.list.get(known.list.eval(pl.element() == zone).list.arg_max(), null_on_oob=True))
            .alias(f"{zone}_bytes")
            for zone in wanted
        ),
    ]


def rate(part: str, whole: str) -> pl.Expr:
    """`part` over `whole`; null when either is unknown or there is no whole."""
    return pl.when(pl.col(whole) > 0).then(pl.col(part) / pl.col(whole))


def known_sum(column: str) -> pl.Expr:
    """The sum of a group; null unless every row knows it: a partial sum would look like the whole."""
    return (
        pl.when(pl.col(column).is_not_null().all() & (pl.len() > 0)).then(pl.col(column).sum()).alias(column)
    )

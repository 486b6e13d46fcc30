"""Hit rate per turn or request, in three columns that are never mixed: ceiling, estimated, reported."""

from __future__ import annotations

from typing import Final

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from coldturn.analysis.charts.style import (
    BLUE,
    MUTED,
    RED,
    WIDTH,
    EmptyChartError,
    chart,
    headline,
    left_out,
    legend,
    name_of,
    panels_of,
    per_cent,
    plain,
    titled,
)
from coldturn.analysis.rates import format_rate

_PANELS: Final = 6
_HEIGHT: Final = 1.5
CEILING: Final = "#CFE3F1"
_FEW_RULES: Final = 2
_DOTS: Final = 120
"""With more turns than these a line alone is drawn."""


@chart
def hit_rate_chart(turns: pl.DataFrame, *, title: str | None = None) -> Figure:
    """Draw the share of input tokens that was read from a cache, turn by turn or request by request.

    One panel per policy and recording, those with the most input first. The ceiling is what a cache without
    bounds could have served. What has figures that are not all known has no point.

    Args:
        turns: The frame of that name, or the frame `steps`.
        title: Replaces the title, which is the question that the picture answers.

    Raises:
        EmptyChartError: No turn has an estimate, and none was reported.
    """
    known = turns.filter(
        pl.col("hit_rate_estimated").is_not_null()
        | pl.col("hit_rate_reported").is_not_null()
        | pl.col("ceiling_estimated").is_not_null()
    )
    if known.is_empty():
        raise EmptyChartError(
            "no turn has tokens", "give requests with their prompts, or with reported usage"
        )
    weight = pl.coalesce("input_tokens_estimated", "input_tokens_reported").alias("weight")
    panels, more = panels_of(known.with_columns(weight), "weight", _PANELS)
    figure = Figure(figsize=(WIDTH, len(panels) * (_HEIGHT + 0.6) + 1.1), layout="constrained")
    unit = "turn" if "steps" in turns.columns else "request"
    titled(figure, title or f"How much of each {unit}'s input was read from the prompt cache?")
    several = known["recording"].n_unique() > 1
    for axes, panel in zip(figure.subplots(len(panels), 1, squeeze=False).flat, panels, strict=True):
        _draw(axes, panel, name_of(panel, several_recordings=several), unit)
    axes.set_xlabel(f"{unit}, in the order of their starts", fontsize=9, color=MUTED)
    told = "reported by the provider" if known["hit_rate_reported"].count() else "reported: nothing was"
    rules = known["rules"].drop_nulls().unique().sort().to_list()
    legend(
        figure,
        [
            Line2D([], [], color=CEILING, linewidth=5, label="ceiling: a cache without bounds (estimated)"),
            Line2D([], [], color=BLUE, label=f"estimated by {_named(rules)}"),
            Line2D(
                [],
                [],
                color=RED,
                marker="D",
                markersize=4,
                linestyle="none",
                label=told,
            ),
        ],
        f"Share of input tokens.{left_out(more)}",
    )
    return figure


def _named(rules: list[str]) -> str:
    if len(rules) > _FEW_RULES:
        return f"the rules of each model ({len(rules)} sets)"
    return ", ".join(rules) or "no rules"


def _draw(axes: Axes, panel: pl.DataFrame, name: str, unit: str) -> None:
    panel = panel.with_columns(
        pl.when(pl.col("input_tokens_estimated") > 0)
        .then(pl.col("ceiling_estimated") / pl.col("input_tokens_estimated"))
        .alias("ceiling_rate")
    )
    places = range(panel.height)
    marker = "o" if panel.height <= _DOTS else None
    axes.plot(places, panel["ceiling_rate"].to_list(), color=CEILING, linewidth=5, solid_capstyle="round")
    axes.plot(
        places, panel["hit_rate_estimated"].to_list(), color=BLUE, linewidth=1.2, marker=marker, markersize=3
    )
    axes.plot(
        places, panel["hit_rate_reported"].to_list(), color=RED, marker="D", linestyle="none",
        markersize=4 if panel.height <= _DOTS else 2, clip_on=False, zorder=3,
    )  # fmt: skip
    headline(axes, f"{name}: {_rates(panel, unit)}")
    per_cent(axes)
    plain(axes)
    axes.set_xlim(-0.5, max(panel.height - 0.5, 0.5))
    axes.xaxis.set_major_locator(MaxNLocator(12, integer=True, min_n_ticks=1))
    axes.set_ylabel("hit rate", fontsize=8, color=MUTED)


def _rates(panel: pl.DataFrame, unit: str) -> str:
    estimated = _rate(panel, "read_estimated", "input_tokens_estimated")
    reported = _rate(panel, "read_tokens_reported", "input_tokens_reported")
    count = panel["hit_rate_reported"].count()
    if not count:
        return f"{estimated or 'nothing'} estimated, none reported"
    share = "" if count == panel.height else f" in {count} of {panel.height:,} {unit}s"
    return f"{estimated or 'nothing'} estimated, {reported} reported{share}"


def _rate(panel: pl.DataFrame, part: str, whole: str) -> str | None:
    known = panel.filter(pl.col(part).is_not_null() & pl.col(whole).is_not_null())
    return None if known.is_empty() else format_rate(int(known[part].sum()), int(known[whole].sum()))

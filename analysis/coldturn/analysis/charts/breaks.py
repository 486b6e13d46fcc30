"""Breaks by cause: what each cost, and what the verdict was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from coldturn.analysis.breaks.findings import Verdict
from coldturn.analysis.charts.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    MUTED,
    ORANGE,
    RED,
    RULE,
    WIDTH,
    EmptyChartError,
    chart,
    headline,
    left_out,
    legend,
    name_of,
    panels_of,
    plain,
    thousands,
    titled,
)

_PANELS: Final = 6
_CAUSES: Final = 14
_ROW: Final = 0.3
_UNPLANNED: Final = tuple(str(one) for one in Verdict if one.unplanned)
_COLOURS: Final[Mapping[str, str]] = {
    "broken": RED,
    "unknown": ORANGE,
    "planned": BLUE,
    "broken_harmless": GREY,
}
_WORDS: Final[Mapping[str, str]] = {"broken_harmless": "harmless"}


@chart
def breaks_chart(breaks: pl.DataFrame, *, title: str | None = None) -> Figure:
    """Draw how many tokens each cause turned cold.

    One panel per policy and recording, those that lost the most first; a bar per cause, coloured by verdict,
    with the number of breaks behind it. A harmless break loses nothing.

    Args:
        breaks: The frame of that name.
        title: Replaces the title, which is the question that the picture answers.

    Raises:
        EmptyChartError: There are no breaks.
    """
    if breaks.is_empty():
        raise EmptyChartError(
            "no request broke its prefix", "that is good news; try `prefix-map` or `hit-rate`"
        )
    panels, more = panels_of(breaks, "lost_tokens_estimated", _PANELS)
    counted = [_counted(panel) for panel in panels]
    ratios = [_ROW * max(1, min(_CAUSES, one["cause"].n_unique())) + 0.45 for one in counted]
    figure = Figure(figsize=(WIDTH, sum(ratios) + 0.45 * len(panels) + 1.2), layout="constrained")
    titled(figure, title or "Which causes turned the most tokens cold?")
    shape = figure.subplots(len(panels), 1, squeeze=False, sharex=True, height_ratios=ratios)
    several = breaks["recording"].n_unique() > 1
    for axes, panel, rows in zip(shape.flat, panels, counted, strict=True):
        _draw(axes, rows)
        headline(axes, f"{name_of(panel, several_recordings=several)}: {_sentence(panel)}")
    # One scale for all panels, whatever the last of them holds, with room for the figures behind the bars.
    axes.set_xlim(0, 1.16 * max(_most(rows) for rows in counted) or 1)
    axes.set_xlabel(
        "tokens that could have been read and were sent again (estimated)", fontsize=9, color=MUTED
    )
    found = set(breaks["verdict"].drop_nulls())
    named = [verdict for verdict in _COLOURS if verdict in found] + sorted(found - set(_COLOURS))
    handles: list[object] = [Patch(color=_colour(v), label=_WORDS.get(v, v.replace("_", " "))) for v in named]
    legend(figure, handles, f"Figures behind the bars: breaks, and tokens.{left_out(more)}")
    return figure


def _colour(verdict: str) -> str:
    return _COLOURS.get(verdict, GREEN)


def _sentence(panel: pl.DataFrame) -> str:
    unplanned = panel.filter(pl.col("verdict").is_in(_UNPLANNED)).height
    word = "break" if panel.height == 1 else "breaks"
    return f"{panel.height:,} {word}, {unplanned:,} of them unplanned"


def _counted(panel: pl.DataFrame) -> pl.DataFrame:
    """Counts and tokens by cause and verdict; beyond a number of causes the rest is one row."""
    tokens = pl.col("lost_tokens_estimated").fill_null(0)
    totals = panel.group_by("cause").agg(tokens.sum().alias("total"), pl.len().alias("breaks"))
    ranked = totals.sort(["total", "breaks", "cause"], descending=[True, True, False])
    kept = ranked["cause"].head(_CAUSES if ranked.height <= _CAUSES else _CAUSES - 1)
    others = f"{ranked.height - len(kept)} other causes"
    named = (
        pl.when(pl.col("cause").is_in(kept.implode())).then("cause").otherwise(pl.lit(others)).alias("cause")
    )
    order = {cause: place for place, cause in enumerate([*kept, others])}
    return (
        panel.with_columns(named, pl.col("verdict").fill_null("unknown"))
        .group_by("cause", "verdict")
        .agg(tokens.sum().alias("tokens"), pl.len().alias("breaks"))
        .with_columns(pl.col("cause").replace_strict(order, return_dtype=pl.Int64).alias("place"))
        .sort("place", "verdict")
    )


def _most(rows: pl.DataFrame) -> int:
    """Tokens of the longest bar."""
    return max(rows.group_by("place").agg(pl.col("tokens").sum())["tokens"].to_list(), default=0)


def _draw(axes: Axes, rows: pl.DataFrame) -> None:
    reached: dict[int, int] = {}
    counts: dict[int, int] = {}
    names: dict[int, str] = {}
    for row in rows.iter_rows(named=True):
        place, tokens = row["place"], row["tokens"]
        axes.barh(place, tokens, left=reached.get(place, 0), height=0.62, color=_colour(row["verdict"]))
        reached[place] = reached.get(place, 0) + tokens
        counts[place] = counts.get(place, 0) + row["breaks"]
        names[place] = row["cause"]
    for place, tokens in reached.items():
        axes.annotate(
            f" {counts[place]:,} x · {tokens:,}", (tokens, place), va="center", fontsize=8, color=MUTED,
            annotation_clip=False,
        )  # fmt: skip
    axes.set_yticks(list(names), list(names.values()))
    axes.set_ylim(max(names) + 0.6, -0.6)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(thousands))
    axes.grid(axis="x", color=RULE, linewidth=0.6)
    plain(axes)
    axes.tick_params(axis="y", length=0, colors=INK)

"""The prefix map: a row per request, zones as bars, what an earlier one had solid, the rest hatched."""

from __future__ import annotations

from typing import Any, Final

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from coldturn.analysis.charts.style import (
    INK,
    MUTED,
    RULE,
    WIDTH,
    ZONE_COLOURS,
    EmptyChartError,
    chart,
    headline,
    left_out,
    legend,
    name_of,
    panels_of,
    plain,
    size,
    titled,
)

_PANELS: Final = 4
_ROWS: Final = 60
"""Up to so many requests have a gap between them."""


@chart
def prefix_map_chart(steps: pl.DataFrame, *, title: str | None = None) -> Figure:
    """Draw what each request repeats of the one before, and what it sends anew behind a break.

    One column per policy and recording, those with the most bytes first; time runs downwards. A request's
    bytes stand in render order. Where a recording does not support offsets, the solid part is the estimated
    ceiling.

    Args:
        steps: The frame of that name.
        title: Replaces the title, which is the question that the picture answers.

    Raises:
        EmptyChartError: No step has zones: only usage was recorded.
    """
    known = _measured(steps)
    if known.is_empty():
        raise EmptyChartError("no request has a prompt", "give a recording with request bodies, or a trace")
    panels, more = panels_of(known, "total", _PANELS)
    tallest = max(panel.height for panel in panels)
    height = min(12.0, max(3.2, 0.085 * tallest + 1.2))
    figure = Figure(figsize=(WIDTH, height + 1.3), layout="constrained")
    titled(figure, title or "What did each request repeat, and where did its prefix break?")
    columns = figure.subplots(1, len(panels), squeeze=False, sharex=True).flat
    several = known["recording"].n_unique() > 1
    for axes, panel in zip(columns, panels, strict=True):
        _draw(axes, panel)
        headline(axes, _heading(panel, name_of(panel, several_recordings=several), len(panels)))
        axes.set_xlabel("content bytes, in render order", fontsize=8, color=MUTED)
    figure.axes[0].set_ylabel("request, in the order of sending", fontsize=8, color=MUTED)
    guessed = known.filter(pl.col("guessed"))
    note = (
        f" In {guessed.height:,} of {known.height:,} requests the solid part is estimated: the "
        "recording supports no offsets."
        if guessed.height
        else ""
    )
    legend(figure, _handles(known), f"One row per request.{left_out(more)}{note}", columns=4)
    return figure


def _measured(steps: pl.DataFrame) -> pl.DataFrame:
    """Steps with zones: their bytes, and how many of them an earlier request had."""
    zones = [pl.col(f"{zone}_bytes").fill_null(0) for zone in ZONE_COLOURS]
    tokens = pl.col("input_tokens_estimated")
    share = pl.when(tokens > 0).then(pl.col("ceiling_estimated") / tokens)
    return (
        steps.with_columns(pl.sum_horizontal(zones).alias("total"))
        .filter(pl.col("total") > 0)
        .with_columns(
            (pl.col("common_bytes").is_null() & (pl.col("ceiling_estimated") > 0)).alias("guessed"),
            pl.coalesce("common_bytes", (share * pl.col("total")).cast(pl.Int64), pl.lit(0))
            .clip(0, pl.col("total"))
            .alias("repeated"),
        )
    )


def _heading(panel: pl.DataFrame, name: str, columns: int) -> str:
    broken = panel.filter(pl.col("break_planned") == False).height  # noqa: E712 # polars' expression, null is neither
    planned = panel.filter(pl.col("break_planned")).height
    told = f"{broken:,} unplanned, {planned:,} planned breaks"
    requests = f"{panel.height:,} requests"
    return f"{name}: {requests}, {told}" if columns == 1 else f"{name}\n{requests}\n{told}"


def _draw(axes: Axes, panel: pl.DataFrame) -> None:
    edges = [row - 0.5 for row in range(panel.height + 1)]
    repeated = panel["repeated"]
    start = pl.zeros(panel.height, pl.Int64, eager=True)
    for zone, colour in ZONE_COLOURS.items():
        end = start + panel[f"{zone}_bytes"].fill_null(0)
        if (end > start).any():
            middle = pl.select(pl.max_horizontal(start, pl.min_horizontal(end, repeated))).to_series()
            _band(axes, edges, start, middle, {"facecolor": colour})
            _band(axes, edges, middle, end, {"facecolor": "white", "edgecolor": colour, "hatch": "//////"})
        start = end
    if panel.height <= _ROWS:
        axes.hlines(edges, 0, max(panel["total"]), color="white", linewidth=1.2)
    _marks(axes, panel)
    axes.set_ylim(panel.height - 0.5, -0.5)
    axes.set_xlim(0, None)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(size))
    axes.yaxis.set_major_locator(MaxNLocator(12, integer=True, min_n_ticks=1))
    axes.grid(axis="x", color=RULE, linewidth=0.6)
    plain(axes)


def _band(axes: Axes, edges: list[float], left: pl.Series, right: pl.Series, how: dict[str, Any]) -> None:
    """One shape for all rows, so that thousands of requests cost no more than ten."""
    if not (right > left).any():
        return
    closed = [[*side.to_list(), side[-1]] for side in (left, right)]
    axes.fill_betweenx(edges, closed[0], closed[1], step="post", linewidth=0, **how)


def _marks(axes: Axes, panel: pl.DataFrame) -> None:
    rows = panel.with_row_index("row").filter(pl.col("break_cause").is_not_null())
    big = 22.0 if panel.height <= 4 * _ROWS else 6.0
    for planned, face in ((True, "white"), (False, INK)):
        some = rows.filter(pl.col("break_planned").fill_null(value=False) == planned)
        axes.scatter(
            some["repeated"].to_list(), some["row"].to_list(), s=big, marker="<", facecolor=face,
            edgecolor=INK, linewidth=0.7, zorder=4, clip_on=False,
        )  # fmt: skip


def _handles(known: pl.DataFrame) -> list[object]:
    found = [zone for zone in ZONE_COLOURS if (known[f"{zone}_bytes"].fill_null(0) > 0).any()]
    marks = [
        Line2D(
            [],
            [],
            marker="<",
            linestyle="none",
            markeredgecolor=INK,
            markerfacecolor=face,
            markersize=5,
            label=label,
        )
        for face, label in ((INK, "unplanned break"), ("white", "planned break"))
    ]
    return [
        *(Patch(color=ZONE_COLOURS[zone], label=zone) for zone in found),
        Patch(facecolor="#777777", label="solid: an earlier request had it"),
        Patch(
            facecolor="white",
            edgecolor="#777777",
            hatch="//////",
            label="hatched: new, or sent again behind a break",
        ),
        *marks,
    ]

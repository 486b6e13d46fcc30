"""Bytes per zone over time: what a prompt is made of, and how it grows."""

from __future__ import annotations

from typing import Final

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from coldturn.analysis.charts.style import (
    GRID,
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

_PANELS: Final = 6
_HEIGHT: Final = 1.5
_TURNS: Final = 60
"""With more turns than these their starts are not marked."""


@chart
def zones_chart(steps: pl.DataFrame, *, title: str | None = None) -> Figure:
    """Draw the content bytes of each zone, request by request.

    One panel per policy and recording, those with the most bytes first, all on one scale. A zone that was not
    recorded is missing from the pile, and the panel says so.

    Args:
        steps: The frame of that name.
        title: Replaces the title, which is the question that the picture answers.

    Raises:
        EmptyChartError: No step has zones: only usage was recorded.
    """
    zones = [pl.col(f"{zone}_bytes").fill_null(0) for zone in ZONE_COLOURS]
    known = steps.with_columns(pl.sum_horizontal(zones).alias("total")).filter(pl.col("total") > 0)
    if known.is_empty():
        raise EmptyChartError("no request has a prompt", "give a recording with request bodies, or a trace")
    panels, more = panels_of(known, "total", _PANELS)
    figure = Figure(figsize=(WIDTH, len(panels) * (_HEIGHT + 0.6) + 1.1), layout="constrained")
    titled(figure, title or "What fills the prompt, and how does it grow?")
    shape = figure.subplots(len(panels), 1, squeeze=False, sharey=True)
    several = known["recording"].n_unique() > 1
    for axes, panel in zip(shape.flat, panels, strict=True):
        _draw(axes, panel)
        headline(axes, f"{name_of(panel, several_recordings=several)}: {_sentence(panel)}")
    axes.set_xlabel("request, in the order of sending", fontsize=9, color=MUTED)
    found = [zone for zone in ZONE_COLOURS if (known[f"{zone}_bytes"].fill_null(0) > 0).any()]
    handles: list[object] = [Patch(color=ZONE_COLOURS[zone], label=zone) for zone in found]
    legend(
        figure, handles, f"Content bytes per zone, piled in render order. Lines: turns begin.{left_out(more)}"
    )
    return figure


def _sentence(panel: pl.DataFrame) -> str:
    missing = [zone for zone in ZONE_COLOURS if panel[f"{zone}_bytes"].null_count() == panel.height]
    last = size(int(panel["total"][-1]))
    unknown = f"; not recorded: {', '.join(missing)}" if missing else ""
    return f"{panel.height:,} requests, the last with {last}{unknown}"


def _draw(axes: Axes, panel: pl.DataFrame) -> None:
    edges = [place - 0.5 for place in range(panel.height + 1)]
    below = pl.zeros(panel.height, pl.Int64, eager=True)
    for zone, colour in ZONE_COLOURS.items():
        above = below + panel[f"{zone}_bytes"].fill_null(0)
        if (above > below).any():
            closed = [[*side.to_list(), side[-1]] for side in (below, above)]
            axes.fill_between(edges, closed[0], closed[1], step="post", facecolor=colour, linewidth=0)
        below = above
    turns = panel.select("run_id", "turn").rows()
    starts = [place for place in range(1, len(turns)) if turns[place] != turns[place - 1]]
    if len(starts) <= _TURNS:
        for place in starts:
            axes.axvline(place - 0.5, color=RULE, linewidth=0.7)
    axes.set_xlim(-0.5, panel.height - 0.5)
    axes.set_ylim(0, None)
    axes.set_ylabel("content bytes", fontsize=8, color=MUTED)
    axes.xaxis.set_major_locator(MaxNLocator(12, integer=True, min_n_ticks=1))
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_formatter(FuncFormatter(size))
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    plain(axes)

"""Servers over the turns: how each is shown, and when its catalogue changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from coldturn.analysis.charts.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    MUTED,
    ORANGE,
    SKY,
    WIDTH,
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
_ROW: Final = 0.34
_BOX: Final = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": INK, "linewidth": 0.7}
_TIERS: Final[Mapping[str, str]] = {
    "direct": BLUE,
    "facade": SKY,
    "search": GREEN,
    "deferred": ORANGE,
    "none": "#D9D9D9",
}
"""How a server's tools are shown -> colour."""


@chart
def catalogue_chart(servers: pl.DataFrame, *, title: str | None = None) -> Figure:
    """Draw for each MCP server how it was shown in each turn, and at which turn its catalogue was another.

    One panel per policy and recording. A row per server, coloured by tier; a mark where the version changed,
    with the new number; at the end of a row tools and the bytes that they take in the prompt.

    Args:
        servers: The frame of that name.
        title: Replaces the title, which is the question that the picture answers.

    Raises:
        EmptyChartError: No turn names its servers: only traces of the reference runtime do.
    """
    if servers.is_empty():
        raise EmptyChartError(
            "no turn names its MCP servers", "give a trace of `coldturn replay`, `demo` or `run`"
        )
    panels, more = panels_of(servers, "prompt_bytes", _PANELS)
    ratios = [_ROW * panel["server"].n_unique() + 0.5 for panel in panels]
    figure = Figure(figsize=(WIDTH, sum(ratios) + 0.35 * len(panels) + 1.2), layout="constrained")
    titled(figure, title or "How was each server shown, and when did its catalogue change?")
    shape = figure.subplots(len(panels), 1, squeeze=False, height_ratios=ratios)
    several = servers["recording"].n_unique() > 1
    for axes, panel in zip(shape.flat, panels, strict=True):
        _draw(axes, panel)
        headline(axes, f"{name_of(panel, several_recordings=several)}: {_sentence(panel)}")
    axes.set_xlabel("turn, in the order of their starts", fontsize=9, color=MUTED)
    found = set(servers["tier"].drop_nulls())
    named = [tier for tier in _TIERS if tier in found] + sorted(found - set(_TIERS))
    handles: list[object] = [Patch(color=_TIERS.get(tier, GREY), label=tier) for tier in named]
    handles.append(
        Line2D(
            [],
            [],
            marker="s",
            markerfacecolor="white",
            markeredgecolor=INK,
            linestyle="none",
            label="new version",
        )
    )
    handles.append(Patch(facecolor="white", edgecolor=MUTED, hatch="xxxx", label="server not ready"))
    legend(figure, handles, f"A row per server.{left_out(more)}", columns=7)
    return figure


def _sentence(panel: pl.DataFrame) -> str:
    changes = _changes(panel).height
    taken = panel.group_by("run_id", "turn", maintain_order=True).agg(pl.col("prompt_bytes").sum())
    return (
        f"{panel['server'].n_unique()} servers, {changes} catalogue changes, "
        f"{size(int(taken['prompt_bytes'][-1]))} of the prompt in the last turn"
    )


def _placed(panel: pl.DataFrame) -> pl.DataFrame:
    """With the turn's place on the axis."""
    turns = panel.select("run_id", "turn").unique(maintain_order=True).with_row_index("place")
    return panel.join(turns, on=["run_id", "turn"], how="left", maintain_order="left")


def _changes(panel: pl.DataFrame) -> pl.DataFrame:
    """Turns in which a server's catalogue is another than in its turn before."""
    version = pl.col("catalog_version")
    return _placed(panel).filter(
        (version != version.shift(1).over("run_id", "server")).fill_null(value=False)
    )


def _draw(axes: Axes, panel: pl.DataFrame) -> None:
    placed = _placed(panel)
    names = placed["server"].unique().sort().to_list()
    for row, server in enumerate(names):
        one = placed.filter(pl.col("server") == server)
        for run in one.with_columns(
            pl.struct("tier", "state").rle_id().alias("same"),
            (pl.col("place").diff().fill_null(1) != 1).cum_sum().alias("gap"),
        ).partition_by("same", "gap", maintain_order=True):
            first, last = run["place"][0], run["place"][-1]
            ready = run["state"][0] in ("ready", None)
            axes.barh(
                row, last - first + 1, left=first - 0.5, height=0.62, color=_TIERS.get(run["tier"][0], GREY),
                edgecolor="white", linewidth=0.4, hatch=None if ready else "xxxx",
            )  # fmt: skip
        told = f"  {one['tool_count'][-1]} tools, {size(int(one['prompt_bytes'][-1]))}"
        axes.annotate(
            told, (1.0, row), xycoords=("axes fraction", "data"), va="center", fontsize=8, color=MUTED,
            annotation_clip=False,
        )  # fmt: skip
    for change in _changes(panel).iter_rows(named=True):
        y = names.index(change["server"])
        axes.annotate(
            f"v{change['catalog_version']}", (change["place"] - 0.5, y), va="center", ha="center", fontsize=7,
            color=INK, bbox=_BOX,
        )  # fmt: skip
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(-0.5, int(placed["place"].max()) + 0.5)  # type: ignore[arg-type] # a whole number
    axes.xaxis.set_major_locator(MaxNLocator(12, integer=True, min_n_ticks=1))
    plain(axes)
    axes.tick_params(axis="y", length=0, colors=INK)
    axes.spines["left"].set_visible(False)

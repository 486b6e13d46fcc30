"""Steps as bars: what each could read from a cache, what it sent anew, and why."""

from __future__ import annotations

from typing import Final

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from coldturn.analysis.charts.style import INK as _INK
from coldturn.analysis.charts.style import MUTED as _MUTED
from coldturn.analysis.charts.style import EmptyChartError, chart, name_of
from coldturn.analysis.rates import format_rate

READ_COLOUR: Final = "#8EC7EA"
UNCACHED_COLOUR: Final = "#D55E00"
UNKNOWN_COLOUR: Final = "#BBBBBB"
_ZONE_MARKS: Final = {"tools": "v", "system": "s", "tail": "D", "history": "o", "transient": "^"}
_OTHER_MARK: Final = "X"
_WIDTH: Final = 11.0
_LEGEND_COLUMNS: Final = 5
_BARS_HEIGHT: Final = 1.9
_ROW_HEIGHT: Final = 0.2
_BARS: Final = 300
_TURNS: Final = 120
_SAME_SCALE: Final = 6.0
"""Panels share one scale unless the tallest bars of two differ by more than this factor."""
_OWN_SCALES: Final = "each panel has its OWN scale"


@chart
def steps_chart(steps: pl.DataFrame, *, title: str | None = None) -> Figure:
    """Draw what each step could read from a cache and what it had to send anew, with the breaks below.

    One panel per policy and recording, the most uncached tokens first. Bars are estimated tokens by the rule
    ``longest-prefix-1024-128``. Each mark below is a step's first break: its row the cause, its shape
    the zone, hollow when it was planned. A grey bar is a prompt of which no read can be estimated.

    Args:
        steps: The frame of `coldturn.analysis.frames.frames.steps`.
        title: Replaces the title, which is the question that the picture answers.

    Raises:
        EmptyChartError: The frame has no step with an estimate.
    """
    known = steps.filter(pl.col("input_tokens_estimated").is_not_null())
    parted = known.partition_by("recording", "policy", maintain_order=True)
    panels = [panel for panel in parted if panel["read_estimated"].count()]
    panels.sort(key=lambda panel: -int(panel["uncached_estimated"].sum()))
    if not panels:
        raise EmptyChartError("no step has an estimate", "give a recording with request bodies, or a trace")
    causes = [_causes(panel) for panel in panels]
    height = sum(_BARS_HEIGHT + 0.7 + _marks_height(rows) for rows in causes)
    figure = Figure(figsize=(_WIDTH, height + 1.1), layout="constrained")
    figure.suptitle(
        title or "Which steps could not be read from the prompt cache, and why?",
        fontsize=14, fontweight="bold", color=_INK, x=0.01, ha="left",
    )  # fmt: skip
    shared = _shared_top(panels)
    ratios = [ratio for rows in causes for ratio in (_BARS_HEIGHT, _marks_height(rows))]
    axes = iter(figure.subplots(len(ratios), 1, height_ratios=ratios))
    several = known["recording"].n_unique() > 1
    for panel, rows in zip(panels, causes, strict=True):
        bars, marks = next(axes), next(axes)
        bars.set_title(_headline(panel, name_recording=several), loc="left", fontsize=10, color=_INK)
        _draw_bars(bars, panel, shared)
        _draw_marks(marks, panel, rows)
        _draw_turns(bars, marks, panel)
    scale = "all panels have one scale" if shared is not None or len(panels) == 1 else _OWN_SCALES
    _legend(figure, pl.concat(panels), f"{scale}.{_unshown(len(parted) - len(panels))}")
    return figure


def _unshown(panels: int) -> str:
    return f" {panels:,} more, without any estimated read, not shown." if panels else ""


def _marks_height(causes: list[str]) -> float:
    return _ROW_HEIGHT * max(1, len(causes)) + 0.12


def _shared_top(panels: list[pl.DataFrame]) -> float | None:
    tops = [_count(panel["input_tokens_estimated"].max()) for panel in panels]
    return max(tops) * 1.05 if max(tops) <= _SAME_SCALE * max(1, min(tops)) else None


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _causes(panel: pl.DataFrame) -> list[str]:
    """The causes of a panel's breaks, most frequent first."""
    counts = panel.filter(pl.col("break_cause").is_not_null()).group_by("break_cause").len()
    return counts.sort(["len", "break_cause"], descending=[True, False])["break_cause"].to_list()


def _headline(panel: pl.DataFrame, *, name_recording: bool) -> str:
    estimated = panel.filter(pl.col("read_estimated").is_not_null())
    total = int(estimated["input_tokens_estimated"].sum())
    read = int(estimated["read_estimated"].sum())
    unknown = panel.height - estimated.height
    left = f", {unknown:,} not estimated" if unknown else ""
    name = name_of(panel, several_recordings=name_recording)
    unplanned = panel.filter(pl.col("break_planned") == False).height  # noqa: E712 # polars' expression, null is neither
    planned = panel.filter(pl.col("break_planned")).height
    return (
        f"{name}: {total - read:,} of {total:,} estimated tokens uncached ({format_rate(read, total)} read), "
        f"{unplanned} unplanned and {planned} planned breaks in {panel.height} steps{left}"
    )


def _draw_bars(axes: Axes, panel: pl.DataFrame, top: float | None) -> None:
    whole, read = panel["input_tokens_estimated"], panel["read_estimated"]
    nothing = pl.zeros(panel.height, pl.Int64, eager=True)
    unknown = whole.zip_with(read.is_null(), nothing)
    layers = [
        (nothing, read.fill_null(0), READ_COLOUR),
        (read.fill_null(0), panel["uncached_estimated"].fill_null(0), UNCACHED_COLOUR),
    ]
    if read.null_count():
        layers.append((nothing, unknown, UNKNOWN_COLOUR))
    for low, tall, colour in layers:
        if panel.height <= _BARS:
            axes.bar(range(panel.height), tall.to_list(), width=0.86, bottom=low.to_list(), color=colour)
        else:
            _fill(axes, low, low + tall, colour)
    axes.set_ylim(0, top)
    axes.set_ylabel("estimated tokens", fontsize=8, color=_MUTED)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.grid(axis="y", color="#EEEEEE", linewidth=0.8)
    axes.set_axisbelow(True)


def _fill(axes: Axes, low: pl.Series, high: pl.Series, colour: str) -> None:
    """One shape for all steps, so that thousands cost no more than ten."""
    edges = [place - 0.5 for place in range(len(low) + 1)]
    closed = [[*side.to_list(), side[-1]] for side in (low, high)]
    axes.fill_between(edges, closed[0], closed[1], step="post", facecolor=colour, linewidth=0)


def _draw_marks(axes: Axes, panel: pl.DataFrame, causes: list[str]) -> None:
    axes.set_ylim(max(1, len(causes)) - 0.4, -0.6)
    if not causes:
        axes.set_yticks([])
        axes.text(0, 0.5, "no break", fontsize=8, color=_MUTED, va="center")
        return
    axes.set_yticks(range(len(causes)), causes)
    broken = panel.with_row_index("x").filter(pl.col("break_cause").is_not_null())
    for alike in broken.partition_by("break_zone", "break_planned", maintain_order=True):
        axes.plot(
            alike["x"].to_list(), [causes.index(cause) for cause in alike["break_cause"]],
            marker=_ZONE_MARKS.get(alike["break_zone"][0], _OTHER_MARK), markersize=5, markeredgecolor=_INK,
            markerfacecolor="white" if alike["break_planned"][0] else _INK, linestyle="none", clip_on=False,
        )  # fmt: skip


def _turn_starts(panel: pl.DataFrame) -> list[int]:
    turns = panel.select("run_id", "turn").rows()
    return [x for x, turn in enumerate(turns) if x == 0 or turn != turns[x - 1]]


def _draw_turns(bars: Axes, marks: Axes, panel: pl.DataFrame) -> None:
    starts = _turn_starts(panel)
    shown = starts[:: -(-len(starts) // 30)]
    marks.set_xticks(shown, [str(panel["turn"][x]) for x in shown])
    marks.set_xlabel("turn", fontsize=8, color=_MUTED, loc="left", labelpad=1)
    bars.set_xticks([])
    for axes in (bars, marks):
        axes.set_xlim(-0.7, panel.height - 0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=_MUTED, labelsize=8)
        for x in starts[1:] if len(starts) <= _TURNS else ():
            axes.axvline(x - 0.5, color="#DDDDDD", linewidth=0.8, zorder=0)


def _legend(figure: Figure, steps: pl.DataFrame, note: str) -> None:
    found = set(steps["break_zone"].drop_nulls().to_list())
    zones = [zone for zone in _ZONE_MARKS if zone in found] + sorted(found - set(_ZONE_MARKS))
    handles: list[Patch | Line2D] = [
        Patch(color=READ_COLOUR, label="read from cache (estimated)"),
        Patch(color=UNCACHED_COLOUR, label="uncached (estimated)"),
    ]
    if steps["read_estimated"].null_count():
        handles.append(Patch(color=UNKNOWN_COLOUR, label="read unknown"))
    handles += [_mark(_ZONE_MARKS.get(zone, _OTHER_MARK), f"break in {zone}", _INK) for zone in zones]
    if steps["break_planned"].any():
        handles.append(_mark("o", "hollow: planned", "white"))
    figure.legend(
        handles=handles, loc="outside lower left", ncols=min(_LEGEND_COLUMNS, len(handles)), fontsize=8,
        title=f"One bar per step, in the order of sending; {note}", title_fontsize=8, alignment="left",
        frameon=False,
    )  # fmt: skip


def _mark(shape: str, label: str, face: str) -> Line2D:
    return Line2D(
        [],
        [],
        marker=shape,
        linestyle="none",
        markeredgecolor=_INK,
        markerfacecolor=face,
        markersize=5,
        label=label,
    )

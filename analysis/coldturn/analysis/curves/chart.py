"""A picture of capacity and lifetime curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from coldturn.analysis.charts.style import EmptyChartError, chart
from coldturn.analysis.curves.curves import Curve
from coldturn.analysis.curves.inputs import Curves

_INK: Final = "#222222"
_MUTED: Final = "#6B6B6B"
_COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
"""Okabe and Ito's, told apart without red and green alone."""
_SHOWN: Final = 1.0, 100_000.0
_LIFETIMES: Final = ((300.0, "5 min"), (3_600.0, "1 h"), (86_400.0, "1 day"))


@chart
def curves_chart(inputs: Mapping[str, Curves], *, title: str | None = None) -> Figure:
    """Draw how the hit rate grows with capacity, and beside it with the lifetime of an entry.

    A dotted line is the ceiling: what a cache without bounds reads. All of it is estimated.

    Args:
        inputs: Name in the legend -> curves.
        title: Replaces the title, which is the question that the picture answers.

    Raises:
        EmptyChartError: There is nothing to draw: no input, or none that reads anything.
    """
    drawn = {name: one for name, one in inputs.items() if one.capacity.bounds}
    if not drawn:
        raise EmptyChartError("no request repeats an earlier prefix", "give a recording of a conversation")
    figure = Figure(figsize=(11.0, 4.2), layout="constrained")
    figure.suptitle(
        title or "How large does a prompt cache have to be, and how long must it keep entries?",
        fontsize=14, fontweight="bold", color=_INK, x=0.01, ha="left",
    )  # fmt: skip
    left, right = figure.subplots(1, 2, sharey=True)
    for number, (name, one) in enumerate(drawn.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        _draw(left, one.capacity, f"{name} ({one.unit})", colour)
        if one.ttl is not None:
            _draw(right, one.ttl, name, colour)
    _style(left, "capacity of one scope's cache")
    _style(right, "lifetime of an entry, in seconds")
    left.set_ylabel("hit rate (estimated)", fontsize=9, color=_MUTED)
    handles, names = left.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower left", ncols=3, fontsize=8, frameon=False)
    for seconds, name in _LIFETIMES:
        right.axvline(seconds, color="#DDDDDD", linewidth=0.8, zorder=0)
        right.annotate(
            name, (seconds, 1.0), xycoords=("data", "axes fraction"), fontsize=8, color=_MUTED, ha="center"
        )
    right.set_xlim(*_SHOWN)
    return figure


def _draw(axes: Axes, curve: Curve, name: str, colour: str) -> None:
    rates = [read / curve.total for read in curve.reads_estimated]
    bounds = _positive(curve.bounds)
    axes.step(bounds, rates, where="post", color=colour, label=name)
    axes.axhline(rates[-1], color=colour, linewidth=0.8, linestyle=":")


def _positive(bounds: Sequence[float]) -> list[float]:
    """A logarithmic axis has no place for a lifetime of 0: requests of the same moment."""
    least = min((bound for bound in bounds if bound > 0), default=1.0)
    return [bound or least / 2 for bound in bounds]


def _style(axes: Axes, label: str) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0), numticks=12))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(label, fontsize=9, color=_MUTED)
    axes.set_ylim(0, None)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
    axes.grid(axis="y", color="#EEEEEE", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=_MUTED, labelsize=8)

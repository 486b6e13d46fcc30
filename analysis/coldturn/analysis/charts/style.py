"""What all pictures share: colours that a colour-blind reader tells apart, one font, honest labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final, ParamSpec

import matplotlib as mpl
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from coldturn.reference.prefix.errors import ColdturnError

INK: Final = "#222222"
MUTED: Final = "#6B6B6B"
RULE: Final = "#DDDDDD"
GRID: Final = "#EEEEEE"
WIDTH: Final = 11.0

BLUE, SKY, GREEN, ORANGE, PINK, RED, GREY = (
    "#0072B2", "#56B4E9", "#009E73", "#E69F00", "#CC79A7", "#D55E00", "#999999",
)  # fmt: skip
"""Okabe and Ito's palette."""

ZONE_COLOURS: Final[Mapping[str, str]] = {
    "tools": BLUE,
    "system": SKY,
    "tail": GREEN,
    "history": ORANGE,
    "transient": PINK,
}
"""In render order."""

_FONT: Final = "DejaVu Sans"
"""It comes with matplotlib, so pictures are the same on every machine."""
_STYLE: Final[dict[Any, Any]] = {
    "font.family": _FONT, "axes.edgecolor": MUTED, "hatch.linewidth": 0.6, "svg.hashsalt": "coldturn",
    "svg.fonttype": "path", "axes.unicode_minus": True, "figure.facecolor": "white",
}  # fmt: skip
_Parameters = ParamSpec("_Parameters")


class EmptyChartError(ColdturnError, ValueError):
    """Nothing to draw."""

    slug = "empty-chart"

    def __init__(self, what: str, instead: str) -> None:
        super().__init__(f"nothing to draw: {what}; {instead}")


@contextmanager
def styled() -> Iterator[None]:
    """Draw inside: whatever the user's own settings of matplotlib are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        yield


def chart(function: Callable[_Parameters, Figure]) -> Callable[_Parameters, Figure]:
    """A function whose figure has our style."""

    @wraps(function)
    def drawn(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> Figure:
        with styled():
            return function(*args, **kwargs)

    return drawn


def titled(figure: Figure, title: str) -> None:
    """The question that the picture answers, above it."""
    figure.suptitle(title, fontsize=14, fontweight="bold", color=INK, x=0.01, ha="left")


def legend(figure: Figure, handles: list[object], note: str, *, columns: int = 5) -> None:
    """The legend below the picture, with a sentence on top."""
    figure.legend(
        handles=handles, loc="outside lower left", ncols=max(1, min(columns, len(handles))), fontsize=8,
        title=note, title_fontsize=8, alignment="left", frameon=False,
    )  # fmt: skip


def plain(axes: Axes) -> None:
    """No box, quiet ticks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=MUTED, labelsize=8)
    axes.set_axisbelow(True)


def headline(axes: Axes, text: str) -> None:
    """A panel's own title."""
    axes.set_title(text, loc="left", fontsize=10 if "\n" not in text else 8.5, color=INK)


def per_cent(axes: Axes) -> None:
    """A vertical axis from nothing to all."""
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
    axes.grid(axis="y", color=GRID, linewidth=0.8)


def thousands(value: float, _: object = None) -> str:
    """A figure with separators."""
    return f"{value:,.0f}"


def size(value: float, _: object = None) -> str:
    """Bytes as a person says them: 12 kB is 12,000."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value) >= factor:
            return f"{value / factor:,.3g} {unit}"
    return f"{value:,.0f} B"


def name_of(panel: pl.DataFrame, *, several_recordings: bool) -> str:
    """What a panel of one recording and policy is called."""
    recording, policy = panel["recording"][0], panel["policy"][0]
    if not policy:
        return str(recording or "live")
    return f"{policy}, {recording}" if several_recordings else str(policy)


def panels_of(frame: pl.DataFrame, weight: str, most: int) -> tuple[list[pl.DataFrame], int]:
    """A frame cut by recording and policy, the most `weight` first, and how many are left out."""
    panels = frame.partition_by("recording", "policy", maintain_order=True)
    panels.sort(key=lambda panel: -(panel[weight].fill_null(0).sum() or 0))
    return panels[:most], max(0, len(panels) - most)


def left_out(count: int, what: str = "conversations") -> str:
    """Says what is not shown."""
    return f" {count:,} more {what}, with less, are not shown." if count else ""

"""What each choice of a policy is worth: the policy, and the same with one choice made otherwise."""

from __future__ import annotations

from typing import Final

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from coldturn.analysis.charts.style import (
    BLUE,
    INK,
    MUTED,
    RED,
    RULE,
    WIDTH,
    EmptyChartError,
    chart,
    headline,
    legend,
    plain,
    thousands,
    titled,
)
from coldturn.analysis.rates import format_rate

_VARIANT: Final = r"^(.+?)\+(.+)$"
_ROW: Final = 0.34


def ablations(steps: pl.DataFrame) -> pl.DataFrame:
    """What the variants of a policy cost: a row per recording and variant named ``policy+field=value``.

    Args:
        steps: The frame of that name, with the policy itself among its policies.

    Returns:
        recording, base, variant, uncached_estimated, uncached_delta_estimated (more is worse), read and input
        tokens; the costliest variant first. Empty when there is no variant beside its policy.
    """
    totals = steps.group_by("recording", "policy").agg(
        pl.col("uncached_estimated", "read_estimated", "input_tokens_estimated").sum()
    )
    variants = totals.with_columns(
        pl.col("policy").str.extract(_VARIANT, 1).alias("base"),
        pl.col("policy").str.extract(_VARIANT, 2).alias("variant"),
    ).filter(pl.col("variant").is_not_null())
    base = totals.select(
        "recording",
        pl.col("policy").alias("base"),
        pl.col("uncached_estimated").alias("base_uncached_estimated"),
    )
    return (
        variants.join(base, on=["recording", "base"])
        .with_columns(
            (pl.col("uncached_estimated") - pl.col("base_uncached_estimated")).alias(
                "uncached_delta_estimated"
            )
        )
        .sort(
            "recording", "base", "uncached_delta_estimated", "variant", descending=[False, False, True, False]
        )
    )


@chart
def ablation_chart(steps: pl.DataFrame, *, title: str | None = None) -> Figure:
    """Draw how many more tokens stay uncached when one choice of a policy is made otherwise.

    Args:
        steps: The frame of that name, from the traces of an ablation.
        title: Replaces the title, which is the question that the picture answers.

    Raises:
        EmptyChartError: No policy has variants.
    """
    rows = ablations(steps)
    if rows.is_empty():
        raise EmptyChartError(
            "no policy has variants", "give the traces of `coldturn replay RECORDING --ablate --out DIR`"
        )
    panels = rows.partition_by("recording", "base", maintain_order=True)
    ratios = [_ROW * panel.height + 0.4 for panel in panels]
    figure = Figure(figsize=(WIDTH, sum(ratios) + 0.45 * len(panels) + 1.2), layout="constrained")
    titled(figure, title or "What is each choice of the policy worth?")
    shape = figure.subplots(len(panels), 1, squeeze=False, height_ratios=ratios)
    for axes, panel in zip(shape.flat, panels, strict=True):
        _draw(axes, panel)
        base = panel["base_uncached_estimated"][0]
        headline(axes, f"{panel['base'][0]} on {panel['recording'][0]}: {base:,} uncached tokens (estimated)")
    axes.set_xlabel(
        "uncached tokens, more or less than the policy itself (estimated)", fontsize=9, color=MUTED
    )
    legend(
        figure,
        [
            Patch(color=RED, label="more is sent anew: the choice pays"),
            Patch(color=BLUE, label="less is sent anew"),
        ],
        "One choice made otherwise per bar; they do not add up. Figures: difference, hit rate (estimated).",
    )
    return figure


def _draw(axes: Axes, panel: pl.DataFrame) -> None:
    deltas = panel["uncached_delta_estimated"].to_list()
    axes.barh(range(panel.height), deltas, height=0.62, color=[RED if one > 0 else BLUE for one in deltas])
    axes.axvline(0, color=INK, linewidth=0.8)
    for place, row in enumerate(panel.iter_rows(named=True)):
        rate = format_rate(row["read_estimated"], row["input_tokens_estimated"])
        delta = row["uncached_delta_estimated"]
        axes.annotate(
            f"{delta:+,} · {rate}", (delta, place), xytext=(4 if delta >= 0 else -4, 0),
            textcoords="offset points",
            va="center", ha="left" if delta >= 0 else "right", fontsize=8, color=MUTED, annotation_clip=False,
        )  # fmt: skip
    axes.set_yticks(range(panel.height), panel["variant"].to_list())
    axes.set_ylim(panel.height - 0.4, -0.6)
    axes.margins(x=0.2)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(FuncFormatter(thousands))
    axes.grid(axis="x", color=RULE, linewidth=0.6)
    plain(axes)
    axes.tick_params(axis="y", length=0, colors=INK)

"""`coldturn chart`: pictures of any recording or trace."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coldturn.replay.cli.common import say
from coldturn.replay.cli.exit_codes import ExitCode
from coldturn.replay.cli.options import Format, Strict
from coldturn.replay.cli.outputs import PICTURES, need_file

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl
    from matplotlib.figure import Figure

    from coldturn.analysis.frames.frames import Frames

_FEW_TURNS = 3


class Kind(StrEnum):
    """What a picture shows."""

    HIT_RATE = "hit-rate"
    PREFIX_MAP = "prefix-map"
    STEPS = "steps"
    BREAKS = "breaks"
    ZONES = "zones"
    CATALOGUE = "catalogue"
    CURVES = "curves"
    ABLATION = "ablation"


def chart(
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help="What to draw, see above.")],
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT", help="Recordings, traces or Parquet: files, folders, globs, or -."),
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="The picture: .png, .svg or .pdf.")
    ],
    title: Annotated[
        str | None, typer.Option("--title", help="Instead of the question that the picture answers.")
    ] = None,
    strict: Strict = False,
    format_: Format = None,
) -> None:
    """Draw what recorded requests, or the traces of replays and runs, tell about a prompt cache.

    hit-rate: ceiling, estimated and reported, per turn. prefix-map: a row per request. steps: read and sent
    anew. breaks: tokens by cause. zones: bytes over time. catalogue: tiers and versions of MCP servers.
    curves: by capacity and lifetime. ablation: what each choice of a policy is worth.

    Examples:
        coldturn chart hit-rate recordings/ -o hit-rate.png

        coldturn chart prefix-map coldturn-demo/*.jsonl -o map.svg
    """
    from coldturn.analysis.charts import need_picture_place, replace_picture

    need_file(out, "-o", inputs, endings=PICTURES)
    need_picture_place(out)
    if kind is Kind.CURVES:
        figure, code = _curves(inputs, title, format_)
    else:
        figure, code = _of_frames(kind, inputs, title, format_, strict=strict)
    replace_picture(figure, out)
    say(f"drawn into {out}")
    raise typer.Exit(code)


def _of_frames(
    kind: Kind, inputs: list[str], title: str | None, format_: Format, *, strict: bool
) -> tuple[Figure, ExitCode]:
    from coldturn.replay.cli.convert_traces import TraceOptions
    from coldturn.replay.cli.frames_of_inputs import frames_of_inputs

    with frames_of_inputs(inputs, TraceOptions(kind=format_, strict=strict)) as (frames, code):
        draw, frame = _drawing(kind, frames)
        return draw(frame, title=title), code


def _drawing(kind: Kind, frames: Frames) -> tuple[Callable[..., Figure], pl.DataFrame]:
    from coldturn.analysis import charts

    match kind:
        case Kind.HIT_RATE:
            return charts.hit_rate_chart, _turns_or_steps(frames)
        case Kind.BREAKS:
            return charts.breaks_chart, frames.breaks().collect()
        case Kind.CATALOGUE:
            return charts.catalogue_chart, frames.servers().collect()
        case _:
            of_steps = {
                Kind.PREFIX_MAP: charts.prefix_map_chart,
                Kind.STEPS: charts.steps_chart,
                Kind.ZONES: charts.zones_chart,
                Kind.ABLATION: charts.ablation_chart,
            }
            return of_steps[kind], frames.steps().collect()


def _turns_or_steps(frames: Frames) -> pl.DataFrame:
    """Turns; where most recordings have no more than a few, their requests tell more."""
    turns = frames.turns().collect()
    counts = turns.group_by("recording", "policy").len()["len"]
    few = (counts < _FEW_TURNS).sum()
    return frames.steps().collect() if 2 * few > len(counts) else turns


def _curves(inputs: list[str], title: str | None, format_: Format) -> tuple[Figure, ExitCode]:
    from coldturn.analysis.charts import EmptyChartError
    from coldturn.analysis.curves.chart import curves_chart
    from coldturn.replay.cli.common import read_all, tell
    from coldturn.replay.cli.curves import Taking

    taking = Taking()
    code = read_all(taking, inputs, format_, taking.numbers)
    tell(taking.errors)
    found = taking.found()
    if not any(one.capacity.bounds for one in found.values()):
        raise EmptyChartError("no request repeats an earlier prefix", "give a recording of a conversation")
    return curves_chart(found, title=title), code

"""Charts draw what frames say, look the same everywhere, and are honest about what is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.testing.compare import compare_images
from matplotlib.text import Annotation

from coldturn.analysis import charts
from coldturn.analysis.charts.style import ZONE_COLOURS
from coldturn.analysis.frames import columns
from coldturn.analysis.frames.frames import Frames
from coldturn.traces.otlp import SpanFile
from coldturn.traces.span_reader import read_spans
from coldturn.traces.spans import SpanObserver
from fake_run import FakeClock, tell

IMAGES = Path(__file__).parent / "images"
TOLERANCE = 6.0
"""Root mean square, of 255: other versions of the font renderer stay below, a moved bar does not."""

Draw = Callable[[pl.DataFrame], Figure]


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Frames:
    """Three policies on one recording, one a variant of another."""
    folder = tmp_path_factory.mktemp("traces")
    spans = []
    for policy in ("naive", "stable", "stable+clock=system"):
        clock = FakeClock()
        path = folder / f"{policy}.jsonl"
        with SpanObserver(SpanFile(path), clock=clock, recording="demo", policy=policy) as observer:
            tell(observer, clock)
        spans += list(read_spans(path))
    return Frames.of_spans(spans)


def frame_of(frames: Frames, name: str) -> pl.DataFrame:
    frame = getattr(frames, name)().collect()
    assert isinstance(frame, pl.DataFrame)
    if name != "steps":
        return frame
    # the three Runs are the same: make the variant dearer, and the first policy's last request unrecorded
    dear = pl.when(pl.col("policy") == "stable+clock=system").then(500).otherwise(0)
    return frame.with_columns(pl.col("uncached_estimated") + dear)


CHARTS: dict[str, tuple[str, Draw]] = {
    "hit-rate": ("turns", charts.hit_rate_chart),
    "hit-rate-requests": ("steps", charts.hit_rate_chart),
    "prefix-map": ("steps", charts.prefix_map_chart),
    "steps": ("steps", charts.steps_chart),
    "breaks": ("breaks", charts.breaks_chart),
    "zones": ("steps", charts.zones_chart),
    "catalogue": ("servers", charts.catalogue_chart),
    "ablation": ("steps", charts.ablation_chart),
}


@pytest.mark.parametrize("name", list(CHARTS))
def test_pictures_look_as_they_did(frames: Frames, tmp_path: Path, name: str) -> None:
    frame, draw = CHARTS[name]
    with mpl.rc_context({"font.family": "monospace", "axes.facecolor": "pink"}):  # a user's own settings
        figure = draw(frame_of(frames, frame))
        figure.set_dpi(50)
        drawn = tmp_path / f"{name}.png"
        charts.save(figure, drawn, dpi=50)
    problem = compare_images(str(IMAGES / f"{name}.png"), str(drawn), TOLERANCE)
    assert problem is None, f"{problem}; look at it, then: python tests/analysis/test_charts.py"


@pytest.mark.parametrize("name", list(CHARTS))
def test_every_picture_asks_a_question_and_explains_its_marks(frames: Frames, name: str) -> None:
    frame, draw = CHARTS[name]
    figure = draw(frame_of(frames, frame))
    assert figure.get_suptitle().endswith("?")
    assert figure.axes[0].get_title(loc="left")
    (legend,) = figure.legends
    assert legend.get_texts()
    assert any(axes.get_xlabel() for axes in figure.axes)


def test_a_recording_that_was_not_replayed_goes_by_its_name(frames: Frames) -> None:
    steps = frame_of(frames, "steps").filter(pl.col("policy") == "naive")
    recorded = steps.with_columns(pl.lit("").alias("policy"), pl.lit("today").alias("recording"))
    assert charts.steps_chart(recorded).axes[0].get_title(loc="left").startswith("today: ")
    both = pl.concat([recorded, recorded.with_columns(pl.lit("later").alias("recording"))])
    titles = {axes.get_title(loc="left").partition(":")[0] for axes in charts.steps_chart(both).axes}
    assert titles >= {"today", "later"}


def test_three_columns_are_told_apart_and_what_was_not_reported_is_said(frames: Frames) -> None:
    turns = frame_of(frames, "turns").filter(pl.col("policy") == "naive")
    figure = charts.hit_rate_chart(turns)
    ceiling, estimated, points = (values(line) for line in figure.axes[0].lines)
    assert estimated == turns["hit_rate_estimated"].to_list()
    assert points[0] == 4_096 / 11_000
    assert points[1:] == [None, None], "an unknown rate has no point"
    assert all(high >= low for high, low in zip(ceiling, estimated, strict=True))
    assert figure.axes[0].get_title(loc="left") == "naive: 55.7 % estimated, 37.2 % reported in 1 of 3 turns"
    nothing = turns.with_columns(pl.lit(None, pl.Float64).alias("hit_rate_reported"))
    figure = charts.hit_rate_chart(nothing)
    assert figure.axes[0].get_title(loc="left").endswith("none reported")
    assert "reported: nothing was" in [text.get_text() for text in figure.legends[0].get_texts()]


def values(line: Line2D) -> list[Any]:
    """Heights of a line's points."""
    return list(np.asarray(line.get_ydata(), dtype=object))


def areas(figure: Figure) -> dict[tuple[str, bool], float]:
    """Bytes drawn, by zone and whether they are solid."""
    found: dict[tuple[str, bool], float] = {}
    by_colour = {colour.upper(): zone for zone, colour in ZONE_COLOURS.items()}
    for shape in figure.axes[0].collections:
        hatched = bool(shape.get_hatch())
        colours: Any = shape.get_edgecolor() if hatched else shape.get_facecolor()
        zone = by_colour.get(to_hex(colours[0]).upper()) if len(colours) else None
        if zone is None or not shape.get_paths():
            continue
        corners = [(float(x), float(y)) for x, y in np.asarray(shape.get_paths()[0].vertices)]
        following = [*corners[1:], corners[0]]
        size = abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(corners, following, strict=True)))
        found[zone, not hatched] = found.get((zone, not hatched), 0) + size / 2
    return found


def test_the_prefix_map_draws_every_byte_once_solid_or_hatched(frames: Frames) -> None:
    steps = frame_of(frames, "steps").filter(pl.col("policy") == "naive")
    drawn = areas(charts.prefix_map_chart(steps))
    for zone in ("tools", "system", "history"):
        total = drawn.get((zone, True), 0) + drawn.get((zone, False), 0)
        assert total == pytest.approx(steps[f"{zone}_bytes"].sum())
    solid = sum(size for (_, whole), size in drawn.items() if whole)
    assert solid == pytest.approx(steps["common_bytes"].fill_null(0).sum())
    assert drawn["tools", False] == steps["tools_bytes"][0], "the first request repeats nothing"


def test_without_offsets_the_map_says_that_it_estimates(frames: Frames) -> None:
    steps = frame_of(frames, "steps").with_columns(pl.lit(None, pl.Int64).alias("common_bytes"))
    note = charts.prefix_map_chart(steps).legends[0].get_title().get_text()
    assert "requests the solid part is estimated" in note


def test_five_thousand_requests_stay_few_shapes(frames: Frames, tmp_path: Path) -> None:
    steps = frame_of(frames, "steps").filter(pl.col("policy") == "naive")
    many = pl.concat([steps] * 1_000)
    assert many.height == 5_000
    for draw in (charts.prefix_map_chart, charts.zones_chart, charts.hit_rate_chart, charts.steps_chart):
        figure = draw(many)
        assert sum(len(axes.get_children()) for axes in figure.axes) < 60
        assert max(figure.get_size_inches()) <= 14
    charts.save(charts.prefix_map_chart(many), tmp_path / "many.png")


def test_a_bar_is_as_long_as_the_tokens_its_cause_lost(frames: Frames) -> None:
    breaks = frame_of(frames, "breaks").filter(pl.col("policy") == "naive")
    axes = charts.breaks_chart(breaks).axes[0]
    bars = {
        round(bar.get_y() + bar.get_height() / 2): bar.get_width()
        for bar in axes.patches
        if isinstance(bar, Rectangle)
    }
    named = dict(zip([label.get_text() for label in axes.get_yticklabels()], bars.values(), strict=True))
    lost = dict(breaks.select("cause", pl.col("lost_tokens_estimated").fill_null(0)).rows())
    assert named == lost
    both = pl.concat([breaks, breaks.with_columns(pl.lit("planned").alias("verdict"))])
    axes = charts.breaks_chart(both.filter(pl.col("cause") == "clock_in_prefix")).axes[0]
    one, other = (bar for bar in axes.patches if isinstance(bar, Rectangle))
    assert (one.get_x(), other.get_x()) == (0, one.get_width()), "verdicts of a cause stand on one another"
    many = pl.concat([breaks.with_columns(pl.lit(f"cause_{n}").alias("cause")) for n in range(40)])
    rows = [label.get_text() for label in charts.breaks_chart(many).axes[0].get_yticklabels()]
    assert len(rows) == 14
    assert rows[-1] == "27 other causes"


def test_a_panel_that_lost_nothing_leaves_the_scale_of_the_others_alone(frames: Frames) -> None:
    breaks = frame_of(frames, "breaks")
    tokens = breaks.with_columns(pl.lit(5_000).alias("lost_tokens_estimated"))
    nothing = breaks.with_columns(
        pl.lit(0).alias("lost_tokens_estimated"), pl.lit("mended").alias("recording")
    )
    drawn = charts.breaks_chart(pl.concat([tokens, nothing], how="vertical_relaxed"))
    bars = [bar for axes in drawn.axes for bar in axes.patches if isinstance(bar, Rectangle)]
    longest = max(bar.get_x() + bar.get_width() for bar in bars)
    assert longest >= 5_000
    assert {axes.get_xlim()[1] > longest for axes in drawn.axes} == {True}


def test_zones_pile_up_to_the_prompt_and_name_what_was_not_recorded(frames: Frames) -> None:
    steps = frame_of(frames, "steps").filter(pl.col("policy") == "naive")
    top = charts.zones_chart(steps).axes[0].dataLim.ymax
    assert top == steps["content_bytes"].max()
    partial = steps.with_columns(pl.lit(None, pl.Int64).alias("tools_bytes"))
    assert charts.zones_chart(partial).axes[0].get_title(loc="left").endswith("not recorded: tools")


def test_the_catalogue_marks_new_versions_where_they_come(frames: Frames) -> None:
    servers = frame_of(frames, "servers").filter(pl.col("policy") == "naive")
    changed = servers.with_columns(
        pl.when(pl.col("turn") == 2).then(3).otherwise("catalog_version").alias("catalog_version"),
        pl.when(pl.col("turn") == 1).then(pl.lit("deferred")).otherwise("tier").alias("tier"),
    )
    other = servers.with_columns(pl.lit("git").alias("server"), pl.lit(7, pl.Int64).alias("catalog_version"))
    both = pl.concat([changed, other]).sort("turn", "server", maintain_order=True)
    axes = charts.catalogue_chart(both).axes[0]
    marks = [one for one in axes.texts if isinstance(one, Annotation) and one.get_text().startswith("v")]
    assert [(mark.get_text(), mark.xy[0]) for mark in marks] == [("v3", 1.5)]
    bars = [(bar.get_x(), bar.get_width()) for bar in axes.patches if isinstance(bar, Rectangle)]
    assert bars == [(-0.5, 1), (0.5, 1), (1.5, 1), (-0.5, 3)], "one bar where nothing changes"


def test_ablations_compare_a_variant_with_its_own_policy(frames: Frames) -> None:
    rows = charts.ablations(frame_of(frames, "steps"))
    assert rows.select("recording", "base", "variant", "uncached_delta_estimated").rows() == [
        ("demo", "stable", "clock=system", 2_500)
    ]
    (bar,) = [
        one
        for one in charts.ablation_chart(frame_of(frames, "steps")).axes[0].patches
        if isinstance(one, Rectangle)
    ]
    assert bar.get_width() == 2_500


@pytest.mark.parametrize("name", list(CHARTS))
def test_nothing_to_draw_is_one_sentence_with_what_to_try(name: str) -> None:
    frame, draw = CHARTS[name]
    empty = pl.DataFrame(schema=columns.schema(columns.FRAMES[frame]))
    with pytest.raises(charts.EmptyChartError, match=r"^nothing to draw: .+; .+") as caught:
        draw(empty)
    assert caught.value.slug == "empty-chart"


def test_a_picture_that_cannot_be_written_says_so(frames: Frames, tmp_path: Path) -> None:
    figure = charts.zones_chart(frame_of(frames, "steps"))
    for path in (tmp_path / "no" / "x.png", tmp_path / "x.xyz"):
        with pytest.raises(charts.ChartFileError, match="cannot be written"):
            charts.save(figure, path)


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_same_figures_give_the_same_file(frames: Frames, tmp_path: Path, ending: str) -> None:
    for name in ("a", "b"):
        charts.save(charts.hit_rate_chart(frame_of(frames, "turns")), tmp_path / f"{name}.{ending}")
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


def main() -> None:
    """Draw the pictures that the test compares with."""
    import sys
    import tempfile

    class Factory:
        @staticmethod
        def mktemp(_: str) -> Path:
            return Path(tempfile.mkdtemp())

    made = frames.__wrapped__(Factory())  # type: ignore[attr-defined] # the fixture's function
    IMAGES.mkdir(exist_ok=True)
    for name, (frame, draw) in CHARTS.items():
        charts.save(draw(frame_of(made, frame)), IMAGES / f"{name}.png", dpi=50)
        sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    main()


@pytest.mark.parametrize("count", [5, 400])
def test_steps_without_an_estimated_read_are_grey_and_counted(frames: Frames, count: int) -> None:
    some = frame_of(frames, "steps").filter(pl.col("policy") == "naive")
    many = pl.concat([some] * (count // some.height + 1)).head(count).with_columns(
        pl.when(pl.int_range(pl.len()) == 1).then(None).otherwise(pl.col(name)).alias(name)
        for name in ("read_estimated", "uncached_estimated")
    )  # fmt: skip
    figure = charts.steps_chart(many)
    assert ", 1 not estimated" in figure.axes[0].get_title(loc="left")
    assert "read unknown" in [text.get_text() for text in figure.legends[0].get_texts()]
    if count == 5:
        grey = [bar for bar in bars_of(figure.axes[0]) if to_hex(bar.get_facecolor()) == "#bbbbbb"]
        assert [bar.get_height() for bar in grey][1] == many["input_tokens_estimated"][1]
    none = many.with_columns(pl.lit(None, pl.Int64).alias("read_estimated"))
    with pytest.raises(charts.EmptyChartError, match="no step has an estimate"):
        charts.steps_chart(none)


def bars_of(axes: Axes) -> list[Rectangle]:
    return [patch for patch in axes.patches if isinstance(patch, Rectangle)]

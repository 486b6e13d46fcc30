"""Frames and the picture, from trace files of a Run told by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from coldturn.analysis.charts import READ_COLOUR, UNCACHED_COLOUR, steps_chart
from coldturn.analysis.frames import columns, frames
from coldturn.traces import names
from coldturn.traces.otlp import SpanFile
from coldturn.traces.packed import PackedSegmentsError
from coldturn.traces.span_reader import AttributeValue, SpanRow, read_spans
from coldturn.traces.spans import SpanObserver
from fake_run import MODEL, FakeClock, tell


@pytest.fixture
def spans(tmp_path: Path) -> list[SpanRow]:
    return run(tmp_path, "stable")


def run(folder: Path, policy: str, *, run_id: str = "run-1", recording: str = "demo") -> list[SpanRow]:
    clock = FakeClock()
    path = folder / f"{recording}-{policy}-{run_id}.jsonl"
    with SpanObserver(SpanFile(path), clock=clock, recording=recording, policy=policy) as observer:
        tell(observer, clock, run_id=run_id)
    return list(read_spans(path))


def test_frames_have_the_documented_columns_and_types(spans: list[SpanRow]) -> None:
    for frame, documented in (
        (frames.steps(spans), columns.STEPS),
        (frames.turns(spans), columns.TURNS),
        (frames.segments(spans), columns.SEGMENTS),
    ):
        assert dict(frame.schema) == columns.schema(documented)
        assert frame.height
    for documented in (columns.STEPS, columns.TURNS):
        figures = [
            name for name in documented if name.startswith(("input", "ceiling", "read", "unc", "hit", "wr"))
        ]
        assert all(name.endswith(("_estimated", "_reported")) for name in figures)
        assert len(figures) == len({*columns.REPORTED, *columns.RATES, *columns.ESTIMATED}) - 1 + (
            "written_estimated" in documented
        )


def test_no_spans_give_empty_frames_of_the_same_schema() -> None:
    assert dict(frames.steps([]).schema) == columns.schema(columns.STEPS)
    assert dict(frames.turns([]).schema) == columns.schema(columns.TURNS)
    assert dict(frames.segments([]).schema) == columns.schema(columns.SEGMENTS)


def test_steps_stand_in_the_order_of_sending_with_what_was_observed(spans: list[SpanRow]) -> None:
    frame = frames.steps(reversed(spans))
    assert frame.select("turn", "step").rows() == [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1)]
    first, second, broken, planned, harmless = frame.iter_rows(named=True)
    assert (first["provider"], first["model"], first["surface"]) == ("anthropic", MODEL, "messages")
    assert first["content_bytes"] == sum(
        first[f"{zone}_bytes"] for zone in ("tools", "system", "tail", "history", "transient")
    )
    assert first["stable"] is first["common_bytes"] is first["base_span_id"] is None
    assert (second["base_span_id"], second["base_age_ms"], second["stable"]) == (
        first["span_id"],
        3_000,
        True,
    )
    assert (broken["break_cause"], broken["break_zone"], broken["break_planned"]) == (
        "clock_in_prefix",
        "system",
        False,
    )
    assert broken["break_offset"] == broken["common_bytes"]
    assert broken["later_causes"] == ["history_rewritten"]
    assert (planned["break_cause"], planned["break_planned"], planned["elided_results"]) == (
        "planned_elision",
        True,
        1,
    )
    assert (harmless["break_cause"], harmless["harmless_cause"]) == (None, "transient_tail_removed")
    assert str(first["started"]) == "2023-11-14 22:13:20+00:00"


def test_reported_figures_stay_apart_and_unknown_stays_null(spans: list[SpanRow]) -> None:
    reported = frames.steps(spans).select(list(columns.REPORTED)).rows()
    assert reported == [(5_000, 0, 4_096, 10), (6_000, 4_096, 0, 12), *[(None,) * 4] * 3]
    by_turn = frames.turns(spans).select(list(columns.REPORTED)).rows()
    assert by_turn == [(11_000, 4_096, 4_096, 22), (None,) * 4, (None,) * 4]


def test_a_partly_reported_turn_has_no_reported_sum(spans: list[SpanRow]) -> None:
    second = next(s for s in spans if s.attributes.get(names.STEP_INDEX) == 1)
    untold = {n: v for n, v in second.attributes.items() if not n.startswith("gen_ai.usage")}
    changed = [replace(s, attributes=untold) if s is second else s for s in spans]
    assert frames.turns(changed)["input_tokens_reported"].to_list() == [None, None, None]


def test_turns_count_breaks_and_name_the_first_unplanned_one(spans: list[SpanRow]) -> None:
    frame = frames.turns(spans)
    told = ("turn", "agent", "steps", "tool_calls", "complete", "breaks_planned", "breaks_unplanned")
    of_break = ("break_step", "break_zone", "break_cause", "planned_cause")
    assert frame.select(*told, *of_break).rows() == [
        (0, "reviewer", 2, 2, True, 0, 0, None, None, None, None),
        (1, "reviewer", 1, 1, True, 0, 1, 0, "system", "clock_in_prefix", None),
        (2, "reviewer", 2, 0, True, 1, 0, None, None, None, "planned_elision"),
    ]


def test_turns_sum_estimates_weighted_by_tokens(spans: list[SpanRow]) -> None:
    steps = frames.steps(spans).filter(pl.col("turn") == 2)
    turn = frames.turns(spans).row(2, named=True)
    for name in ("input_tokens_estimated", "ceiling_estimated", "read_estimated", "uncached_estimated"):
        assert turn[name] == steps[name].sum()
    assert turn["hit_rate_estimated"] == turn["read_estimated"] / turn["input_tokens_estimated"]
    assert turn["hit_rate_estimated"] != steps["hit_rate_estimated"].mean()


def test_the_observers_own_counts_agree_with_the_frames(spans: list[SpanRow]) -> None:
    frame = frames.turns(spans)
    own = [s.attributes for s in spans if s.name.startswith("invoke_agent")]
    assert frame["breaks_planned"].to_list() == [a[names.TURN_BREAKS_PLANNED] for a in own]
    assert frame["breaks_unplanned"].to_list() == [a[names.TURN_BREAKS_UNPLANNED] for a in own]


def test_a_turn_that_never_ended_is_made_from_its_steps(spans: list[SpanRow]) -> None:
    killed = [
        s for s in spans if not (s.name.startswith("invoke_agent") and s.attributes[names.TURN_INDEX] == 2)
    ]
    frame = frames.turns(killed)
    assert frame.select("turn", "agent", "steps", "complete").rows() == [
        (0, "reviewer", 2, True),
        (1, "reviewer", 1, True),
        (2, None, 2, False),
    ]


def test_a_turn_that_lost_a_step_is_not_complete(spans: list[SpanRow]) -> None:
    sampled = [s for s in spans if s.attributes.get(names.STEP_INDEX) != 1]
    assert frames.turns(sampled)["complete"].to_list() == [False, True, False]


def test_segments_are_resolved_with_their_definitions(spans: list[SpanRow]) -> None:
    frame = frames.segments(spans)
    steps = frames.steps(spans)
    per_step = frame.group_by("span_id", maintain_order=True).agg(pl.len(), pl.col("bytes").sum())
    assert per_step["span_id"].to_list() == steps["span_id"].to_list()
    assert per_step["len"].to_list() == steps["segments"].to_list()
    assert per_step["bytes"].to_list() == steps["content_bytes"].to_list()
    by_zone = frame.group_by("span_id", "zone").agg(pl.col("bytes").sum())
    tools = by_zone.filter(pl.col("zone") == "tools")["bytes"].to_list()
    assert tools == steps["tools_bytes"].to_list()
    assert frame["key"].null_count() == 0
    assert frame.filter(pl.col("ordinal") == 0)["key"].unique().to_list() == ["tools[0] tool_0"]
    fresh = frame.filter(pl.col("defined")).group_by("step", "turn", maintain_order=True).len()
    assert fresh.filter(pl.col("turn") == 0)["len"].to_list()[0] == steps["segments"][0]
    assert frame.filter(pl.col("defined"))["hash"].is_unique().all()


def test_a_hash_without_definition_is_kept_with_unknown_key(spans: list[SpanRow]) -> None:
    without_first = [
        s for s in spans if (s.attributes.get(names.TURN_INDEX), s.attributes.get(names.STEP_INDEX)) != (0, 0)
    ]
    frame = frames.segments(without_first)
    assert frame.filter(pl.col("ordinal") == 0).select("key", "kind", "zone").unique().rows() == [
        (None, None, "tools")
    ]


def changed(spans: Sequence[SpanRow], name: str, value: AttributeValue) -> list[SpanRow]:
    first = next(s for s in spans if s.attributes.get(names.OPERATION) == "chat")
    return [replace(s, attributes={**s.attributes, name: value}) if s is first else s for s in spans]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (names.SEGMENT_COUNT, 3),
        (names.SEGMENT_HASHES, "0" * 17),
        (names.SEGMENT_BYTES, "1,2"),
        (names.SEGMENT_BYTES, "1,two"),
        (names.SEGMENT_ZONES, "tools:99999999999"),
        (names.SEGMENT_ZONES, "tools"),
        (names.SEGMENT_DEFINITIONS, "[[1]]"),
    ],
)
def test_packed_segments_check_themselves(spans: list[SpanRow], name: str, value: AttributeValue) -> None:
    with pytest.raises(PackedSegmentsError, match="its packed segments disagree"):
        frames.segments(changed(spans, name, value))


def test_spans_of_others_are_left_out(spans: list[SpanRow]) -> None:
    theirs = SpanRow("t", "s", "", "chat x", "CLIENT", 0, 1, {names.OPERATION: "chat"})
    assert frames.steps([theirs, *spans]).height == 5


def test_a_step_without_segments_has_no_estimate_rather_than_a_wrong_one(spans: list[SpanRow]) -> None:
    first = next(s for s in spans if s.attributes.get(names.OPERATION) == "chat")
    bare = {n: v for n, v in first.attributes.items() if "segment" not in n}
    frame = frames.steps([replace(s, attributes=bare) if s is first else s for s in spans])
    assert frame["read_estimated"].null_count() == 1
    assert frames.turns([replace(first, attributes=bare)])["input_tokens_estimated"].to_list() == [None]


def test_policies_never_share_a_cache_and_runs_of_one_policy_do(tmp_path: Path) -> None:
    spans = [*run(tmp_path, "naive"), *run(tmp_path, "stable"), *run(tmp_path, "stable", run_id="run-2")]
    firsts = frames.steps(spans).filter((pl.col("turn") == 0) & (pl.col("step") == 0))
    assert firsts.select("policy", "run_id", "read_estimated").rows() == [
        ("naive", "run-1", 0),
        ("stable", "run-1", 0),
        ("stable", "run-2", 1_792),
    ]


def test_the_chart_draws_what_the_frame_says(tmp_path: Path) -> None:
    steps = frames.steps([*run(tmp_path, "naive"), *run(tmp_path, "stable")])
    figure = steps_chart(steps)
    bars, marks, *others = figure.axes
    assert len(others) == 2
    drawn = {READ_COLOUR: 0.0, UNCACHED_COLOUR: 0.0}
    for patch in bars.patches:
        assert isinstance(patch, Rectangle)
        drawn[to_hex(patch.get_facecolor()).upper()] += patch.get_height()
    tops = [p.get_y() + p.get_height() for p in bars.patches if isinstance(p, Rectangle)][
        -steps.height // 2 :
    ]
    naive = steps.filter(pl.col("policy") == "naive")
    assert drawn == {
        READ_COLOUR: naive["read_estimated"].sum(),
        UNCACHED_COLOUR: naive["uncached_estimated"].sum(),
    }
    assert [label.get_text() for label in marks.get_yticklabels()] == ["clock_in_prefix", "planned_elision"]
    assert tops == naive["input_tokens_estimated"].to_list(), "the two parts stand on each other"
    faces = [line.get_markerfacecolor() for line in marks.lines if line.get_marker() in {"s", "o"}]
    assert faces == ["#222222", "white"], "a planned break is hollow"
    assert bars.get_title(loc="left").startswith(
        "naive: 5,285 of 11,941 estimated tokens uncached (55.7 % read), 1 unplanned and 1"
    )
    assert figure.get_suptitle().endswith("?"), "the title is the question that the picture answers"
    figure.savefig(tmp_path / "chart.png")
    assert (tmp_path / "chart.png").stat().st_size > 10_000


def test_panels_share_a_scale_unless_one_would_vanish(spans: list[SpanRow]) -> None:
    steps = frames.steps(spans)
    tokens = ("input_tokens_estimated", "read_estimated", "uncached_estimated")

    def tops(factor: int) -> set[float]:
        grown = steps.with_columns(pl.lit("naive").alias("policy"), *(pl.col(t) * factor for t in tokens))
        figure = steps_chart(pl.concat([steps, grown]))
        legend = figure.legends[0].get_title().get_text()
        assert ("OWN scale" in legend) is (factor > 6)
        return {axes.get_ylim()[1] for axes in figure.axes[::2]}

    assert len(tops(2)) == 1
    assert len(tops(50)) == 2


def test_a_chart_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        steps_chart(frames.steps([]))

"""The further frames and the worked queries, on a Run told by hand and on usage as it was reported."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from coldturn.analysis.estimates.plateau import plateaus_of_frame
from coldturn.analysis.frames import columns, queries
from coldturn.analysis.frames.frames import Frames
from coldturn.analysis.frames.further import FURTHER
from coldturn.analysis.frames.numbers import usage_span
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.tokens import ReportedTokens
from coldturn.traces import names
from coldturn.traces.otlp import SpanFile
from coldturn.traces.packed import PackedSegmentsError
from coldturn.traces.parquet import SEGMENTS, SPANS, row_of, table
from coldturn.traces.parquet_files import written_tables
from coldturn.traces.span_reader import SpanRow, read_spans
from coldturn.traces.spans import SpanObserver
from coldturn.traces.usage_record import UsageRecord
from fake_run import FakeClock, tell


@pytest.fixture
def spans(tmp_path: Path) -> list[SpanRow]:
    clock = FakeClock()
    path = tmp_path / "run.jsonl"
    with SpanObserver(SpanFile(path), clock=clock, recording="demo", policy="stable") as observer:
        tell(observer, clock)
    return list(read_spans(path))


@pytest.fixture
def frames(spans: list[SpanRow]) -> Frames:
    return Frames.of_spans(spans)


@pytest.mark.parametrize("name", list(columns.FRAMES))
def test_every_frame_has_the_documented_columns_also_without_rows(frames: Frames, name: str) -> None:
    wanted = columns.schema(columns.FRAMES[name])
    for one in (frames, Frames.of_spans([])):
        frame = getattr(one, name)().collect()
        assert dict(frame.schema) == wanted
    assert getattr(frames, name)().collect().height


def test_breaks_are_the_steps_that_broke_with_their_verdicts(frames: Frames) -> None:
    told = frames.breaks().collect().select("turn", "step", "cause", "verdict", "planned", "zone").rows()
    assert told == [
        (1, 0, "clock_in_prefix", "broken", False, "system"),
        (2, 0, "planned_elision", "planned", True, "history"),
        (2, 1, "transient_tail_removed", "broken_harmless", False, None),
    ]
    lost = frames.breaks().collect().select("lost_bytes", "lost_tokens_estimated").rows()
    assert lost == [(900, 225), (900, 225), (None, None)]


def test_tools_count_what_was_shown_and_what_was_called(frames: Frames) -> None:
    tools = frames.tools().collect()
    shown = tools.filter(pl.col("steps_shown") > 0)
    assert shown["tool"].to_list() == ["tool_0", "tool_1", "tool_2"]
    assert shown["steps_shown"].to_list() == [5, 5, 5]
    assert shown["definitions"].to_list() == [1, 1, 1]
    assert (shown["sent_bytes"] == 5 * shown["definition_bytes"]).all()
    assert shown["sent_bytes"].sum() == frames.steps().collect()["tools_bytes"].sum()
    (called,) = tools.filter(pl.col("calls") > 0).rows(named=True)
    assert (called["tool"], called["server"], called["calls"], called["errors"]) == (
        "files__read",
        "files",
        3,
        2,
    )
    assert called["result_bytes"] == 300
    assert queries.never_called(frames.tools()).collect()["tool"].to_list() == ["tool_0", "tool_1", "tool_2"]


def test_servers_and_catalogue_versions_tell_what_turns_and_refreshes_said(frames: Frames) -> None:
    servers = frames.servers().collect()
    assert servers.select("turn", "server", "tier", "state", "tool_count", "calls").rows() == [
        (0, "files", "direct", "ready", 3, 2),
        (1, "files", "direct", "ready", 3, 1),
        (2, "files", "direct", "ready", 3, 0),
    ]
    versions = frames.catalog_versions().collect()
    assert versions.select(
        "recording", "policy", "trigger", "version", "previous_version", "added"
    ).rows() == [
        ("demo", "stable", "connect", 1, 0, ["read"]),
        ("demo", "stable", "list_changed", 2, 1, ["read"]),
    ]


def changed(spans: Iterable[SpanRow]) -> list[SpanRow]:
    """The first step's segments disagree."""
    held = list(spans)
    at = next(i for i, span in enumerate(held) if names.SEGMENT_COUNT in span.attributes)
    held[at] = replace(held[at], attributes={**held[at].attributes, names.SEGMENT_COUNT: 1})
    return held


def test_frames_are_strict_or_come_with_errors(spans: list[SpanRow]) -> None:
    with pytest.raises(PackedSegmentsError):
        Frames.of_spans(changed(spans))
    errors: list[ColdturnError] = []
    frames = Frames.of_spans(changed(spans), errors=errors)
    assert [error.slug for error in errors] == ["packed-segments"]
    assert frames.steps().collect()["read_estimated"].null_count() == 1
    assert frames.segments().collect()["span_id"].n_unique() == 4


def test_a_hash_is_named_by_the_first_that_defines_it(spans: list[SpanRow], tmp_path: Path) -> None:
    chats = [span for span in spans if span.name.startswith("chat")]
    again = str(chats[0].attributes[names.SEGMENT_DEFINITIONS]).replace("tools[0] tool_0", "tools[9] other")
    second = replace(chats[1], attributes={**chats[1].attributes, names.SEGMENT_DEFINITIONS: again})
    with written_tables(tmp_path / "t", types=FURTHER) as tables:
        for span in (chats[0], second):
            tables.add(span)
    of_files = Frames.read(tmp_path / "t").segments().collect()
    of_spans = Frames.of_spans([chats[0], second]).segments().collect()
    for frame in (of_files, of_spans):
        assert frame.filter(pl.col("ordinal") == 0)["key"].to_list() == ["tools[0] tool_0"] * 2
        assert frame.filter(pl.col("ordinal") == 0)["defined"].to_list() == [True, True]


def usage(read: int | None, tokens: int, call: int, *, day: int = 0, model: str = "gpt-5.5") -> UsageRecord:
    return UsageRecord(
        "log", call, "talk", call, model=model, provider="openai", input_tokens=ReportedTokens(tokens),
        cached_tokens=None if read is None else ReportedTokens(read),
        started=1_760_000_000 + day * 86_400 + call,
    )  # fmt: skip


def frames_of(records: Iterable[UsageRecord]) -> Frames:
    rows = [row_of(span) | dict(further) for span, further in (usage_span(one, "log") for one in records)]
    return Frames(table(rows, {**SPANS, **FURTHER}).lazy(), table([], SEGMENTS).lazy())


def test_rates_weigh_tokens_and_unreported_reads_count_nowhere() -> None:
    records = [
        usage(9_000, 10_000, 0),
        usage(0, 1_000, 1),
        usage(None, 50_000, 2),
        usage(500, 1_000, 3, day=1),
    ]
    rows = queries.hit_rates(frames_of(records).steps()).collect().rows(named=True)
    assert [(row["requests"], row["requests_reported"]) for row in rows] == [(3, 2), (1, 1)]
    assert [row["hit_rate_reported"] for row in rows] == [9_000 / 11_000, 0.5]
    assert [row["hit_rate_estimated"] for row in rows] == [None, None], "nothing was estimated, so no rate"
    assert (rows[1]["day"] - rows[0]["day"]).days == 1
    by_model = queries.hit_rates(frames_of(records).steps(), "model").collect()
    assert by_model["hit_rate_reported"].to_list() == [9_500 / 12_000]


def test_the_plateau_is_found_by_the_shared_thresholds() -> None:
    flat = [usage(1_536, 8_000 + 500 * call, call) for call in range(4)]
    grows = [usage(7_000 + 500 * call, 8_000 + 500 * call, call + 10) for call in range(4)]
    twice = [usage(2_048, 9_000, call + 20) for call in range(2)]
    large = [usage(9_000, 10_000, call + 30) for call in range(3)]
    steps = frames_of([*flat, *grows, *twice, *large]).steps()
    (row,) = queries.plateaus(steps).collect().rows(named=True)
    assert (row["read_tokens_reported"], row["requests"], row["of_requests"]) == (1_536, 4, 13)
    assert (row["shortest_input_reported"], row["longest_input_reported"]) == (8_000, 9_500)
    (theirs,) = plateaus_of_frame(
        steps.collect(), input_tokens="input_tokens_reported", read="read_tokens_reported",
        conversation="run_id", model="model",
    )  # fmt: skip
    assert (theirs.read, theirs.calls, theirs.inputs) == (1_536, 4, (8_000, 9_500))


def test_costs_put_the_dearest_cause_first(frames: Frames) -> None:
    rows = queries.costs(frames.breaks()).collect()
    assert rows.select("cause", "breaks", "unplanned", "lost_tokens_estimated", "mostly_in").rows() == [
        ("clock_in_prefix", 1, 1, 225, "system"),
        ("planned_elision", 1, 0, 225, "history"),
        ("transient_tail_removed", 1, 0, 0, None),
    ]


def test_zone_bytes_give_a_turns_largest_request(frames: Frames) -> None:
    rows = queries.zone_bytes(frames.steps()).collect()
    steps = frames.steps().collect()
    assert rows["requests"].to_list() == [2, 1, 2]
    assert rows["history_bytes"].to_list() == [
        steps.filter(pl.col("turn") == turn)["history_bytes"].max() for turn in range(3)
    ]


def test_the_pages_hit_rate_is_unknown_without_rules(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/frames.md").read_text(encoding="utf-8")
    snippet = page.partition("<!-- file: hit_rate.py -->\n```python\n")[2].partition("```")[0]
    monkeypatch.setattr(Frames, "read", lambda _: frames_of([usage(500, 1_000, 0)]))
    exec(compile(snippet, "hit_rate.py", "exec"), {})  # noqa: S102 - the page's own example
    row = [cell.strip() for cell in capsys.readouterr().out.splitlines()[-2].split("┆")]
    assert row[3:] == ["1", "null", "1        │"]

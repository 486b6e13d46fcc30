"""Traces, recordings and Parquet into one another, through the command line."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from cli_runs import Run, runner
from coldturn.analysis.frames.frames import Frames
from coldturn.reference.prefix.model import Fidelity
from coldturn.traces import names
from coldturn.traces.otlp import SpanFile
from coldturn.traces.parquet_files import SEGMENTS_FILE, SPANS_FILE, read_table_spans
from coldturn.traces.span_reader import SpanRow, read_spans
from coldturn.traces.spans import SpanObserver
from fake_run import FakeClock, tell

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "requests.jsonl"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    clock = FakeClock()
    path = tmp_path / "traces" / "run.jsonl"
    with SpanObserver(SpanFile(path), clock=clock, recording="demo", policy="stable") as observer:
        tell(observer, clock)
    return path


def message(texts: list[str], *, system: str = "Be brief.", tools: list[str] | None = None) -> dict[str, Any]:
    roles = ("user", "assistant")
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 10,
        "system": system,
        "tools": [{"name": name, "input_schema": {"type": "object"}} for name in tools or ["look"]],
        "messages": [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)],
    }


def call(text: str, tool: str | None = None, *, read: int | None = None) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": text}]
    if tool:
        content.append({"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}})
    usage: dict[str, int] = {"input_tokens": 100, "output_tokens": 5}
    if read is not None:
        usage |= {"cache_read_input_tokens": read, "cache_creation_input_tokens": 0}
    return {"id": f"msg_{text}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
            "content": content, "stop_reason": "end_turn", "usage": usage}  # fmt: skip


def write(
    path: Path, pairs: list[tuple[dict[str, Any], dict[str, Any]]], start: float | None = 1.7e9
) -> Path:
    lines = [
        json.dumps({
            "url": "https://api.anthropic.com/v1/messages", "request": request, "response": answer,
            "started": None if start is None else start + 10 * number,
        })
        for number, (request, answer) in enumerate(pairs)
    ]  # fmt: skip
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Two turns: a tool call in the first; the system text changes with the second."""
    first = message(["Look."])
    second = message(["Look."])
    second["messages"] += [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "seen"}]},
    ]
    third = json.loads(json.dumps(second)) | {"system": "Be very brief."}
    third["messages"] += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "And now?"}]
    pairs = [
        (first, call("one", "look", read=0)),
        (second, call("two", read=80)),
        (third, call("three", read=0)),
    ]
    return write(tmp_path / "talk.jsonl", pairs)


def test_a_trace_goes_into_parquet_and_back_and_is_equal(run: Run, trace: Path, tmp_path: Path) -> None:
    out, back = tmp_path / "tables", tmp_path / "back.jsonl"
    assert run("convert", str(trace), "-o", str(out), "--to", "parquet").code == 0
    assert list(read_table_spans(out / SPANS_FILE)) == list(read_spans(trace))
    assert run("convert", str(out), "-o", str(back), "--to", "spans").code == 0
    assert list(read_spans(back)) == list(read_spans(trace))
    assert run("convert", str(out / SPANS_FILE), "-o", str(back), "--to", "spans", "--overwrite").code == 0
    assert list(read_spans(back)) == list(read_spans(trace))
    assert {path.name for path in out.iterdir()} == {SPANS_FILE, SEGMENTS_FILE}


def test_frames_of_parquet_are_those_of_the_spans(run: Run, trace: Path, tmp_path: Path) -> None:
    run("convert", str(trace), "-o", str(tmp_path / "t"), "--to", "parquet")
    of_files, of_spans = Frames.read(tmp_path / "t"), Frames.of_spans(read_spans(trace))
    for name in ("turns", "steps", "segments", "tools", "servers", "catalog_versions", "breaks"):
        ours, theirs = (getattr(frames, name)().collect() for frames in (of_files, of_spans))
        assert ours.drop("source", strict=False).equals(theirs.drop("source", strict=False)), name


@pytest.mark.parametrize("by", ["day", "model"])
def test_partitions_hold_the_same_and_are_read_as_one(run: Run, trace: Path, tmp_path: Path, by: str) -> None:
    out = tmp_path / "t"
    assert run("convert", str(trace), "-o", str(out), "--to", "parquet", "--partition", by).code == 0
    folders = {path.name for path in (out / SPANS_FILE).iterdir()}
    assert folders == ({"day=2023-11-14"} if by == "day" else {"model=claude-sonnet-5", "model=none"})
    spans = sorted(read_table_spans(out / SPANS_FILE), key=lambda span: span.span_id)
    assert spans == sorted(read_spans(trace), key=lambda span: span.span_id)
    assert Frames.read(out).segments().collect().height == Frames.of_spans(spans).segments().collect().height
    # again as one file: the folder of partitions goes
    assert run("convert", str(trace), "-o", str(out), "--to", "parquet", "--overwrite").code == 0
    assert (out / SPANS_FILE).is_file()


def test_a_recording_becomes_a_trace(run: Run, recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "talk-trace.jsonl"
    assert run("convert", str(recording), "-o", str(out), "--to", "spans").code == 0
    spans = list(read_spans(out))
    chats = [span for span in spans if span.name.startswith("chat")]
    explained = run("explain", str(recording), "--json").json
    (broken,) = [one for one in explained["lineages"][0]["breaks"] if one["verdict"] == "broken"]
    assert [span.attributes[names.REQUEST_INDEX] for span in chats] == [0, 1, 2]
    assert [span.attributes.get(names.BREAK_CAUSE) for span in chats] == [None, None, broken["cause"]]
    assert chats[2].attributes[names.BREAK_OFFSET] == broken["offset"]
    assert chats[2].attributes[names.BREAK_LOST_BYTES] == broken["lost_bytes"]
    assert [span.attributes[names.TURN_INDEX] for span in chats] == [0, 0, 1]
    assert [span.attributes[names.STEP_INDEX] for span in chats] == [0, 1, 0]
    assert [span.attributes[names.CACHE_READ_TOKENS] for span in chats] == [0, 80, 0]
    assert chats[1].attributes[names.BASE_SPAN_ID] == chats[0].span_id == chats[1].links[0].span_id
    assert chats[1].attributes[names.BASE_AGE_MS] == 10_000
    tool_bytes = len('{"name":"look","input_schema":{"type":"object"}}')
    assert chats[1].attributes[names.COMMON_BYTES] == tool_bytes + len("Be brief.") + len("Look.")
    assert not [name for span in spans for name in span.attributes if "estimated" in name]
    assert {span.attributes[names.FIDELITY] for span in chats} == {Fidelity.WIRE}
    (tool,) = [span for span in spans if span.name == "execute_tool look"]
    assert tool.parent_id == chats[0].parent_id
    assert (tool.end - tool.start) // 1_000_000_000 == 10
    assert tool.attributes[names.TOOL_BYTES] == len('{"type":"tool_result","content":"seen"}')
    turns = Frames.of_spans(spans).turns().collect()
    assert turns.select("steps", "tool_calls", "complete", "breaks_unplanned").rows() == [
        (2, 1, True, 0),
        (1, 0, True, 1),
    ]


def test_two_conversions_write_the_same_bytes(run: Run, recording: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        run("convert", str(recording), "-o", str(tmp_path / f"{name}.jsonl"), "--to", "spans")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_estimates_stand_in_the_table_under_names_that_say_so(
    run: Run, recording: Path, tmp_path: Path
) -> None:
    run("convert", str(recording), "-o", str(tmp_path / "t"), "--to", "parquet")
    rows = run("estimate", str(recording), "--json").json["requests"]
    steps = Frames.read(tmp_path / "t").steps().collect()
    for ours, theirs in (
        ("rules", "rules"), ("read_estimated", "read_estimated"), ("ceiling_estimated", "ceiling_estimated"),
        ("input_tokens_estimated", "input_tokens_estimated"), ("read_tokens_reported", "read_reported"),
    ):  # fmt: skip
        assert steps[ours].to_list() == [row[theirs] for row in rows], ours
    schema = pl.read_parquet_schema(tmp_path / "t" / SPANS_FILE)
    computed = {name for name in schema if "ceiling" in name or name.endswith("_estimated")}
    assert all(name.endswith("estimated") for name in computed)
    assert len(computed) == 6


def test_without_times_nothing_is_dated(run: Run, recording: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) | {"started": None} for line in recording.read_text().splitlines()]
    recording.write_text("\n".join(map(json.dumps, lines)))
    run("convert", str(recording), "-o", str(tmp_path / "t"), "--to", "parquet")
    frames = Frames.read(tmp_path / "t")
    assert frames.steps().collect()["started"].null_count() == 3
    assert frames.turns().collect()["started"].null_count() == 2
    assert frames.steps().collect()["request"].to_list() == [0, 1, 2]


YEAR_ONE = -62_135_596_800


@pytest.mark.parametrize("by", [None, "day"])
def test_times_that_no_trace_can_hold_are_unknown_and_counted(
    run: Run, tmp_path: Path, by: str | None
) -> None:
    source = tmp_path / "old.jsonl"
    entry = json.loads(EXAMPLE.read_text().splitlines()[0])
    body = entry.get("request", entry)
    lines = [{"url": "https://api.openai.com/v1/chat/completions", "request": body, "started": started}
             for started in (YEAR_ONE, 20_000_000_000, 1_700_000_000)]  # fmt: skip
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    cut = () if by is None else ("--partition", by)
    done = run("convert", str(source), "-o", str(tmp_path / "t"), "--to", "parquet", *cut)
    assert done.code == 0
    assert "a time before 1970 or after 2262, which counts as unknown" in done.err
    started = Frames.read(tmp_path / "t").steps().collect()["started"]
    assert sorted(one is None for one in started) == [False, True, True]
    assert run("chart", "hit-rate", str(source), "-o", str(tmp_path / "x.png")).code == 0
    assert run("convert", str(source), "-o", str(tmp_path / "s.jsonl"), "--to", "spans").code == 0
    assert str(YEAR_ONE) not in (tmp_path / "s.jsonl").read_text()


def test_names_that_are_no_utf_8_are_shown_with_replacement_signs(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name in (b"bad\xff.jsonl", b"bad\xfe.jsonl"):
        try:
            (folder / os.fsdecode(name)).write_bytes(EXAMPLE.read_bytes())
        except OSError:
            pytest.skip("the file system takes UTF-8 alone")
    named = str(folder / os.fsdecode(b"bad\xff.jsonl"))
    assert run("convert", str(folder), "-o", str(tmp_path / "t"), "--to", "parquet").code == 0
    recordings = Frames.read(tmp_path / "t").steps().collect()["recording"].unique().sort().to_list()
    assert recordings == ["bad\ufffd", "in/bad\ufffd"]
    assert run("convert", named, "-o", str(tmp_path / "s.jsonl"), "--to", "spans").code == 0
    assert run("chart", "steps", named, "-o", str(tmp_path / "x.png")).code == 0
    done = run("convert", str(EXAMPLE), "-o", os.fsdecode(b"t\xff"), "--to", "parquet")
    assert done.code == 2
    assert "its name is no UTF-8" in done.err


def test_several_inputs_keep_apart_and_share_no_name(run: Run, recording: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(recording, other / recording.name)
    done = run("convert", str(recording), str(other), "-o", str(tmp_path / "t"), "--to", "parquet")
    assert done.code == 0
    steps = Frames.read(tmp_path / "t").steps().collect()
    assert steps["recording"].unique().sort().to_list() == ["other/talk", "talk"]
    assert steps["span_id"].is_unique().all()


def test_prompt_text_stays_out(run: Run, recording: Path, tmp_path: Path) -> None:
    run("convert", str(recording), "-o", str(tmp_path / "s.jsonl"), "--to", "spans")
    said = (tmp_path / "s.jsonl").read_text()
    assert "seen" not in said
    assert "brief" not in said


def test_usage_without_prompts_becomes_spans_without_segments(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "usage.jsonl"
    rows = [
        {"model": "gpt-5.5", "prompt_tokens": 9_000, "completion_tokens": 5, "cached_tokens": 1_536, "id": n}
        for n in range(4)
    ]
    table.write_text("\n".join(map(json.dumps, rows)))
    assert run("convert", str(table), "-o", str(tmp_path / "t"), "--to", "parquet").code == 0
    steps = Frames.read(tmp_path / "t").steps().collect()
    assert steps["read_tokens_reported"].to_list() == [1_536] * 4
    assert steps["read_estimated"].null_count() == 4
    assert steps["content_bytes"].null_count() == 4


def test_spans_of_others_without_prompts_are_kept_as_they_stand(tmp_path: Path) -> None:
    foreign = SpanRow(
        "t" * 32, "s" * 16, "", "chat x", "CLIENT", 1_700_000_000_000_000_000, 1_700_000_001_000_000_000,
        {"gen_ai.operation.name": "chat", "llm.token_count.prompt": 10, "coldturn.turn.index": "odd",
         "x": (1, "a")},
        error="", service="theirs",
    )  # fmt: skip
    frames = Frames.of_spans([foreign])
    steps = frames.steps().collect()
    assert steps.select("input_tokens_reported", "turn").rows() == [(10, 0)]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("-o", "x.parquet", "--to", "parquet"), "name a folder"),
        (("-o", ".", "--to", "spans"), "name it, such as"),
        (("-o", "x.jsonl", "--partition", "day"), "--partition cuts tables"),
        (("-o", "x.jsonl", "--strict"), "--strict, --format and --no-content are for"),
    ],
)
def test_arguments_that_do_not_fit_are_one_sentence(
    run: Run, recording: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.chdir(recording.parent)
    before = set(recording.parent.iterdir())
    done = run("convert", str(recording), *arguments)
    assert done.code == 2
    assert sentence in done.err
    assert set(recording.parent.iterdir()) == before


def test_what_stands_there_is_replaced_only_when_asked_and_only_when_it_is_ours(
    run: Run, recording: Path, tmp_path: Path
) -> None:
    out = tmp_path / "t"
    convert = ("convert", str(recording), "-o", str(out), "--to", "parquet")
    assert run(*convert).code == 0
    assert "recording-exists" in run(*convert).err
    assert run(*convert, "--overwrite").code == 0
    pl.DataFrame({"a": [1]}).write_parquet(out / SPANS_FILE)
    kept = (out / SPANS_FILE).read_bytes()
    done = run(*convert, "--overwrite")
    assert done.code == 2
    assert "is no table of coldturn" in done.err
    assert (out / SPANS_FILE).read_bytes() == kept
    done = run("convert", str(out / SPANS_FILE), "-o", str(tmp_path / "b.jsonl"), "--to", "spans")
    assert done.code == 2
    assert "foreign-parquet" in done.err
    assert {path.name for path in out.iterdir()} == {SPANS_FILE, SEGMENTS_FILE}


def test_nothing_is_written_when_nothing_can_be_read(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"a": 1}')
    for target, to in (("t", "parquet"), ("s.jsonl", "spans")):
        done = run("convert", str(tmp_path / "x.json"), "-o", str(tmp_path / target), "--to", to)
        assert done.code == 2
        assert "nothing was written" in done.err
        assert not [path for path in tmp_path.rglob("*") if path.suffix in {".parquet", ".part"}]
        assert [path.name for path in tmp_path.iterdir()] == ["x.json"], "not even a folder"


def test_a_full_disk_is_named_with_the_target_and_leaves_no_folder(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> bytes:
        raise OSError(errno.ENOSPC, "No space left on device")

    def unreadable(*_: object) -> None:
        raise pl.exceptions.ComputeError("file out of specification: invalid thrift")

    monkeypatch.setattr("coldturn.replay.cli.convert_traces.span_line", full)
    out = tmp_path / "new" / "s.jsonl"
    done = run("convert", str(EXAMPLE), "-o", str(out), "--to", "spans")
    assert done.code == 2
    assert f"{out} cannot be written (no space left on device)" in done.err
    monkeypatch.setattr("coldturn.traces.parquet_files.TraceTables.finish", unreadable)
    for free, reason in (
        (0, "no space left on device"),
        (10**9, "file out of specification: invalid thrift"),
    ):
        monkeypatch.setattr(
            "shutil.disk_usage", lambda _, free=free: SimpleNamespace(free=free, used=0, total=0)
        )
        done = run("convert", str(EXAMPLE), "-o", str(tmp_path / "a" / "b"), "--to", "parquet")
        assert done.code == 2
        assert f"cannot be written ({reason})" in done.err
    assert not list(tmp_path.iterdir())


def test_a_torn_line_and_segments_that_disagree_are_told_and_the_rest_is_there(
    run: Run, trace: Path, tmp_path: Path
) -> None:
    lines = trace.read_bytes().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if b"coldturn.segment.count" in line)
    lines[at] = lines[at].replace(
        b'"coldturn.segment.bytes","value":{"stringValue":"',
        b'"coldturn.segment.bytes","value":{"stringValue":"7,',
    )
    trace.write_bytes(b"".join([*lines, lines[0][:50]]))
    done = run("convert", str(trace), "-o", str(tmp_path / "t"), "--to", "parquet")
    assert done.code == 0
    assert done.err.count("packed-segments") == 1
    assert "1 line is torn" in done.err
    steps = Frames.read(tmp_path / "t").steps().collect()
    assert steps.height == 5
    assert steps["read_estimated"].null_count() == 1


def test_requests_beside_a_trace_are_not_counted_twice(run: Run, trace: Path, tmp_path: Path) -> None:
    (trace.parent / "run.requests.ndjson").write_text(EXAMPLE.read_text())
    done = run("convert", str(trace.parent), "-o", str(tmp_path / "t"), "--to", "parquet")
    assert "left out; name the file" in done.err
    assert Frames.read(tmp_path / "t").steps().collect()["recording"].unique().to_list() == ["demo"]


def test_a_killed_conversion_leaves_nothing_under_the_names_and_is_cleared_away(
    run: Run, trace: Path, tmp_path: Path
) -> None:
    program = """
import os, signal, sys
from pathlib import Path
from coldturn.traces.parquet_files import written_tables
from coldturn.traces.span_reader import read_spans
with written_tables(Path(sys.argv[2])) as tables:
    for span in read_spans(sys.argv[1]):
        tables.add(span)
    tables.finish()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    out = tmp_path / "t"
    done = subprocess.run([sys.executable, "-c", program, str(trace), str(out)], check=False)  # noqa: S603 # ours
    assert done.returncode == -9
    (left,) = out.iterdir()
    assert left.name.startswith(".")
    assert run("convert", str(trace), "-o", str(out), "--to", "parquet").code == 0
    assert {path.name for path in out.iterdir()} == {SPANS_FILE, SEGMENTS_FILE}


def test_memory_does_not_grow_with_the_trace(trace: Path, tmp_path: Path) -> None:
    """Ten times the spans, nearly 8,000, cost no more memory than one part of the file."""
    program = """
import resource, sys
from pathlib import Path
from dataclasses import replace
from coldturn.traces.parquet_files import written_tables
from coldturn.traces.span_reader import read_spans
spans = [span for span in read_spans(sys.argv[1])]
with written_tables(Path(sys.argv[2])) as tables:
    for copy in range(int(sys.argv[3])):
        for span in spans:
            tables.add(replace(span, span_id=f"{copy:08x}" + span.span_id[8:]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""
    peaks = []
    for count in (60, 600):
        command = [sys.executable, "-c", program, str(trace), str(tmp_path / str(count)), str(count)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 # ours
        peaks.append(int(done.stdout))
    assert peaks[1] - peaks[0] < 40, peaks


def test_parquet_somewhere_below_a_folder_does_not_hide_the_recordings_in_it(
    run: Run, trace: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    assert run("convert", str(trace), "-o", str(mine / "tables"), "--to", "parquet").code == 0
    (mine / "today.jsonl").write_text(EXAMPLE.read_text())
    done = run("convert", str(mine), "-o", str(tmp_path / "t"), "--to", "parquet")
    assert done.code == 0, done.err
    assert set(Frames.read(tmp_path / "t").steps().collect()["recording"]) == {"today"}

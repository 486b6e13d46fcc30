"""`coldturn replay` as a user types it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coldturn.replay.cli.app import main

McpTape = Callable[..., list[Any]]
WriteTape = Callable[..., Path]
TEMPORAL = "vcr-mcp/pydantic-ai__test_temporal__test_mcptoolset_in_temporal_workflow.yaml"
CALLS = [(1.0, "read_file", {"path": "a"}, "A" * 6_000), (100.0, "read_file", {"path": "b"}, "B")]


def _run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["replay", *arguments])
    code = left.value.code
    assert isinstance(code, int)
    return code


@pytest.fixture
def tape(write_tape: WriteTape, mcp_tape: McpTape) -> Path:
    return write_tape(mcp_tape(CALLS))


@pytest.mark.requirement("REP-1")
def test_the_public_cassette_as_json(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(str(corpus / TEMPORAL), "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "coldturn.replay/1"
    (recording,) = document["recordings"]
    assert recording["connections"] == [{"server": "DeepWiki", "sessions": 2, "calls": 1, "lists": 2}]
    assert len(recording["policies"][0]["steps"]) == 2
    assert document["errors"] == []


def test_a_line_per_step(tape: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(str(tape), "--set", "clock=system") == 0
    out = capsys.readouterr().out
    lines = [line for line in out.splitlines() if line.startswith("turn")]
    assert len(lines) == 4
    assert "bytes" in lines[1]
    assert "common" in lines[1]
    assert "break clock_in_prefix in system" in lines[2]
    assert "(longest-prefix-1024-128)" in lines[3]
    assert "  script: derived from the recording alone" in out
    assert "Files: sessions 1, calls 2, lists 1" in out
    assert "recorded MCP exchanges: 4 played, 0 not" in out


@pytest.mark.requirement("REP-6")
def test_the_comparison_leads_with_uncached_tokens(tape: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(str(tape), "--compare", "naive,stable", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    policies = document["recordings"][0]["policies"]
    assert [policy["policy"] for policy in policies] == ["naive", "stable"]
    assert _run(str(tape), "--compare", "naive,stable") == 0
    lines = capsys.readouterr().out.splitlines()
    head = next(number for number, line in enumerate(lines) if line.split() == ["naive", "stable"])
    assert lines[head + 2].startswith("uncached input tokens, estimated")
    uncached = [f"{policy['uncached_tokens_estimated']['longest-prefix-1024-128']:,}" for policy in policies]
    assert lines[head + 2].split()[-2:] == uncached
    table = "\n".join(lines[head:])
    rows = [
        "hit rate, estimated", "hit rate ceiling, estimated", "input tokens, estimated", "input bytes",
        "longest-prefix-1024-128", "requests", "extra steps", "breaks, unplanned", "breaks, planned",
        "requests whose system text changed", "first cause: clock_in_prefix",
    ]  # fmt: skip
    for row in rows:
        assert row in table


def test_traces_and_no_content(tape: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "traces"
    assert _run(str(tape), "--set", "clock=system", "--out", str(out), "--json", "--no-content") == 0
    policy = json.loads(capsys.readouterr().out)["recordings"][0]["policies"][0]
    assert Path(policy["trace"]).parent == out
    assert Path(policy["trace"]).stat().st_size > 1_000
    found = next(step["break"] for step in policy["steps"] if step["break"])
    assert (found["before"], found["was"], found["now"]) == (None, None, None)


def test_the_gap_that_parts_turns_is_an_option(tape: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(str(tape), "--json", "--idle", "1000") == 0
    assert json.loads(capsys.readouterr().out)["recordings"][0]["policies"][0]["turns"] == 1
    assert _run(str(tape), "--json") == 0
    assert json.loads(capsys.readouterr().out)["recordings"][0]["policies"][0]["turns"] == 2


def test_without_out_nothing_is_written(
    tape: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    assert _run(str(tape), "--json") == 0
    assert json.loads(capsys.readouterr().out)["recordings"][0]["policies"][0]["trace"] is None
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--policy", "fast"], "the names are stable"),
        (["--policy", "naive", "--compare", "stable"], "exclude each other"),
        (["--compare", ","], "names no policy"),
        (["--set", "clock"], "field=value"),
    ],
)
def test_wrong_usage_is_one_sentence(
    tape: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(str(tape), *arguments) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_the_good_ones_are_finished_before_the_exit_code_tells(
    tape: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torn = tmp_path / "torn.yaml"
    torn.write_text("interactions:\n- request: {method: GET\n")
    other = tmp_path / "other.json"
    other.write_text('{"model": "m", "messages": []}')
    assert _run(str(torn), str(tape), str(other), "--json") == 2
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert len(document["recordings"]) == 1
    assert [Path(error["source"]).name for error in document["errors"]] == ["torn.yaml", "other.json"]
    assert "Traceback" not in captured.err


def test_a_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(str(tmp_path / "missing.jsonl")) == 2
    assert "no such file" in capsys.readouterr().err


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("--help") == 0
    assert "coldturn replay session.jsonl" in capsys.readouterr().out


def test_a_folder_may_hold_other_kinds_of_files(
    tape: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.json").write_text('{"model": "m", "messages": []}')
    assert _run(str(tmp_path), "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert [len(document["recordings"]), len(document["errors"])] == [1, 1]
    tape.unlink()
    assert _run(str(tmp_path)) == 2  # nothing could be replayed


def test_recordings_of_the_same_name_get_traces_of_their_own(
    tape: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twin = tmp_path / "twin" / tape.name
    twin.parent.mkdir()
    twin.write_bytes(tape.read_bytes())
    assert _run(str(tape), str(twin), "--out", str(tmp_path / "out"), "--json") == 0
    recordings = json.loads(capsys.readouterr().out)["recordings"]
    traces = [Path(recording["policies"][0]["trace"]).name for recording in recordings]
    assert traces == ["tape.stable.jsonl", "tape-2.stable.jsonl"]


def test_a_trace_never_overwrites_a_recording(
    tape: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # the session file's recording stands where the trace would go
    recording = tape.rename(tmp_path / "x.stable.jsonl")
    content = recording.read_bytes()
    session = tmp_path / "x.session.toml"
    session.write_text(
        'cassette = "x.stable.jsonl"\n[spec]\n[[spec.connections]]\nid = "Files"\n[[turns]]\nuser = "go"\n'
    )
    assert _run(str(session), "--out", str(tmp_path)) == 2
    assert "exists already" in capsys.readouterr().err
    assert recording.read_bytes() == content


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        ({"serverInfo": 3}, 0, "could not be reached"),
        (
            {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": ""}},
            2,
            "tools/list",
        ),
    ],
)
def test_a_server_whose_recording_is_damaged_is_named(
    write_tape: WriteTape, answer: dict[str, Any], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def rpc(method: str, **params: object) -> dict[str, object]:
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}

    url = "http://stdio.s.invalid/mcp"
    call = rpc("tools/call", name="x", arguments={"deep": [[1]]})
    path = write_tape(
        [
            (0.0, url, rpc("initialize"), {"jsonrpc": "2.0", "id": 1, "result": answer}),
            (1.0, url, call, {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}),
        ]
    )
    assert _run(str(path)) == code
    captured = capsys.readouterr()
    assert said in captured.err
    assert "Traceback" not in captured.err

"""A place that cannot be written is refused before anything is read, replayed or sent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli_runs import Ran, Run, runner
from coldturn.replay.cli import demo
from coldturn.replay.manual.pages import find
from coldturn.replay.runs import runner as replays
from coldturn.traces import whole_file

RECORDING = Path(demo.__file__).parents[1] / "recordings" / "demo.jsonl"
THEIRS = b"somebody else's\n"
WRITERS = {
    "report": ("report", "garbage.json", "-o", "{}.html"),
    "chart": ("chart", "zones", "garbage.json", "-o", "{}.png"),
    "curves": ("curves", "garbage.json", "--out", "{}.png"),
    "notebook": ("notebook", "session", "garbage.json", "--export", "{}.html"),
    "spans": ("convert", "garbage.json", "--to", "spans", "-o", "{}.jsonl"),
    "cassette": ("convert", "garbage.json", "-o", "{}.yaml"),
    "scrub": ("scrub", "garbage.json", "-o", "{}.jsonl"),
    "session": ("session", "init", "garbage.json", "-o", "{}.session.toml"),
}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "garbage.json").write_text("{")
    return runner(capsys)


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def refused(printed: Ran) -> None:
    assert (printed.code, printed.out) == (2, "")
    assert len(printed.err.splitlines()) == 1
    assert "cannot be written" in printed.err
    assert "[unrecognised-input]" not in printed.err


@pytest.mark.parametrize("command", WRITERS.values(), ids=WRITERS)
def test_a_file_of_somebody_else_stays_and_nothing_is_read(
    run: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    pytest.importorskip("marimo", reason="the extra `notebooks` is not installed")
    arguments = [word.format("theirs") for word in command]
    place = tmp_path / arguments[-1]
    place.write_bytes(THEIRS)
    printed = run(*arguments)
    assert (printed.code, printed.out) == (2, "")
    assert len(printed.err.splitlines()) == 1
    assert place.name in printed.err
    assert "exist" in printed.err
    assert "garbage" not in printed.err
    assert place.read_bytes() == THEIRS
    assert files(tmp_path) == sorted(["garbage.json", place.name])


@pytest.mark.parametrize("name", ["report", "chart", "curves", "notebook", "spans"])
def test_a_folder_that_is_a_file_is_told_first(run: Run, tmp_path: Path, name: str) -> None:
    pytest.importorskip("marimo", reason="the extra `notebooks` is not installed")
    refused(run(*WRITERS[name][:-1], f"garbage.json/{WRITERS[name][-1].format('x')}"))
    assert files(tmp_path) == ["garbage.json"]


@pytest.mark.parametrize("name", ["report", "chart", "curves"])
def test_a_folder_that_may_not_be_written_to_is_told_first(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # the user of these tests may be allowed everything
    printed = run(*WRITERS[name][:-1], WRITERS[name][-1].format("x"))
    refused(printed)
    assert "may not be written to" in printed.err


@pytest.mark.parametrize("command", ["chart", "curves"])
def test_a_picture_needs_a_folder_that_is_there(run: Run, tmp_path: Path, command: str) -> None:
    printed = run(*WRITERS[command][:-1], "nowhere/x.png")
    assert (printed.code, printed.out) == (2, "")
    assert "there is no folder nowhere" in printed.err
    assert files(tmp_path) == ["garbage.json"]


@pytest.mark.parametrize("theirs", ["report.html", "demo.stable.jsonl", "demo.naive.requests.ndjson"])
def test_the_demo_replays_nothing_where_one_of_its_files_cannot_go(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, theirs: str
) -> None:
    monkeypatch.delattr(replays, "replay_policy")
    (tmp_path / theirs).write_bytes(THEIRS)
    printed = run("demo", "--out", ".")
    assert (printed.code, printed.out) == (2, "")
    assert f"{theirs} exists" in printed.err
    assert files(tmp_path) == sorted(["garbage.json", theirs])


def test_a_replay_looks_at_all_its_files_first(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(replays, "replay_policy")
    (tmp_path / "demo.stable.jsonl").write_bytes(THEIRS)
    printed = run("replay", str(RECORDING), "--compare", "naive,stable", "--out", ".")
    assert (printed.code, printed.out) == (2, "")
    assert "demo.stable.jsonl exists" in printed.err
    printed = run("replay", str(RECORDING), "--out", "garbage.json")
    assert "garbage.json is no folder" in printed.err


def test_several_cassettes_need_a_folder(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(THEIRS)
    printed = run("convert", str(RECORDING), str(RECORDING), "-o", "file", "--to", "jsonl")
    assert printed.code == 2
    assert "-o file is a file" in printed.err


@pytest.mark.parametrize("command", ["cassette", "scrub"])
def test_a_cassette_below_a_file_is_told_by_its_own_name(run: Run, tmp_path: Path, command: str) -> None:
    (tmp_path / "file").write_bytes(THEIRS)
    words = [str(RECORDING) if word == "garbage.json" else word for word in WRITERS[command][:-1]]
    printed = run(*words, f"file/x{Path(WRITERS[command][-1]).suffix}")
    assert printed.code == 2
    assert "[recording-unwritable]" in printed.err
    assert ".partial" not in printed.err


def test_spans_are_added_to_traces_alone(tmp_path: Path) -> None:
    place = tmp_path / "theirs.txt"
    place.write_bytes(THEIRS)
    with pytest.raises(whole_file.ForeignFileError, match=r"theirs\.txt exists and is no trace"):
        whole_file.need_trace(place)
    with pytest.raises(whole_file.ForeignFileError):
        whole_file.need_trace(tmp_path)
    place.write_bytes(b"")
    for fine in (place, tmp_path / "new.jsonl", Path(os.devnull)):
        whole_file.need_trace(fine)


def test_a_live_run_connects_to_nothing_where_its_trace_cannot_go(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    (tmp_path / "theirs.txt").write_bytes(THEIRS)
    (tmp_path / "agent.toml").write_text(find("agent.toml").text)
    printed = run("run", "agent.toml", "--message", "hello", "--trace", "theirs.txt")
    assert (printed.code, printed.out) == (2, "")
    assert printed.err.startswith("coldturn: theirs.txt exists and is no trace")
    assert (tmp_path / "theirs.txt").read_bytes() == THEIRS

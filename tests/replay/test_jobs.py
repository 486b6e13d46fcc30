"""Many recordings in several processes: the same results, and one broken recording stops nothing."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coldturn.reference.policy import POLICIES
from coldturn.replay.cli.app import main
from coldturn.replay.cli.bar import bar
from coldturn.replay.runs import runner
from coldturn.replay.runs.runner import ReplayOptions, replay

McpTape = Callable[..., list[Any]]
WriteTape = Callable[..., Path]
TWO = [POLICIES["naive"], POLICIES["stable"]]
CALLS = [(1.0, "read_file", {"path": "a"}, "A" * 3_000), (90.0, "write_file", {"path": "b"}, "ok")]


@pytest.fixture
def folder(write_tape: WriteTape, mcp_tape: McpTape, tmp_path: Path) -> Path:
    found = tmp_path / "recordings"
    (found / "twins").mkdir(parents=True)
    for name in ("one.jsonl", "two.jsonl", "twins/one.jsonl"):
        write_tape(mcp_tape(CALLS)).rename(found / name)
        CALLS.reverse()
    (found / "broken.yaml").write_text("interactions:\n- request: {method: GET\n")
    return found


def _traces(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.requirement("REP-7", "REP-8")
def test_any_number_of_processes_writes_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    paths = sorted(folder.rglob("*.*l"))
    seen = []
    for jobs in (1, 3, 9):
        out, left = tmp_path / "out", iter(range(len(paths) * len(TWO)))
        report = replay(paths, TWO, ReplayOptions(out=out), jobs=jobs, progress=left.__next__)
        assert list(left) == []
        seen.append((report.as_json(), _traces(out)))
        out.rename(tmp_path / f"out-{jobs}")
    assert seen[0] == seen[1] == seen[2]
    document, traces = seen[0]
    assert [Path(one["source"]).name for one in document["errors"]] == ["broken.yaml"]
    assert len(document["recordings"]) == 3
    assert sorted(traces) == sorted(
        f"{label}.{policy.name}.jsonl" for label in ("one", "one-2", "two") for policy in TWO
    )


@pytest.mark.requirement("REP-8")
def test_the_command_finishes_the_rest_and_its_exit_code_tells(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["replay", str(folder), "--jobs", "2", "--json"])
    assert left.value.code == 2
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert len(document["recordings"]) == 3
    assert len(document["errors"]) == 1
    assert "broken.yaml" in captured.err
    assert "Traceback" not in captured.err


def test_fewer_recordings_than_processes_share_out_their_policies(folder: Path, tmp_path: Path) -> None:
    parts = list(runner._parts([folder / "one.jsonl"], TWO, 2))
    assert [[policy.name for _, policy in part.policies] for part in parts] == [["naive"], ["stable"]]
    report = replay([folder / "one.jsonl"], TWO, ReplayOptions(out=tmp_path / "out"), jobs=2)
    assert [policy.policy for policy in report.recordings[0].policies] == ["naive", "stable"]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.requirement("REP-8")
def test_a_terminal_gets_a_bar_and_a_file_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for stream, shown in ((_Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        with bar("replays", 3) as step:
            for _ in range(3):
                step()
        assert ("3/3" in stream.getvalue()) is shown

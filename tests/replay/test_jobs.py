"""Many recordings in several processes: the same results, and one broken recording stops nothing."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from coldturn.reference.policy import POLICIES
from coldturn.replay.cli.app import main
from coldturn.replay.cli.bar import bar
from coldturn.replay.errors import ReplayProcessError
from coldturn.replay.runs import runner
from coldturn.replay.runs.runner import ReplayOptions, replay
from deadly_replay import deadly

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


COMPARED = "naive,catalog-in-system,catalog-in-suffix,stable"


@contextmanager
def _replaying(out: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The demo's recording under four policies in two processes, once one of them has begun to write."""
    recording = str(files("coldturn.replay") / "recordings" / "demo.session.toml")
    command = [sys.executable, "-m", "coldturn.replay.cli.app", "replay", recording, "--compare", COMPARED]
    options = ["--jobs", "2", "--out", str(out)]
    with subprocess.Popen(  # noqa: S603 - ours
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as running:
        deadline = time.monotonic() + 60
        while not list(out.glob(".*.part")) and time.monotonic() < deadline and running.poll() is None:
            pass
        yield running


def test_interrupting_several_processes_leaves_no_half_file(tmp_path: Path) -> None:
    with _replaying(tmp_path) as running:
        os.killpg(running.pid, signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert errors.decode().splitlines()[-1] == "coldturn: interrupted"
    assert b"Traceback" not in errors
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


@pytest.mark.requirement("REP-8")
def test_a_process_that_is_killed_costs_no_replay(tmp_path: Path) -> None:
    with _replaying(tmp_path) as running:
        killed = int(next(iter(tmp_path.glob(".*.part"))).name.split(".")[-2])
        os.kill(killed, signal.SIGKILL)
        _, errors = running.communicate(timeout=60)
    assert (running.returncode, b"Traceback" in errors) == (0, False), errors
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"demo.{policy}.jsonl" for policy in sorted(COMPARED.split(","))
    ]


def test_what_kills_its_process_again_is_reported_and_stops_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_in_worker", deadly)
    report = replay([folder / name for name in ("one.jsonl", "two.jsonl")], TWO, jobs=2)
    (error,) = report.errors
    assert (error.source, error.slug) == (str(folder / "one.jsonl"), ReplayProcessError.slug)
    assert [Path(one.source).name for one in report.recordings] == ["two.jsonl"]


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

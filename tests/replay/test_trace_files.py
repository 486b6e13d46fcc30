"""Traces and dumps of requests: whole or not there, and never in the place of another file."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coldturn.replay.cli.app import main
from coldturn.traces.otlp import TraceFileError
from coldturn.traces.whole_file import ForeignFileError, is_request_dump, is_trace, written_whole

RECORDING = Path(__file__).parents[1] / "recordings" / "time.jsonl"
TRACE = '{"resourceSpans":[]}\n'


def replayed(*options: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["replay", str(RECORDING), *options])
    assert isinstance(left.value.code, int)
    return left.value.code


def test_a_trace_is_replaced_and_another_file_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replayed("--out", str(tmp_path)) == 0
    (trace,) = tmp_path.iterdir()
    first = trace.read_bytes()
    trace.write_bytes(first + first)
    assert replayed("--out", str(tmp_path)) == 0
    assert trace.read_bytes() == first
    trace.write_text("my notes\n")
    capsys.readouterr()
    assert replayed("--out", str(tmp_path)) == 2
    errors = capsys.readouterr().err
    assert "is no trace of coldturn" in errors
    assert errors.count("\n") == 1
    assert trace.read_text() == "my notes\n"
    assert list(tmp_path.iterdir()) == [trace]


def test_a_folder_that_is_a_file_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("mine")
    assert replayed("--out", str(tmp_path / "file")) == 2
    assert "is no folder" in capsys.readouterr().err


def test_nothing_stands_under_the_name_until_all_is_written(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "t.jsonl"
    with written_whole(path, "trace", is_trace) as partial:
        partial.write_text(TRACE)
        assert not path.exists()
    assert path.read_text() == TRACE
    with pytest.raises(KeyboardInterrupt):
        _write_half(path)
    assert path.read_text() == TRACE
    assert list(path.parent.iterdir()) == [path]


def _write_half(path: Path) -> None:
    with written_whole(path, "trace", is_trace) as partial:
        partial.write_text("half")
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("content", "replaced"),
    [('{"started":1.0,"request":{}}\n', True), ("", True), ('{"request":{}}\n', False), ("\xff", False)],
)
def test_a_dump_of_requests_replaces_a_dump_only(tmp_path: Path, content: str, replaced: bool) -> None:
    path = tmp_path / "x.requests.ndjson"
    path.write_text(content, encoding="latin-1")
    if replaced:
        with written_whole(path, "dump", is_request_dump) as partial:
            partial.write_text("new")
        assert path.read_text() == "new"
    else:
        with pytest.raises(ForeignFileError), written_whole(path, "dump", is_request_dump):
            raise AssertionError


@pytest.mark.parametrize("named", [True, False])
def test_what_cannot_be_written_is_named_by_its_target_and_leaves_no_folder(
    tmp_path: Path, *, named: bool
) -> None:
    path = tmp_path / "a" / "b" / "x.jsonl"

    def refused() -> None:
        with written_whole(path, "trace", is_trace) as partial:
            if named:
                raise PermissionError(errno.EACCES, "Permission denied", str(partial))
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(TraceFileError) as caught:
        refused()
    assert str(path) in str(caught.value)
    assert ".part" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_another_file_that_cannot_be_opened_keeps_its_own_name(tmp_path: Path) -> None:
    def read() -> None:
        with written_whole(tmp_path / "x.jsonl", "trace", is_trace):
            (tmp_path / "other").read_text()

    with pytest.raises(FileNotFoundError, match="other"):
        read()


def test_a_folder_in_the_place_of_a_trace_stays(tmp_path: Path) -> None:
    with pytest.raises(ForeignFileError), written_whole(tmp_path, "trace", is_trace):
        raise AssertionError


def test_a_trace_with_gaps_gets_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("coldturn.traces.otlp.os.write", full)
    assert replayed("--out", str(tmp_path)) == 2
    assert TraceFileError.slug in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_replay_leaves_no_half_file(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "coldturn.replay.cli.app", "demo", "--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:  # noqa: S603 - ours
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob(".*.part")) and time.monotonic() < deadline and running.poll() is None:
            pass
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert errors.decode().splitlines()[-1] == "coldturn: interrupted"
    assert b"Traceback" not in errors
    assert all(is_trace(path) or is_request_dump(path) for path in tmp_path.iterdir())
    assert not list(tmp_path.glob("*.part"))

"""A recording survives whatever ends its recorder, and a full disk."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import httpx2
import orjson
import pytest

from coldturn.reference.policy import POLICIES
from coldturn.replay.capture.journal import Journal
from coldturn.replay.capture.recorder import Recorder
from coldturn.replay.capture.transport import SyncCaptureTransport
from coldturn.replay.errors import BrokenRecordingError, UnknownFormatError
from coldturn.replay.playback.recording import open_recording
from coldturn.replay.runs.runner import ReplayOptions, replay

KILLS = 50
_OK = httpx2.MockTransport(lambda _: httpx2.Response(200, content=b"ok"))


@pytest.mark.requirement("REC-3")
def test_killed_at_fifty_points_it_loses_at_most_the_exchange_in_flight_and_replays(tmp_path: Path) -> None:
    program = [
        sys.executable,
        str(Path(__file__).with_name("killed_recorder.py")),
        str(tmp_path),
        str(KILLS),
        "7",
    ]
    ran = subprocess.run(program, capture_output=True, check=True, timeout=120)  # noqa: S603 - ours
    killed = orjson.loads(ran.stdout)
    assert len(killed) == KILLS
    for path, answered in killed:
        entries = open_recording(path).entries
        assert answered <= len(entries) <= answered + 1, path
        assert [entry.rpc.id for entry in entries if entry.rpc] == list(range(len(entries)))
    assert len({answered for _, answered in killed}) > 5
    report = replay([path for path, _ in killed], [POLICIES["stable"]], ReplayOptions())
    # An exchange that was torn is listed without a slug: the rest of its recording was replayed.
    assert [error for error in report.errors if error.slug is not None] == []
    assert [one.policies[0].playback.unplayed for one in report.recordings] == [0] * KILLS


def _record(path: Path, *urls: str) -> None:
    with (
        Recorder(path, shared=True) as recorder,
        httpx2.Client(transport=SyncCaptureTransport(recorder, _OK)) as client,
    ):
        for url in urls:
            client.get(url)


@pytest.mark.requirement("REC-3", "REC-8")
def test_the_next_recorder_mends_a_torn_end_wherever_it_was_torn(tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    _record(whole, "http://h/1", "http://h/2")
    content = whole.read_bytes()
    last = content.rstrip(b"\n").rfind(b"\n") + 1
    for cut in [0, 1, 50, last - 1, *range(last, len(content) + 1)]:
        path = tmp_path / "torn.jsonl"
        path.write_bytes(content[:cut])
        if 0 < cut < content.index(b"\n"):
            with pytest.raises(BrokenRecordingError):  # not even a header: it might be anybody's
                _record(path, "http://h/3")
            continue
        _record(path, "http://h/3")
        kept = {0: [], last - 1: ["1"]}.get(cut, ["1", "2"] if cut >= len(content) - 1 else ["1"])
        assert [entry.url[-1] for entry in open_recording(path).entries] == [*kept, "3"], cut


@pytest.mark.requirement("REC-3")
def test_a_line_that_does_not_fit_is_taken_back(tmp_path: Path) -> None:
    """A limit on the size of files stands for a full disk: the write that crosses it stops half way."""
    path = tmp_path / "lines.jsonl"
    journal = Journal(path, b'{"head":1}\n')
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            journal.write(b'{"long":"' + b"x" * 200 + b'"}\n')
        assert path.read_bytes() == b'{"head":1}\n'
        journal.write(b'{"short":1}\n')
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    journal.write(b'{"more":1}\n')
    journal.close()
    assert path.read_bytes() == b'{"head":1}\n{"short":1}\n{"more":1}\n'


def test_recordings_are_private_and_only_lines_are_shared(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    _record(path, "http://h/1")
    with Recorder(tmp_path / "session.yml"):
        pass
    for written in (path, tmp_path / "session.yml"):
        assert written.stat().st_mode & 0o077 == 0
    with pytest.raises(UnknownFormatError, match=r"\.jsonl"):
        Recorder(tmp_path / "session.yaml", shared=True)
    other = tmp_path / "other.jsonl"
    other.write_text('{"not": "ours"}\n')
    with pytest.raises(BrokenRecordingError, match="no recording"):
        Recorder(other, shared=True)
    assert other.read_text() == '{"not": "ours"}\n'
    for foreign in ('"coldturn"', "[]", '{"coldturn": {"version": 99}}', "interactions:"):
        other.write_text(foreign + "\n")
        with pytest.raises(BrokenRecordingError, match="no recording"):
            Recorder(other, shared=True)
    Recorder(other, shared=True, overwrite=True).close()
    assert open_recording(other).entries == ()


def test_a_long_session_is_not_held_in_memory(tmp_path: Path) -> None:
    with Recorder(tmp_path / "session.jsonl") as recorder:
        with httpx2.Client(transport=SyncCaptureTransport(recorder, _OK)) as client:
            for number in range(20):
                client.get(f"http://h/{number}")
        assert len(recorder.cassette) == 0
    assert len(open_recording(tmp_path / "session.jsonl").entries) == 20
    assert [path.name for path in tmp_path.iterdir()] == ["session.jsonl"]

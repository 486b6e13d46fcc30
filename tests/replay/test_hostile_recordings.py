"""Recordings and session files that mean harm or are nonsense: refused in a sentence, nothing gets out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from coldturn.reference.policy import POLICIES
from coldturn.replay.capture.timing import LATEST
from coldturn.replay.cli.app import main
from coldturn.replay.errors import BrokenRecordingError, SessionFileError
from coldturn.replay.playback.recording import open_recording
from coldturn.replay.runs.runner import ReplayOptions, replay
from coldturn.replay.sessions.loading import open_replayable

McpTape = Callable[..., list[Any]]
WriteTape = Callable[..., Path]
FILES = "http://stdio.files.invalid/mcp"
UP = "../../../../outside"


@pytest.fixture
def tape(write_tape: WriteTape, mcp_tape: McpTape) -> Path:
    calls = [(1.0, "read_file", {"path": "a"}, "A"), (2.0, "read_file", {"path": "b"}, "B")]
    return write_tape(mcp_tape(calls), servers={FILES: "files"})


def _changed(tape: Path, line: int, path: list[str | int], value: object) -> None:
    lines = [orjson.loads(one) for one in tape.read_bytes().splitlines()]
    place = lines[line]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    tape.write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in lines))


@pytest.mark.requirement("REC-3")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("start", -1.0), ("start", "1780000000"), ("start", True), ("start", None), ("start", 1e308),
        ("start", 1e12), ("start", LATEST + 1), ("end", 0.0), ("end", 1e12), ("end", [1]), ("seq", "1"),
        ("seq", 1.5), ("chunks", [[0.1, -5]]), ("chunks", [[-0.1, 5]]), ("chunks", 3), ("chunks", [[1]]),
        ("chunks", [["a", "b"]]), ("server", 3), ("left_out", {}),
    ],
)  # fmt: skip
def test_times_that_are_none_name_their_entry(tape: Path, field: str, value: object) -> None:
    _changed(tape, 3, ["response", "x-coldturn", field], value)
    with pytest.raises(BrokenRecordingError, match="entry 2"):
        open_recording(tape)


def test_a_date_header_from_another_age_is_no_time(tape: Path) -> None:
    for line in range(1, 5):
        _changed(tape, line, ["response", "x-coldturn"], {})
        _changed(tape, line, ["response", "headers", "date"], ["Fri, 31 Dec 9999 23:59:59 GMT"])
    assert not open_recording(tape).timed
    assert replay([tape], [POLICIES["stable"]]).errors == []


@pytest.mark.parametrize("where", ["header", "entry", "url"])
def test_a_server_cannot_lead_out_of_the_folder(
    tape: Path, tmp_path: Path, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if where == "header":
        _changed(tape, 0, ["coldturn", "servers", FILES], UP)
    for line in range(1, 5):
        if where == "entry":
            _changed(tape, line, ["response", "x-coldturn", "server"], UP)
        elif where == "url":
            _changed(tape, line, ["request", "uri"], "http://stdio.....invalid/mcp")
    folder = tmp_path / "a" / "b" / "c" / "d"
    folder.mkdir(parents=True)
    report = replay([tape], [POLICIES["stable"]], ReplayOptions(out=folder))
    (recording,) = report.recordings
    assert "/" not in recording.connections[0].server
    assert ".." not in recording.connections[0].server
    with pytest.raises(SystemExit):
        main(["session", "init", str(tape), "-o", str(folder / "x.session.toml")])
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert written == {"tape.jsonl", "a/b/c/d/tape.stable.jsonl", "a/b/c/d/x.session.toml"}


@pytest.mark.parametrize("name", ["../up", "a/b", "..", "a\\b", "a\nb"])
def test_a_policy_cannot_lead_out_of_the_folder(tape: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "traces"
    policy = POLICIES["stable"].model_copy(update={"name": name})
    (recording,) = replay([tape], [policy], ReplayOptions(out=folder)).recordings
    trace = Path(recording.policies[0].trace or "")
    assert trace.resolve().parent == folder.resolve()
    assert trace.is_file()


@pytest.mark.parametrize(
    ("line", "path", "value"),
    [
        (0, ["coldturn"], []),
        (0, ["coldturn", "servers"], {FILES: {"a": 1}}),
        (1, ["request", "body"], "[" * 100_000),
        (1, ["request", "method"], 3),
        (1, ["request", "uri"], "http://[:::/"),
        (1, ["response", "status"], {"code": "ok"}),
        (1, ["response", "body", "string"], '{"jsonrpc":"2.0","id":0,"result":[]}'),
        (2, ["response", "body", "string"], '{"jsonrpc":"2.0","id":1,"result":{"tools":"none"}}'),
        (2, ["response", "body", "string"], '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":3}]}}'),
        (2, ["response", "body", "string"], '{"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":{}}}'),
        (3, ["request", "body"], '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":[]}}'),
        (3, ["request", "body"], '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"arguments":"x"}}'),
        (3, ["response", "body", "string"], '{"jsonrpc":"2.0","id":2,"result":{"content":{"type":"text"}}}'),
        (3, ["response", "body", "string"], '{"jsonrpc":"2.0","id":99,"error":7}'),
        (3, ["response", "body", "string"], "event: message\ndata: {\n\n"),
    ],
)
def test_nonsense_is_played_or_refused_and_never_a_traceback(
    tape: Path, line: int, path: list[str | int], value: object, capsys: pytest.CaptureFixture[str]
) -> None:
    _changed(tape, line, path, value)
    with pytest.raises(SystemExit) as left:
        main(["replay", str(tape), "--json"])
    captured = capsys.readouterr()
    document = orjson.loads(captured.out)
    assert left.value.code == (2 if document["errors"] else 0)
    assert len(document["recordings"]) + len(document["errors"]) == 1
    assert "Traceback" not in captured.err


SESSION = """
cassette = "tape.jsonl"
[spec]
[[spec.connections]]
id = "files"
[[turns]]
user = "go"
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SESSION + "after = 1e300\n", "the years from 1970 to 2200"),
        (SESSION + "after = -1\n", r"turns\.0\.after"),
        (SESSION + "after = nan\n", "turns.0.after|the years"),
        ("start = 9999-12-31T00:00:00Z\n" + SESSION, "the years from 1970 to 2200"),
        ("start = 1800-01-01T00:00:00Z\n" + SESSION, "the years from 1970 to 2200"),
        (SESSION.replace('"files"', f'"{UP}"'), r"spec\.connections\.0\.id"),
    ],
)
def test_a_session_file_stays_on_the_clock_and_in_its_folder(tape: Path, text: str, said: str) -> None:
    path = tape.with_name("tape.session.toml")
    path.write_text(text)
    with pytest.raises(SessionFileError, match=said):
        open_replayable(path)

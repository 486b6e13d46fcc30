"""Session files and recordings that cannot be used say why, in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coldturn.reference.policy import POLICIES
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.replay.errors import BrokenRecordingError, SessionFileError
from coldturn.replay.playback.recording import EPOCH, open_recording, read_metadata
from coldturn.replay.runs.policies import PolicyError, policy_named, with_settings
from coldturn.replay.sessions.loading import open_replayable, recording_label

McpTape = Callable[..., list[Any]]
WriteTape = Callable[..., Path]
FILES = "http://stdio.files.invalid/mcp"

GOOD = """
cassette = "x.jsonl"
[spec]
[[spec.connections]]
id = "files"
[[turns]]
user = "go"
"""


@pytest.fixture
def folder(write_tape: WriteTape, mcp_tape: McpTape, tmp_path: Path) -> Path:
    write_tape(mcp_tape([(1.0, "read_file", {}, "A")]), name="x.jsonl", servers={FILES: "files"})
    return tmp_path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cassette = ", "it is no TOML"),
        (GOOD.replace("user =", "usr ="), r"turns\.0\.us"),
        (
            GOOD.replace('id = "files"', 'id = "nowhere"'),
            "connection nowhere is not in x.jsonl, which holds files",
        ),
        (GOOD + 'connect = ["web"]\n', "turn 0 names web, no connection"),
        (
            GOOD + '[[turns.steps]]\n[[turns.steps.calls]]\ntool = "bash"\n',
            "turn 0 calls bash, no local tool",
        ),
        (GOOD.replace("[spec]", 'late = ["web"]\n[spec]', 1), "late names web"),
    ],
)
def test_a_wrong_session_file_names_the_place(folder: Path, text: str, message: str) -> None:
    path = folder / "x.session.toml"
    path.write_text(text)
    with pytest.raises(SessionFileError, match=message):
        open_replayable(path)


def test_a_session_file_finds_its_servers_by_label_or_address(folder: Path) -> None:
    path = folder / "x.session.toml"
    path.write_text(GOOD)
    assert open_replayable(path).addresses == {"files": FILES}
    path.write_text(GOOD.replace('id = "files"', f'id = "other"\nurl = "{FILES}?key=secret"'))
    assert open_replayable(path).addresses == {"other": FILES}


def test_labels_leave_folders_and_endings_out() -> None:
    assert recording_label("/a/b/demo.session.toml") == "demo"
    assert recording_label("c/tape.yaml.gz") == "tape"


@pytest.mark.requirement("REC-3")
@pytest.mark.parametrize("name", ["x.jsonl", "x.yaml", "x.json"])
def test_metadata_and_times_are_read_from_every_format(
    write_tape: WriteTape, mcp_tape: McpTape, name: str
) -> None:
    path = write_tape(mcp_tape([(5.0, "read_file", {}, "A")]), name=name, servers={FILES: "files"})
    assert read_metadata(path)["servers"] == {FILES: "files"}
    recording = open_recording(path)
    assert recording.timed
    assert {entry.server for entry in recording.entries} == {"files"}
    assert recording.entries[2].start - recording.entries[0].start == pytest.approx(5.0)


@pytest.mark.requirement("REP-3")
def test_without_times_each_entry_is_a_second_and_date_headers_come_first(
    corpus: Path, tmp_path: Path
) -> None:
    untimed = open_recording(next((corpus / "vcr-mcp").glob("*test_mcptoolset*")))
    assert [entry.start for entry in untimed.entries] == [EPOCH + n for n in range(9)]
    assert not untimed.timed
    entry = (
        "- request: {{method: POST, uri: 'https://a.example/x', body: '{{}}', headers: {{}}}}\n"
        "  response:\n    status: {{code: 200, message: OK}}\n    body: {{string: '{{}}'}}\n"
        "    headers: {headers}\n"
    )
    path = tmp_path / "dated.yaml"
    dated = "{date: ['Tue, 03 Mar 2026 10:00:00 GMT']}"
    path.write_text(
        "interactions:\n" + entry.format(headers="{}") + entry.format(headers=dated) + "version: 1\n"
    )
    first, second = open_recording(path).entries
    assert second.start == 1_772_532_000
    assert second.start - first.start == 1
    assert (first.timed, second.timed) == (False, True)


@pytest.mark.requirement("REC-3")
def test_a_broken_recording_names_its_entry(folder: Path) -> None:
    path = folder / "x.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1] + b'{"request": 1}\n' + lines[2])
    with pytest.raises(ColdturnError, match="entry 1"):
        open_recording(path)
    path.write_bytes(b"".join(lines).replace(b'"seq":1', b'"sequel":1'))
    with pytest.raises(BrokenRecordingError, match="entry 1"):
        open_recording(path)


@pytest.mark.requirement("REC-3")
def test_a_torn_last_line_leaves_the_rest_readable(folder: Path) -> None:
    path = folder / "x.jsonl"
    path.write_bytes(path.read_bytes()[:-30])
    assert len(open_recording(path).entries) == 2


@pytest.mark.parametrize(
    ("wanted", "settings", "message"),
    [
        ("fast", [], "the names are stable, naive"),
        ("none.toml", [], "no such file"),
        ("stable", ["clock"], "field=value"),
        ("stable", ["clok=system"], "clok is no field; the fields are"),
        ("stable", ["clock=sun"], "clock: "),
        ("stable", ["name=x"], "field=value"),
    ],
)
def test_a_policy_that_does_not_exist_says_what_does(wanted: str, settings: list[str], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        with_settings(policy_named(wanted), settings)


def test_a_policy_without_settings_is_itself() -> None:
    assert with_settings(POLICIES["naive"], []) is POLICIES["naive"]

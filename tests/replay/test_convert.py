"""Recordings from one format into another and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from vcr.persisters.filesystem import FilesystemPersister
from vcr.serializers import jsonserializer, yamlserializer

from coldturn.reference.policy import POLICIES
from coldturn.replay.cli.app import main
from coldturn.replay.errors import (
    BinaryBodyError,
    BrokenRecordingError,
    RecordingExistsError,
    UnknownFormatError,
    UnwritableRecordingError,
)
from coldturn.replay.files.convert import convert_file
from coldturn.replay.playback.recording import open_recording, read_metadata
from coldturn.replay.runs.runner import ReplayOptions, replay_recording
from coldturn.traces.errors import BrokenCassetteError

McpTape = Callable[..., list[Any]]
WriteTape = Callable[..., Path]
FILES = "http://stdio.files.invalid/mcp"
CALLS = [(1.0, "read_file", {"path": "ä\u2028"}, "A\r\n\x07 'x'"), (90.0, "write_file", {"path": "b"}, "ok")]
FORMATS = ("jsonl", "yaml", "json")


def _run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["convert", *arguments])
    assert isinstance(left.value.code, int)
    return left.value.code


@pytest.fixture
def tape(write_tape: WriteTape, mcp_tape: McpTape) -> Path:
    return write_tape(mcp_tape(CALLS), servers={FILES: "files"})


@pytest.mark.requirement("REC-2", "REC-3")
@pytest.mark.parametrize("via", FORMATS)
@pytest.mark.parametrize("back", FORMATS)
def test_both_ways_nothing_is_lost(
    write_tape: WriteTape, mcp_tape: McpTape, tmp_path: Path, via: str, back: str
) -> None:
    tape = write_tape(mcp_tape(CALLS), name=f"tape.{back}", servers={FILES: "files"})
    other, again = tmp_path / f"other.{via}", tmp_path / f"again.{back}"
    assert convert_file(tape, other) == 4
    assert convert_file(other, again) == 4
    before = open_recording(tape)
    assert before.timed
    for path in (other, again):
        after = open_recording(path)
        assert after.entries == before.entries
        assert read_metadata(path) == read_metadata(tape)
    # vcrpy sorts the keys of YAML; nothing else may move
    assert (again.read_bytes() == tape.read_bytes()) is (via != "yaml" or back == "yaml")
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.requirement("REC-1", "REC-3")
@pytest.mark.parametrize(("ending", "serializer"), [("yaml", yamlserializer), ("json", jsonserializer)])
def test_vcrpy_reads_what_is_written(tape: Path, tmp_path: Path, ending: str, serializer: object) -> None:
    path = tmp_path / f"for-vcrpy.{ending}"
    convert_file(tape, path)
    requests, responses, metadata = FilesystemPersister.load_cassette(path, serializer)
    entries = open_recording(tape).entries
    assert [request.body for request in requests] == [entry.request_body for entry in entries]
    assert [response["body"]["string"] for response in responses] == [entry.body for entry in entries]
    assert [response["x-coldturn"]["start"] for response in responses] == [entry.start for entry in entries]
    assert metadata["coldturn"]["servers"] == {FILES: "files"}


def test_a_converted_recording_replays_to_the_same_trace(tape: Path, tmp_path: Path) -> None:
    converted = tmp_path / "converted" / "tape.yaml"
    converted.parent.mkdir()
    convert_file(tape, converted)
    traces = []
    for number, path in enumerate((tape, converted)):
        options = ReplayOptions(out=tmp_path / f"out-{number}")
        (result,) = replay_recording(path, [POLICIES["stable"]], options).policies
        traces.append(Path(result.trace or "").read_bytes())
    assert traces[0] == traces[1]


@pytest.mark.requirement("REC-3")
def test_binary_bodies_stay_in_yaml_and_json_lines_and_are_refused_by_json(
    tape: Path, tmp_path: Path
) -> None:
    lines = tape.read_text().splitlines()
    entry = json.loads(lines[1])
    entry["request"]["body"] = {"b64": "AP+A/w=="}
    tape.write_text("\n".join([lines[0], json.dumps(entry), ""]))
    convert_file(tape, tmp_path / "x.yaml")
    convert_file(tmp_path / "x.yaml", tmp_path / "x.jsonl")
    assert open_recording(tmp_path / "x.jsonl").entries[0].request_body == b"\x00\xff\x80\xff"
    with pytest.raises(BinaryBodyError, match="entry 0"):
        convert_file(tape, tmp_path / "x.json")
    assert not list(tmp_path.glob("x.json*[!l]"))


@pytest.mark.requirement("REC-3")
def test_a_damaged_recording_leaves_no_file_and_the_old_one(tape: Path, tmp_path: Path) -> None:
    lines = tape.read_bytes().splitlines(keepends=True)
    tape.write_bytes(b"".join([*lines[:3], b'{"request": 3}\n', lines[3]]))
    with pytest.raises(BrokenCassetteError, match="entry 2"):
        convert_file(tape, tmp_path / "x.yaml")
    (tmp_path / "old.jsonl").write_bytes(b"old")
    with pytest.raises(BrokenCassetteError, match="entry 2"):
        convert_file(tape, tmp_path / "old.jsonl", overwrite=True)
    assert (tmp_path / "old.jsonl").read_bytes() == b"old"
    assert {path.name for path in tmp_path.iterdir()} == {"tape.jsonl", "old.jsonl"}


def test_what_a_converted_file_could_not_say_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "parsed.yaml"
    path.write_text(
        "interactions:\n- request: {method: PUT, uri: 'http://a', parsed_body: {a: 1}, headers: {}}\n"
        "  response: {status: {code: 200, message: OK}, body: {string: x}, headers: {}}\nversion: 1\n"
    )
    with pytest.raises(BrokenRecordingError, match=r"entry 0.* not the one that was sent"):
        convert_file(path, tmp_path / "x.jsonl")
    path.write_text(
        "interactions:\n- request: {method: POST, uri: 'https://a.example/x', body: '', headers: {}}\n"
        "  response: {body: {string: x}, headers: {}}\nversion: 1\n"
    )
    with pytest.raises(BrokenRecordingError, match=r"entry 0.* no status"):
        convert_file(path, tmp_path / "x.jsonl")


def test_targets_that_cannot_be_written(tape: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownFormatError):
        convert_file(tape, tmp_path / "x.txt")
    with pytest.raises(RecordingExistsError):
        convert_file(tape, tape, overwrite=True)
    with pytest.raises(UnwritableRecordingError):
        convert_file(tape, tmp_path / "nowhere" / "x.jsonl")


def test_a_folder_of_recordings(
    write_tape: WriteTape, mcp_tape: McpTape, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    write_tape(mcp_tape(CALLS)).rename(folder / "one.jsonl")
    write_tape(mcp_tape(CALLS), name="tape.yaml").rename(folder / "two.yaml")
    (folder / "broken.yaml").write_text("interactions:\n- request: {method: GET\n")
    out = tmp_path / "out"
    assert _run(str(folder), "-o", str(out), "--to", "json") == 2
    captured = capsys.readouterr()
    assert sorted(path.name for path in out.iterdir()) == ["one.json", "two.json"]
    assert "broken.yaml" in captured.err
    assert f"{out / 'one.json'}: 4 exchanges" in captured.out
    assert _run(str(folder / "one.jsonl"), "-o", str(out / "one.json")) == 2
    assert _run(str(folder / "one.jsonl"), "-o", str(out / "one.json"), "--overwrite") == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-", "-o", "x.jsonl"], "convert reads files"),
        (["TAPE", "-o", "x.yaml", "--to", "json"], "does not end in .json"),
        (["TAPE", "TAPE", "-o", "out"], "say with --to"),
        (["TAPE", "TAPE", "-o", "FOLDER", "--to", "json"], "several inputs would become"),
    ],
)
def test_wrong_usage_is_one_sentence(
    tape: Path, tmp_path: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"TAPE": str(tape), "FOLDER": str(tmp_path / "out")}
    assert _run(*(places.get(one, one) for one in arguments)) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert "Traceback" not in captured.err

"""Recordings of earlier format versions are brought to the newest one, a step at a time."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from coldturn.replay.capture.recorder import Recorder
from coldturn.replay.errors import BrokenRecordingError
from coldturn.replay.files.convert import convert_file
from coldturn.replay.playback.recording import open_recording, read_metadata
from coldturn.traces import migrations
from coldturn.traces.cassette import iter_cassette
from coldturn.traces.errors import BrokenCassetteError, UnsupportedFormatError
from coldturn.traces.migrations import NEWEST, Step, migration_from, read_about

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def _line(uri: str = "http://stdio.a.invalid/mcp") -> dict[str, Any]:
    request = {"method": "POST", "uri": uri, "body": json.dumps(CALL), "headers": {}}
    response = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": "{}"}}
    return {"request": request, "response": response}


def _written(path: Path, *values: object) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


def _moved(entry: Any) -> Any:  # noqa: ANN401 - whatever stands in the file
    request = {("uri" if key == "address" else key): value for key, value in entry["request"].items()}
    return {**entry, "request": request}


def _upper(entry: Any) -> Any:  # noqa: ANN401 - whatever stands in the file
    return {**entry, "request": {**entry["request"], "uri": entry["request"]["uri"].upper()}}


LATER = (
    *migrations.STEPS,
    Step(lambda about: {"servers": about["labels"]}, _moved),
    Step(lambda about: {**about, "servers": dict(about["servers"], seen="2")}, _upper),
)


@pytest.mark.requirement("REC-3")
def test_each_step_sees_what_the_one_before_it_made() -> None:
    old = _line()
    old["request"]["address"] = old["request"].pop("uri")
    migration = migration_from(1, "old", LATER)
    assert migration.entry(old)["request"]["uri"] == "HTTP://STDIO.A.INVALID/MCP"
    assert migration.about({"labels": {"a": "b"}}) == {"servers": {"a": "b", "seen": "2"}, "version": NEWEST}
    assert migration_from(3, "new", LATER).entry(old) is old


@pytest.mark.requirement("REC-3")
@pytest.mark.parametrize("suffix", ["jsonl", "json", "yaml"])
def test_an_older_recording_is_read_in_every_format(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = _written(tmp_path / "plain.jsonl", {"coldturn": {"version": 1, "servers": {}}}, _line(), _line())
    path = tmp_path / f"old.{suffix}"
    convert_file(source, path) if suffix != "jsonl" else source.rename(path)
    monkeypatch.setattr(migrations, "STEPS", LATER)
    monkeypatch.setattr(migration_from, "__defaults__", (LATER,))
    with path.open("rb") as stream, pytest.raises(KeyError, match="labels"):
        read_about(stream, "old")
    found = [one.uri for one in iter_cassette(path)]
    assert found == ["HTTP://STDIO.A.INVALID/MCP"] * 2


@pytest.mark.requirement("REC-3")
def test_lines_without_a_header_are_the_first_version_and_convert_names_the_newest(tmp_path: Path) -> None:
    old = _written(tmp_path / "old.jsonl", _line(), _line("http://stdio.b.invalid/mcp"))
    assert len(open_recording(old).entries) == 2
    convert_file(old, tmp_path / "new.jsonl")
    assert read_metadata(tmp_path / "new.jsonl")["version"] == NEWEST
    assert [one.url for one in open_recording(tmp_path / "new.jsonl").entries] == [
        one.url for one in open_recording(old).entries
    ]


def test_an_older_recording_is_not_added_to(tmp_path: Path) -> None:
    old = _written(tmp_path / "old.jsonl", _line())
    before = old.read_bytes()
    with pytest.raises(BrokenRecordingError, match="coldturn convert"):
        Recorder(old, shared=True)
    assert old.read_bytes() == before


@pytest.mark.parametrize(
    ("version", "error"),
    [(NEWEST + 1, UnsupportedFormatError), (-1, BrokenCassetteError), (True, BrokenCassetteError)],
)
@pytest.mark.parametrize("key", ["version", "format"])
def test_a_version_that_is_not_known_is_refused(key: str, version: object, error: type[Exception]) -> None:
    header = {"coldturn": {key: version}}
    with pytest.raises(error):
        list(iter_cassette((json.dumps(header) + "\n" + json.dumps(_line()) + "\n").encode()))
    with pytest.raises(error):
        read_about(io.BytesIO(json.dumps(header).encode() + b"\n"), "x") if key == "version" else list(
            iter_cassette(json.dumps({"version": 1, "metadata": header, "interactions": []}).encode())
        )


def test_other_peoples_metadata_is_no_version(tmp_path: Path) -> None:
    path = tmp_path / "other.yaml"
    path.write_text(
        "interactions:\n- request: {method: GET, uri: u, headers: {}, body: null}\n  response: {}\n"
        "metadata:\n  version: nine\nversion: 1\n"
    )
    assert len(list(iter_cassette(path))) == 1
    assert read_metadata(path) == {}

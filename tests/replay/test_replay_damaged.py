"""Replays of recordings that were cut off, and of files that cannot be replayed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coldturn.replay.cli.app import main
from coldturn.replay.runs.policies import PolicyError, policy_named, with_settings

RECORDING = Path(__file__).parents[1] / "recordings" / "git.jsonl"


def replayed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["replay", *arguments])
    assert isinstance(left.value.code, int)
    out, errors = capsys.readouterr()
    return left.value.code, out, errors


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_torn_entry_of_a_cut_recording_is_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], jobs: str
) -> None:
    lines = RECORDING.read_bytes().splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"".join(lines) + lines[-1][: len(lines[-1]) // 2])
    code, out, errors = replayed(capsys, str(cut), "--compare", "naive,stable", "--json", "--jobs", jobs)
    assert code == 0
    document = json.loads(out)
    assert len(document["recordings"]) == 1
    (error,) = document["errors"]
    assert error["source"] == str(cut)
    assert "cut off" in error["message"]
    assert errors.count("cut off") == 1


def test_requests_that_cannot_be_replayed_say_what_reads_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "request.json"
    path.write_text('{"model": "m", "input": "q"}')
    code, _, errors = replayed(capsys, str(path))
    assert code == 2
    assert "it holds one request body, where a recorded session is needed" in errors
    assert "--format" not in errors


def test_a_session_file_is_named_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.session.toml"
    path.write_text("== no\n")
    code, _, errors = replayed(capsys, str(path))
    assert code == 2
    assert errors.count("bad.session.toml") == 1


def test_a_setting_with_a_wrong_value_is_named_with_the_right_ones() -> None:
    with pytest.raises(PolicyError, match="--set clock=moon") as refused:
        with_settings(policy_named("stable"), ["tool_order=name", "clock=moon"])
    assert "'system'" in str(refused.value)

"""Inputs of one request each: no conversation is followed over them, which is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_runs import runner

ASKED = [{"role": "user", "content": f"question {turn}"} for turn in range(3)]


def bodies(folder: Path, count: int) -> list[str]:
    names = [str(folder / f"req_{index}.json") for index in range(count)]
    for index, name in enumerate(names):
        Path(name).write_text(json.dumps({"model": "gpt-4.1", "messages": ASKED[: index + 1]}))
    return names


@pytest.mark.parametrize("named", [True, False])
def test_one_body_a_file_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str], named: bool) -> None:
    names = bodies(tmp_path, 3)
    ran = runner(capsys)("explain", *(names if named else [str(tmp_path)]))
    assert f"3 inputs from {names[0]} on hold one request each" in ran.err
    assert "jq -s" in ran.err


def test_nothing_is_said_of_one_input_or_of_several_requests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (only,) = bodies(tmp_path, 1)
    several = tmp_path / "several.jsonl"
    several.write_text(f"{json.dumps({'model': 'gpt-4.1', 'messages': ASKED})}\n" * 2)
    assert runner(capsys)("explain", only, str(several)).err == ""


def test_what_was_recorded_around_a_body_makes_it_a_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in "ab":
        told = {"url": "https://api.openai.com/v1/chat/completions", "request": {"messages": ASKED}}
        (tmp_path / f"{name}.json").write_text(json.dumps(told))
    assert runner(capsys)("explain", str(tmp_path)).err == ""

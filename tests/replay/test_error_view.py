"""Errors of inputs: each is told, and what repeats itself is counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_runs import Run, runner
from coldturn.analysis.breaks.findings import ReadError
from coldturn.replay.cli.error_view import sentences


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


def entries(count: int, source: str = "a.jsonl") -> list[ReadError]:
    return [ReadError(source, entry, f"line {entry + 1} cannot be read") for entry in range(count)]


def inputs(count: int, why: str = "not recognised", slug: str = "unrecognised-input") -> list[ReadError]:
    return [ReadError(f"{at}.json", None, f"{at}.json: {why}", slug) for at in range(count)]


def test_few_are_told_one_by_one() -> None:
    assert list(sentences([*entries(1), *inputs(1)])) == [
        "a.jsonl, entry 0: line 1 cannot be read",
        "0.json: not recognised [unrecognised-input]",
    ]
    assert list(sentences([ReadError("b", None, "why")])) == ["b: why"]


@pytest.mark.parametrize(("count", "lines"), [(5, 5), (6, 6), (7, 6), (2_000, 6)])
def test_entries_of_one_source_are_counted_from_some_on(count: int, lines: int) -> None:
    told = list(sentences(entries(count)))
    assert len(told) == lines
    if count > 6:
        assert told[-1].startswith(f"a.jsonl: {count - 5:,} more entries, up to {count - 1}, have errors")


@pytest.mark.parametrize(("count", "lines"), [(3, 3), (4, 4), (5, 4), (24, 4)])
def test_inputs_with_the_same_trouble_are_counted_from_some_on(count: int, lines: int) -> None:
    told = list(sentences(inputs(count)))
    assert len(told) == lines
    if count > 4:
        assert told[-1] == f"{count - 3} more inputs: the same, up to {count - 1}.json"


def test_other_sources_and_other_troubles_have_counts_of_their_own() -> None:
    assert len(list(sentences([*entries(5), *entries(5, "b.jsonl")]))) == 10
    assert len(list(sentences([*inputs(3), *inputs(3, "is empty", "empty-input")]))) == 6
    assert len(list(sentences([*inputs(3), *inputs(3, slug="other")]))) == 6


def test_a_file_of_broken_lines_does_not_fill_the_screen_and_gets_no_clean_bill(
    run: Run, tmp_path: Path
) -> None:
    body = json.dumps({"model": "m", "input": "question"})
    (tmp_path / "log.jsonl").write_text(f"{body}\n" + "{broken\n" * 50 + f"{body}\n")
    printed = run("explain", "log.jsonl")
    assert len(printed.err.splitlines()) == 6
    assert len(run("explain", "log.jsonl", "--json").json["errors"]) == 50
    (tmp_path / "cut.json").write_text(f"[{body}, {body[:20]}")
    printed = run("explain", "cut.json")
    assert printed.code == 2
    assert "no unplanned break in what could be read" in printed.out

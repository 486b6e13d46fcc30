"""The shipped demo, end to end: what the frames make of its traces is what the replay printed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from coldturn.analysis.estimates.longest_prefix import LONGEST_PREFIX
from coldturn.analysis.frames import frames
from coldturn.traces.span_reader import SpanRow, read_spans


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    out = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-c", "from coldturn.replay.cli.app import main; main()", "demo", "--json"]
    done = subprocess.run([*command, "--out", str(out)], check=True, capture_output=True)  # noqa: S603 # ours
    (recording,) = json.loads(done.stdout)["recordings"]
    return out, recording["policies"]


@pytest.fixture(scope="module")
def spans(demo: tuple[Path, list[dict[str, Any]]]) -> list[SpanRow]:
    return [span for path in sorted(demo[0].glob("*.jsonl")) for span in read_spans(path)]


def test_every_step_is_estimated_alike_from_spans_and_while_replaying(
    demo: tuple[Path, list[dict[str, Any]]], spans: list[SpanRow]
) -> None:
    steps = frames.steps(spans)
    for told in demo[1]:
        own = steps.filter(pl.col("policy") == told["policy"])
        columns = ("turn", "step", "content_bytes", "input_tokens_estimated", "read_estimated", "break_cause")
        assert own.select(columns).rows() == [
            (
                step["turn"],
                step["step"],
                step["input_bytes"],
                step["input_tokens_estimated"],
                step["read_estimated"][LONGEST_PREFIX],
                _cause(step["break"]),
            )
            for step in told["steps"]
        ]
        assert own["uncached_estimated"].sum() == told["uncached_tokens_estimated"][LONGEST_PREFIX]
        assert own["break_planned"].sum() == told["breaks"]["planned"]


def _cause(found: dict[str, Any] | None) -> str | None:
    harmless = found is None or found["verdict"] == "broken_harmless"
    return None if found is None or harmless else str(found["cause"])


def test_every_turn_is_whole_and_every_span_has_its_parent(
    demo: tuple[Path, list[dict[str, Any]]], spans: list[SpanRow]
) -> None:
    turns = frames.turns(spans)
    assert turns["complete"].all()
    per_policy = dict(turns.group_by("policy").len().rows())
    assert per_policy == {told["policy"]: told["turns"] for told in demo[1]}
    ids = [span.span_id for span in spans]
    assert len(set(ids)) == len(ids)
    assert {span.parent_id for span in spans} - set(ids) <= {""}
    assert {span.scope for span in spans} == {"coldturn"}

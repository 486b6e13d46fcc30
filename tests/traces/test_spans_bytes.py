"""Ids and bytes that two replays share, what a killed process keeps, and the page of the schema."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from coldturn.reference.prefix.model import Break
from coldturn.traces import names
from coldturn.traces.names_page import page
from coldturn.traces.otlp import SpanFile
from coldturn.traces.span_reader import read_spans
from coldturn.traces.spans import SpanObserver
from fake_run import FakeClock, tell, turn_info

ROOT = Path(__file__).parents[2]

_REPLAY = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests")!r})
from fake_run import FakeClock, tell
from coldturn.traces.otlp import SpanFile
from coldturn.traces.spans import SpanObserver
clock = FakeClock()
with SpanObserver(SpanFile(sys.argv[1]), clock=clock, recording="fake.yaml", policy="p") as observer:
    tell(observer, clock)
    tell(observer, clock)
"""


def test_what_comes_twice_has_ids_of_its_own_and_a_replay_has_them_again(tmp_path: Path) -> None:
    contents = []
    for name in ("a", "b"):
        clock, path = FakeClock(), tmp_path / name
        with SpanObserver(SpanFile(path), clock=clock, recording="r", policy="p") as observer:
            tell(observer, clock)
            tell(observer, clock)
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]
    ids = [span.span_id for span in read_spans(tmp_path / "a")]
    assert len(set(ids)) == len(ids) == 26
    traces = {span.trace_id for span in read_spans(tmp_path / "a")}
    assert len(traces) == 2 * 4


@pytest.mark.requirement("REP-7")
def test_two_replays_write_the_same_bytes_under_any_hash_seed(tmp_path: Path) -> None:
    written = set()
    for seed in ("0", "1", "2718"):
        path = tmp_path / f"{seed}.jsonl"
        env = {"PYTHONHASHSEED": seed, "TZ": f"UTC+{len(seed)}"}
        subprocess.run([sys.executable, "-c", _REPLAY, str(path)], check=True, env=env)  # noqa: S603 # ours
        written.add(path.read_bytes())
    (content,) = written
    assert content.count(b"\n") == 26


def test_live_runs_never_share_ids(tmp_path: Path, clock: FakeClock) -> None:
    for name in ("a", "b"):
        with SpanObserver(SpanFile(tmp_path / name), clock=clock) as observer, observer.turn(turn_info(0)):
            pass
    (a,), (b,) = read_spans(tmp_path / "a"), read_spans(tmp_path / "b")
    assert a.trace_id != b.trace_id
    assert a.span_id != b.span_id


def test_a_run_that_is_killed_keeps_what_had_ended(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    program = _REPLAY.replace("    tell(observer, clock)\n", "", 1).rstrip() + (
        "\n    import os, signal\n"
        "    with observer.turn(__import__('fake_run').turn_info(7)):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=False)  # noqa: S603 # ours
    assert done.returncode == -9
    reader = read_spans(path)
    assert len(list(reader)) == 13
    assert reader.dropped == 0


def test_the_schema_page_is_current() -> None:
    assert (ROOT / "docs" / "spans.md").read_text(encoding="utf-8") == page(), (
        "run: python -m coldturn.traces.names > docs/spans.md"
    )


def test_the_schema_page_lists_every_attribute_once() -> None:
    lines = page().splitlines()
    for value in vars(names).values():
        if isinstance(value, names.Attribute):
            assert sum(line.startswith(f"| `{value}` | {value.type}") for line in lines) == 1, value


def test_every_field_of_a_break_is_on_the_span_or_left_out_on_purpose() -> None:
    left_out = {
        "side", "wire_offset", "harmless", "names", "kinds", "before", "was", "now", "later", "alongside",
        "evidence", "was_changed", "now_changed",
    }  # fmt: skip
    start = "coldturn.prefix.break."
    on_span = {
        str(name).removeprefix(start)
        for name in vars(names).values()
        if isinstance(name, names.Attribute) and name.startswith(start)
    }
    assert {field.name for field in fields(Break)} - left_out == on_span - {"later_causes"}

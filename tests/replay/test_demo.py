"""`coldturn demo`, run as a user runs it: no network, nothing spawned, the same bytes each time."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from coldturn.replay.cli.notebook import NOTEBOOKS
from coldturn.replay.runs.demo import DEMO_POLICIES

RULE = "longest-prefix-1024-128"

# Whatever reaches out of the process fails the run.
GUARDED = """
import socket, subprocess, sys
def refuse(*_args, **_kwargs):
    raise AssertionError("the demo reached out of its process")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
subprocess.Popen.__init__ = refuse
from coldturn.replay.cli.app import main
main(sys.argv[1:])
"""


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str
    folder: Path

    @property
    def traces(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(self.folder.glob("*"))}


def run_demo(folder: Path, *arguments: str, hash_seed: str) -> Ran:
    done = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", GUARDED, "demo", "--out", str(folder), *arguments],
        capture_output=True,
        text=True,
        env=dict(os.environ, PYTHONHASHSEED=hash_seed, TZ="Asia/Kathmandu" if hash_seed != "0" else "UTC"),
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr, folder)


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run_demo(tmp_path_factory.mktemp("read") / "traces", hash_seed="0")


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run_demo(tmp_path_factory.mktemp("parsed") / "elsewhere", "--json", hash_seed="4711")


@pytest.fixture(scope="module")
def policies(parsed: Ran) -> dict[str, dict[str, Any]]:
    assert parsed.code == 0, parsed.err
    (recording,) = json.loads(parsed.out)["recordings"]
    return {policy["policy"]: policy for policy in recording["policies"]}


def row(text: str, label: str) -> list[str]:
    """The cells of a table's row, without its label."""
    (line,) = [line for line in text.splitlines() if line.strip().startswith(f"{label}  ")]
    return [cell.replace(",", "") for cell in line.replace(" %", "%").split()[-len(DEMO_POLICIES) :]]


def test_it_ends_well_and_says_what_it_did(read: Ran) -> None:
    assert read.code == 0, read.err
    assert "Traceback" not in read.err
    assert "Next:" in read.out


def test_every_policy_is_run_in_order(policies: dict[str, dict[str, Any]]) -> None:
    assert tuple(policies) == DEMO_POLICIES == ("naive", "catalog-in-system", "catalog-in-suffix", "stable")
    assert {policy["turns"] for policy in policies.values()} == {15}


def test_every_recorded_exchange_is_played_under_every_policy(policies: dict[str, dict[str, Any]]) -> None:
    for policy in policies.values():
        assert policy["playback"] == {
            "played": policies["stable"]["playback"]["played"],
            "unplayed": 0,
            "repeated": 0,
            "reordered": 0,
        }
    assert policies["stable"]["playback"]["played"] > 80


@pytest.mark.requirement("REP-7")
def test_two_runs_write_the_same_bytes(read: Ran, parsed: Ran) -> None:
    traces = {f"demo.{name}.jsonl" for name in DEMO_POLICIES}
    assert set(read.traces) == {*traces, "demo.naive.requests.ndjson", "report.html"}
    assert read.traces == parsed.traces


def test_traces_do_not_tell_where_they_were_made(read: Ran) -> None:
    for name, content in read.traces.items():
        assert str(read.folder).encode() not in content, name
        assert str(Path.home()).encode() not in content, name


def test_the_table_leads_with_uncached_tokens_and_agrees_with_the_json(
    read: Ran, policies: dict[str, dict[str, Any]]
) -> None:
    table = read.out[read.out.index("─") :]
    assert table.splitlines()[1].startswith("uncached input tokens, estimated")
    ordered = list(policies.values())
    expected = {
        "uncached input tokens, estimated": [p["uncached_tokens_estimated"][RULE] for p in ordered],
        "input tokens, estimated": [p["input_tokens_estimated"] for p in ordered],
        "input bytes": [p["input_bytes"] for p in ordered],
        "requests": [len(p["steps"]) for p in ordered],
        "extra steps among them": [p["extra_steps"] for p in ordered],
        "breaks, unplanned": [p["breaks"]["unplanned"] for p in ordered],
        "breaks, planned": [p["breaks"]["planned"] for p in ordered],
        "requests whose system text changed": [p["breaks"]["in_system_text"] for p in ordered],
    }
    for label, numbers in expected.items():
        assert row(table, label) == [str(number) for number in numbers], label
    rates = [float(cell.rstrip("%")) for cell in row(table, "hit rate, estimated")]
    assert rates == pytest.approx([100 * p["hit_rate_estimated"][RULE] for p in ordered], abs=0.06)


def test_totals_are_the_sums_of_the_steps(policies: dict[str, dict[str, Any]]) -> None:
    for policy in policies.values():
        steps = policy["steps"]
        assert policy["input_bytes"] == sum(step["input_bytes"] for step in steps)
        assert policy["input_tokens_estimated"] == sum(step["input_tokens_estimated"] for step in steps)
        read = sum(step["read_estimated"][RULE] for step in steps)
        assert policy["uncached_tokens_estimated"][RULE] == policy["input_tokens_estimated"] - read
        broken = [step["break"] for step in steps if step["break"] is not None]
        assert policy["breaks"]["unplanned"] == sum(b["verdict"] in {"broken", "unknown"} for b in broken)
        assert policy["breaks"]["planned"] == sum(b["verdict"] == "planned" for b in broken)


def in_system(policy: dict[str, Any]) -> int:
    """Requests whose system text changed for the catalogue's sake, counted from the steps."""
    found = (step["break"] for step in policy["steps"] if step["break"] is not None)
    return sum(
        any(cause["zone"] == "system" and cause["cause"] == "catalog_growth" for cause in (b, *b["later"]))
        for b in found
    )


def test_moving_the_catalogue_mends_the_system_text(policies: dict[str, dict[str, Any]]) -> None:
    assert in_system(policies["catalog-in-system"]) > 0
    assert in_system(policies["catalog-in-suffix"]) == 0


def test_it_leaves_the_promoted_tools(policies: dict[str, dict[str, Any]]) -> None:
    promoted = {
        name: policy["breaks"]["by_cause"].get("tool_promoted", 0) for name, policy in policies.items()
    }
    assert promoted["catalog-in-suffix"] == promoted["catalog-in-system"] > 0
    assert promoted["stable"] == promoted["naive"] == 0


@pytest.mark.requirement("REP-5")
def test_deferred_tools_cost_extra_steps_where_they_are_deferred(policies: dict[str, dict[str, Any]]) -> None:
    assert policies["naive"]["extra_steps"] == 0
    assert policies["stable"]["extra_steps"] > 0
    for policy in policies.values():
        scripted = len(policies["naive"]["steps"])
        assert len(policy["steps"]) == scripted + policy["extra_steps"]


def test_the_sentences_give_the_runs_own_numbers(read: Ran, policies: dict[str, dict[str, Any]]) -> None:
    said = " ".join(read.out[read.out.index("What moving") :].split())
    before, after, best = (policies[n] for n in ("catalog-in-system", "catalog-in-suffix", "stable"))
    assert f"went from {before['breaks']['in_system_text']} to {after['breaks']['in_system_text']}." in said
    assert f"tool_promoted, {after['breaks']['by_cause']['tool_promoted']} x" in said
    uncached = [p["uncached_tokens_estimated"][RULE] for p in (before, after, best)]
    assert f"uncached tokens went from {uncached[0]:,} to {uncached[1]:,}." in said
    assert f"{uncached[2]:,} uncached tokens, estimated" in said
    assert f"{best['extra_steps']} of its {len(best['steps'])} requests" in said


def next_command(read: Ran, name: str) -> list[str]:
    """The command `name` that the demo suggests, taken as a shell takes it."""
    after = read.out[read.out.index("Next:") :].splitlines()[1:]
    commands = [shlex.split(line, comments=True) for line in after]
    (command,) = [words for words in commands if words[1:2] == [name] and Path(words[0]).name == "coldturn"]
    return command


def test_the_notebook_that_it_names_exists(read: Ran) -> None:
    _coldturn, _notebook, name, *arguments = next_command(read, "notebook")
    assert name in NOTEBOOKS
    assert arguments == [str(read.folder)]


def test_explaining_its_requests_from_their_bytes_finds_what_the_replay_found(
    read: Ran, policies: dict[str, dict[str, Any]]
) -> None:
    _coldturn, *arguments = next_command(read, "explain")
    code = "import sys; from coldturn.replay.cli.app import main; main(sys.argv[1:])"
    done = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code, *arguments, "--json"], capture_output=True, check=True
    )
    (lineage,) = json.loads(done.stdout)["lineages"]
    replayed = policies["naive"]
    assert lineage["requests"] == len(replayed["steps"])
    found = {b["request"]: b["offset"] for b in lineage["breaks"]}
    steps = enumerate(step["break"] for step in replayed["steps"])
    assert found == {number: b["offset"] for number, b in steps if b}
    assert len(found) > 10


def test_a_folder_that_cannot_be_made_is_one_clear_sentence(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("mine")
    ran = run_demo(blocked / "traces", hash_seed="0")
    assert ran.code == 2
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert str(blocked) in ran.err.splitlines()[-1]
    assert blocked.read_text() == "mine"

"""Which decision is worth how much: `--ablate`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from coldturn.reference.policy import POLICIES, Policy
from coldturn.replay.cli.app import main
from coldturn.replay.runs.ablation import FLIPS, ablation_policies, with_ablation
from coldturn.replay.runs.results import RecordingResult
from coldturn.replay.runs.runner import replay_recording

McpTape = Callable[..., list[Any]]
WriteTape = Callable[..., Path]
RULE = "longest-prefix-1024-128"
STABLE = POLICIES["stable"]
CALLS = [
    (1.0, "read_file", {"path": "a"}, "A" * 9_000),
    (100.0, "read_file", {"path": "b"}, "B" * 9_000),
    (200.0, "write_file", {"path": "b"}, "ok"),
]


@pytest.fixture
def tape(write_tape: WriteTape, mcp_tape: McpTape) -> Path:
    return write_tape(mcp_tape(CALLS))


def _run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["replay", *arguments])
    assert isinstance(left.value.code, int)
    return left.value.code


@pytest.mark.requirement("REP-4", "REP-6")
def test_each_choice_of_a_policy_is_flipped_alone_and_thresholds_are_not() -> None:
    choices = [name for name, field in Policy.model_fields.items() if len(get_args(field.annotation)) > 1]
    choices.remove("current_turn_cap")  # a limit or none, no choice
    assert list(FLIPS) == choices
    base, *variants = ablation_policies(STABLE)
    assert base is STABLE
    plain = STABLE.model_dump(exclude={"name"})
    changed = []
    for variant in variants:
        fields = variant.model_dump(exclude={"name"})
        (field,) = [name for name, value in fields.items() if value != plain[name]]
        changed.append((field, fields[field]))
        assert variant.name == f"stable+{field}={fields[field]}"
    assert changed == list(FLIPS.items())


def test_a_choice_that_is_made_that_way_already_is_left_out() -> None:
    settings = {"clock": "system", "memory": "system", "name": "mine"}
    variants = ablation_policies(Policy.model_validate(settings))[1:]
    assert len(variants) == len(FLIPS) - 2
    assert not [one for one in variants if one.clock != "system" or one.memory != "system"]


def _by_field(recording: RecordingResult) -> dict[str, int]:
    assert recording.ablation is not None
    return {flip.field: flip.uncached_tokens_delta_estimated for flip in recording.ablation}


@pytest.mark.requirement("REP-6")
def test_what_a_choice_is_worth_is_the_difference_of_two_replays(tape: Path) -> None:
    found = with_ablation(replay_recording(tape, ablation_policies(STABLE)), STABLE)
    clock = Policy.model_validate({"name": "by hand", "clock": "system"})
    base, by_hand = replay_recording(tape, [STABLE, clock]).policies
    lost = by_hand.uncached_tokens_estimated[RULE] - base.uncached_tokens_estimated[RULE]
    assert lost > 1_000  # or the recording shows nothing
    assert found.ablation is not None
    (flip,) = [flip for flip in found.ablation if flip.field == "clock"]
    assert (flip.value, flip.uncached_tokens_delta_estimated, flip.rules) == ("system", lost, RULE)
    before, after = base.hit_rate_estimated(RULE), by_hand.hit_rate_estimated(RULE)
    assert before is not None
    assert after is not None
    assert flip.hit_rate_delta_estimated == pytest.approx(after - before)
    assert after < before
    worth = list(_by_field(found).values())
    assert worth == sorted(worth, reverse=True)
    assert found.ablation[0].field == "clock"


@pytest.mark.requirement("REP-6")
def test_the_command_prints_the_ranked_table_and_the_same_as_json(
    tape: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(str(tape), "--ablate", "--json") == 0
    (recording,) = json.loads(capsys.readouterr().out)["recordings"]
    assert len(recording["policies"]) == len(FLIPS) + 1
    rows = recording["ablation"]
    assert {row["field"]: row["value"] for row in rows} == dict(FLIPS)
    needed = {"field", "value", "uncached_tokens_delta_estimated", "hit_rate_delta_estimated"}
    assert all(needed <= row.keys() for row in rows)
    assert _run(str(tape), "--ablate") == 0
    out = capsys.readouterr().out
    assert "Which decision is worth how much" in out
    lines = [line.split() for line in out.splitlines() if " = " in line]
    assert [(line[0], line[2]) for line in lines] == [(row["field"], row["value"]) for row in rows]
    for line, row in zip(lines, rows, strict=True):
        assert int(line[4].replace(",", "")) == row["uncached_tokens_delta_estimated"]
        assert float(line[-3]) == pytest.approx(100 * row["hit_rate_delta_estimated"], abs=0.006)


def test_without_ablate_there_is_none(tape: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(str(tape), "--json") == 0
    assert json.loads(capsys.readouterr().out)["recordings"][0]["ablation"] is None


def test_the_policy_that_is_ablated_is_an_option(tape: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(str(tape), "--ablate", "--set", "clock=system", "--json") == 0
    (recording,) = json.loads(capsys.readouterr().out)["recordings"]
    assert recording["policies"][0]["policy"] == "stable+clock=system"
    assert "clock" not in {row["field"] for row in recording["ablation"]}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--ablate", "--compare", "stable,naive"], "exclude each other"),
        (["--compare", "stable,stable"], "stable is named twice"),
    ],
)
def test_policies_that_do_not_go_together(
    tape: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(str(tape), *arguments) == 2
    assert said in capsys.readouterr().err

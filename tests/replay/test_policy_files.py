"""Policies from TOML files, and every field by `--set`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest

from coldturn.reference.policy import POLICIES, Policy
from coldturn.replay.cli.app import main
from coldturn.replay.runs.policies import PolicyError, policy_named, with_settings

McpTape = Callable[..., list[Any]]
WriteTape = Callable[..., Path]
STABLE = POLICIES["stable"]
FIELDS = {name: field.annotation for name, field in Policy.model_fields.items() if name != "name"}
CHOICES = [
    (name, value) for name, kind in FIELDS.items() if get_origin(kind) is Literal for value in get_args(kind)
]
LIMITS = [name for name, kind in FIELDS.items() if get_origin(kind) is not Literal]


def _toml(path: Path, **fields: object) -> str:
    path.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in fields.items()))
    return str(path)


@pytest.mark.requirement("REP-4")
@pytest.mark.parametrize(("field", "value"), [*CHOICES, *((name, 4_001) for name in LIMITS)])
def test_every_field_can_be_set_on_the_command_line_and_in_a_file(
    tmp_path: Path, field: str, value: str | int
) -> None:
    rest = {"batch_tokens": 99_000} if field == "result_tokens" else {}
    settings = [f"{name}={one}" for name, one in {**rest, field: value}.items()]
    by_setting = with_settings(STABLE, settings)
    by_file = policy_named(_toml(tmp_path / "mine.toml", **rest, **{field: value}))
    assert getattr(by_setting, field) == getattr(by_file, field) == value
    assert by_file.name == "mine"
    assert by_setting.name == "+".join(["stable", *settings])
    others = STABLE.model_dump(exclude={"name", field, *rest})
    assert by_setting.model_dump(exclude={"name", field, *rest}) == others
    assert by_file.model_dump(exclude={"name", field, *rest}) == others


def test_there_are_choices_and_limits() -> None:
    assert len({name for name, _ in CHOICES}) == 13
    assert len(LIMITS) >= 11


def test_a_limit_that_may_be_absent_is_taken_away() -> None:
    capped = with_settings(STABLE, ["current_turn_cap=500"])
    assert capped.current_turn_cap == 500
    assert with_settings(capped, ["current_turn_cap=none"]).current_turn_cap is None
    assert with_settings(STABLE, ["catalogue=none"]).catalogue == "none"
    with pytest.raises(PolicyError, match="direct_tools: "):
        with_settings(STABLE, ["direct_tools=none"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("clock = system", "it is no TOML"),
        ('clok = "system"', "clok is no field; the fields are"),
        ('clock = "sun"', "clock: "),
        ("direct_tools = -1", "direct_tools: "),
        ("batch_tokens = 3", "is over batch_tokens"),
        ("[clock]\nx = 1", "clock: "),
    ],
)
def test_a_wrong_file_says_where(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(content)
    with pytest.raises(PolicyError, match=said):
        policy_named(str(path))


@pytest.mark.requirement("REP-4")
def test_files_and_names_stand_side_by_side_in_a_comparison(
    write_tape: WriteTape, mcp_tape: McpTape, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = [(1.0, "read_file", {"path": "a"}, "A" * 6_000), (100.0, "read_file", {"path": "b"}, "B")]
    tape = str(write_tape(mcp_tape(calls)))
    mine = _toml(tmp_path / "mine.toml", name="my clock", clock="system")
    with pytest.raises(SystemExit) as left:
        main(["replay", tape, "--compare", f"stable,{mine}", "--json", "--out", str(tmp_path / "out")])
    assert left.value.code == 0
    stable, other = json.loads(capsys.readouterr().out)["recordings"][0]["policies"]
    assert (stable["policy"], other["policy"]) == ("stable", "my clock")
    assert Path(other["trace"]).name == "tape.my-clock.jsonl"
    assert "clock_in_prefix" in other["breaks"]["by_cause"]
    assert "clock_in_prefix" not in stable["breaks"]["by_cause"]

"""`coldturn advise`: the ranked table, its JSON, its exit codes."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from cli_runs import Run, runner
from coldturn.analysis.advise.report import Advice, Remedy, Sums
from coldturn.analysis.advise.ways import WAYS
from coldturn.replay.cli.advise_view import advice_text

PAD = "The clerk answers briefly and never guesses. " * 60
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("a", "b", "c")
]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def written(path: Path, *, model: str = "gpt-4o", moving: bool = True) -> Path:
    lines = []
    for number in range(3):
        system = f"# Clerk\n\n## Current Time\n10:0{number if moving else 0}\n\n## Rules\n{PAD}{PAD}"
        messages = [{"role": "system", "content": system}]
        messages += [{"role": "user", "content": f"Question {one}"} for one in range(number + 1)]
        lines.append(json.dumps({"model": model, "tools": TOOLS, "messages": messages}))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_clock_is_worth_most(tmp_path: Path, run: Run) -> None:
    shown = run("advise", str(written(tmp_path / "r.jsonl")))
    assert shown.code == 0
    assert shown.out.splitlines()[0] == "3 requests; 0 % of the input is read from a cache (estimated)"
    row = next(line for line in shown.out.splitlines() if line.startswith("clock_in_prefix"))
    assert "0 % becomes 66.0 %" in row
    assert "on the wire" in shown.out
    assert "trade-off" in shown.out


def test_the_json_holds_what_the_text_shows(tmp_path: Path, run: Run) -> None:
    document = run("advise", str(written(tmp_path / "r.jsonl")), "--json").json
    (row,) = document["remedies"]
    assert (row["cause"], row["breaks"], row["hit_rate_before_estimated"]) == ("clock_in_prefix", 2, 0.0)
    assert row["saved_tokens_estimated"] > 2_000
    assert document["together"] is None


def test_standard_input_is_read_twice(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    content = written(tmp_path / "r.jsonl").read_bytes()
    named = run("advise", str(tmp_path / "r.jsonl"), "--json").json
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert run("advise", "-", "--json").json == named


def test_nothing_to_mend(tmp_path: Path, run: Run) -> None:
    shown = run("advise", str(written(tmp_path / "r.jsonl", moving=False)))
    assert (shown.code, shown.out) == (0, "3 requests: nothing to mend\n")


def test_without_rules_nothing_is_guessed(tmp_path: Path, run: Run) -> None:
    shown = run("advise", str(written(tmp_path / "r.jsonl", model="nobody-knows-it")))
    assert shown.code == 3
    assert "no rules say what mending would be worth; the causes: clock_in_prefix (2)" in shown.out
    assert "nobody-knows-it" in shown.err
    named = run("advise", str(tmp_path / "r.jsonl"), "--rules", "vllm", "--json")
    assert named.code == 0
    assert named.json["remedies"][0]["saved_tokens_estimated"] > 0


@pytest.mark.parametrize("arguments", [["missing.jsonl"], ["r.jsonl", "--rules", "nonsense"]])
def test_what_cannot_be_read_is_one_sentence(
    arguments: list[str], tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "r.jsonl")
    shown = run("advise", *arguments)
    assert shown.code == 2
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1


def test_one_bad_entry_does_not_hide_the_rest(tmp_path: Path, run: Run) -> None:
    path = written(tmp_path / "r.jsonl")
    path.write_text(path.read_text() + '{"model": \n')
    shown = run("advise", str(path), "--json")
    assert shown.code == 0
    assert len(shown.json["errors"]) == 1
    assert run("advise", str(path), "--strict").code == 2


def test_an_advice_of_nothing_says_so() -> None:
    assert advice_text(Advice(), 1) == "1 request: nothing to mend"


def test_prompts_that_are_too_short_say_why_nothing_is_gained(tmp_path: Path, run: Run) -> None:
    path = written(tmp_path / "r.jsonl")
    path.write_text(path.read_text().replace(PAD, ""))
    said = run("advise", str(path)).out
    assert (
        "Nothing is read whatever of this is mended (estimated): by the rules these prompts\nare too" in said
    )


def test_what_cannot_be_simulated_alone_has_no_table() -> None:
    advice = Advice(
        remedies=[Remedy("below_minimum", 3, Sums(), None, "Nothing to mend.", WAYS["below_minimum"])],
        before=Sums(requests=3, input=900),
    )
    assert advice_text(advice, 3).splitlines() == [
        "3 requests; 0 % of the input is read from a cache (estimated)",
        "",
        "Not simulated:",
        "  below_minimum: Nothing to mend.",
    ]


def test_a_question_of_its_own_under_the_same_prompt_is_nothing_to_mend(tmp_path: Path, run: Run) -> None:
    """Its entry had expired, and that alone: that the texts part where it begins is no cause."""
    bodies = []
    for number, question in enumerate(("Where is my order?", "Please cancel all that I have.")):
        body = {
            "model": "claude-sonnet-4-5",
            "max_tokens": 9,
            "system": [{"type": "text", "text": PAD, "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": question}],
        }
        usage = {"input_tokens": 9, "cache_creation_input_tokens": 3_000, "cache_read_input_tokens": 0}
        reply = {"type": "message", "id": f"m{number}", "role": "assistant", "content": [], "usage": usage}
        bodies.append({"request": body, "response": reply, "started": 1_790_000_000 + 900 * number})
    path = tmp_path / "two.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in bodies))
    shown = run("advise", str(path), "--json").json
    assert [one["cause"] for one in shown["remedies"]] == ["ttl_expired"]


def test_a_mend_that_costs_says_why_and_where_explain_differs() -> None:
    before, after = Sums(9_000, 1_500, 1_500, 3), Sums(9_000, 0, 900, 3)
    dear = Remedy("tool_added", 1, before, after, "Fix the tools array.", WAYS["tool_added"])
    told = advice_text(Advice([dear], before, None, 3), 3).splitlines()
    assert "`coldturn explain` differs" in " ".join(told)
    at = told.index("tool_added: Fix the tools array.")
    assert told[at + 3].startswith("  costs more   What requests still share alone is then too short")
    assert "listing the tool from the first request on" in told[at + 3]
    longer = Remedy("tool_removed", 1, before, Sums(9_900, 1_600), "Keep it.", WAYS["tool_removed"])
    told = advice_text(Advice([longer], before, None, 3), 3).splitlines()
    assert told[-1].startswith("  costs more   What is sent behind the history, or kept, is more than")

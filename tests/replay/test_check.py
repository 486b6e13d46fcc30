"""`coldturn check` as a user and as CI run it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from cli_runs import Ran, Run, runner
from coldturn.reference.policy import Policy
from coldturn.replay.check.measured import Measured
from replay.gate_logs import GROWN, SYSTEM, body, broken, sound, write

LOCK = Path("coldturn.lock.json")
FINDING_KEYS = {"kind", "source", "request", "cause", "zone", "path", "message", "mend", "policy"}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the program in an empty folder, outside CI."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    return runner(capsys)


def kinds(ran: Ran) -> list[str]:
    return [finding["kind"] for finding in ran.json["findings"]]


def lock() -> dict[str, Any]:
    value: dict[str, Any] = json.loads(LOCK.read_text(encoding="utf-8"))
    return value


def exempt(**values: object) -> None:
    """Write an exemption into the baseline, as a person does."""
    data = lock()
    data["exemptions"] = [values]
    LOCK.write_text(json.dumps(data), encoding="utf-8")


def test_a_new_break_fails_and_names_cause_place_and_mend(run: Run) -> None:
    sound()
    assert run("check", "a.jsonl", "--create").code == 0
    assert run("check", "a.jsonl").code == 0
    broken()
    ran = run("check", "a.jsonl", "--json")
    assert ran.code == 1
    assert ran.json["schema"] == "coldturn.check/1"
    assert ran.json["ok"] is False
    (finding,) = ran.json["findings"]
    assert finding.keys() == FINDING_KEYS
    assert (finding["kind"], finding["source"], finding["request"]) == ("new_break", "a.jsonl", 2)
    assert (finding["cause"], finding["zone"]) == ("catalog_growth", "system")
    assert finding["path"] == "$.messages[0]"
    assert finding["mend"] == "--fix"
    text = run("check", "a.jsonl")
    assert text.code == 1
    assert "catalog_growth  request 2  system" in text.out
    assert "accept --fix" in text.out
    assert "estimated" in text.out


def test_what_was_accepted_passes_until_it_comes_more_often(run: Run) -> None:
    sound()
    run("check", "a.jsonl", "--create")
    broken()
    assert run("check", "a.jsonl", "--fix").code == 0
    assert run("check", "a.jsonl").code == 0
    again = GROWN.replace("- grep: finds\n", "- grep: finds\n- ls: lists\n")
    write(
        "a.jsonl", body("a"), body("a", "b"), body("a", "b", "c", system=GROWN), body(*"abcd", system=again)
    )
    ran = run("check", "a.jsonl", "--json")
    assert [finding["request"] for finding in ran.json["findings"]] == [3]


def test_a_known_break_may_move_to_another_request(run: Run) -> None:
    broken()
    run("check", "a.jsonl", "--create")
    write("a.jsonl", body("a"), body("a", "b", system=GROWN), body("a", "b", "c", system=GROWN))
    assert run("check", "a.jsonl").code in {0, 1}
    assert "new_break" not in kinds(run("check", "a.jsonl", "--json"))


def test_a_recording_new_to_the_baseline_is_judged_by_itself(run: Run) -> None:
    sound("a.jsonl")
    ran = run("check", "a.jsonl")
    assert ran.code == 0
    assert "--create" in ran.err
    assert not LOCK.exists()
    broken("b.jsonl")
    ran = run("check", "a.jsonl", "b.jsonl", "--json")
    assert ran.code == 1
    assert [(one["source"], one["mend"]) for one in ran.json["findings"]] == [("b.jsonl", "--create")]
    # The other words do not accept a recording that the baseline does not know.
    assert run("check", "a.jsonl", "b.jsonl", "--fix", "--trim", "--update").code == 1
    assert not LOCK.exists()
    assert run("check", "a.jsonl", "b.jsonl", "--create").code == 0
    assert run("check", "a.jsonl", "b.jsonl").code == 0


def test_create_leaves_known_recordings_alone(run: Run) -> None:
    sound()
    run("check", "a.jsonl", "--create")
    before = LOCK.read_bytes()
    broken()
    assert run("check", "a.jsonl", "--create").code == 1
    assert LOCK.read_bytes() == before


def test_a_changed_prompt_is_cold_on_deploy_and_no_failure(run: Run) -> None:
    sound()
    run("check", "a.jsonl", "--create")
    changed = SYSTEM + "Always say please."
    sound(system=changed)
    ran = run("check", "a.jsonl", "--json")
    assert ran.code == 0
    assert ran.json["findings"] == []
    (cold,) = ran.json["cold_on_deploy"]
    assert cold["source"] == "a.jsonl"
    assert len("Always say please.") <= cold["bytes"] < len(changed.encode())
    assert "cold on deploy: " in run("check", "a.jsonl").out
    assert run("check", "a.jsonl", "--fix", "--create", "--trim").code == 0
    assert run("check", "a.jsonl", "--json").json["cold_on_deploy"] == [cold]
    before = lock()["prompts"]
    assert run("check", "a.jsonl", "--update").code == 0
    assert run("check", "a.jsonl", "--json").json["cold_on_deploy"] == []
    assert [one["prompt"] for one in lock()["prompts"]] != [one["prompt"] for one in before]
    assert len(lock()["prompts"]) == 1


def test_cold_bytes_are_counted_from_the_first_change(run: Run) -> None:
    sound()
    run("check", "a.jsonl", "--create")
    sound(system="X" + SYSTEM[1:])
    whole = run("check", "a.jsonl", "--json").json["cold_on_deploy"][0]["bytes"]
    assert whole == len(SYSTEM.encode())


def test_a_hit_rate_that_falls_too_far_fails(run: Run) -> None:
    long = SYSTEM + "x" * 40_000
    sound(system=long)
    run("check", "a.jsonl", "--create")
    assert lock()["recordings"][0]["hit_rate_estimated"] > 0.6
    write("a.jsonl", body("a", system=long))
    ran = run("check", "a.jsonl", "--json")
    assert ran.code == 1
    assert kinds(ran) == ["hit_rate"]
    assert ran.json["findings"][0]["mend"] == "--fix"
    assert "estimated" in ran.json["findings"][0]["message"]
    assert run("check", "a.jsonl", "--tolerance", "1").code == 0
    assert run("check", "a.jsonl", "--fix").code == 0
    assert run("check", "a.jsonl").code == 0


def test_a_clock_in_the_stable_part_is_a_lint(run: Run) -> None:
    sound(system=SYSTEM + "\nNow it is 2026-05-01 10:01:12.")
    ran = run("check", "a.jsonl", "--json")
    assert ran.code == 1
    assert kinds(ran) == ["zone_lint"], "one clock is one finding"
    assert "the clock '2026-05-01 10:01:12'" in ran.json["findings"][0]["message"]
    assert "10:01:12" not in run("check", "a.jsonl", "--json", "--no-content").out
    assert run("check", "a.jsonl", "--no-lint").code == 0
    assert run("check", "a.jsonl", "--create").code == 0
    assert run("check", "a.jsonl").code == 0


def test_the_parts_of_one_moment_are_one_lint(run: Run) -> None:
    sound(system=SYSTEM + "\nToday is Monday, November 30, 2026.")
    (finding,) = run("check", "a.jsonl", "--json").json["findings"]
    assert "the date 'Monday, November 30, 2026'" in finding["message"]
    sound(system=SYSTEM + "\nToday is Monday.\nThe date: November 30, 2026\nThe time: 10:01:12 UTC")
    (finding,) = run("check", "a.jsonl", "--json").json["findings"]
    assert finding["cause"] == "time"


LONG = "line of a long result\n" * 400
SHORT = LONG[:200] + "\n[... shortened: 8,600 bytes left out ...]"


def step(result: str, *more: dict[str, Any], system: str = SYSTEM) -> dict[str, Any]:
    """A request behind one tool call with its result."""
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    answer = {"role": "tool", "tool_call_id": "c", "content": result}
    one = body("a", system=system)
    return {**one, "messages": [*one["messages"], asked, answer, *more]}


GOES_ON = {"role": "assistant", "content": "Going on."}


def test_an_elision_within_a_turn_breaks_a_rule(run: Run) -> None:
    write("a.jsonl", body("a"), step(LONG), step(SHORT, GOES_ON))
    ran = run("check", "a.jsonl", "--json")
    assert ran.code == 1
    assert kinds(ran) == ["planned_rule"]
    assert ran.json["findings"][0]["cause"] == "elision_moving_boundary"


def test_a_broken_rule_behind_another_break_is_found_too(run: Run) -> None:
    write("a.jsonl", body("a"), step(LONG), step(SHORT, GOES_ON, system=GROWN))
    found = run("check", "a.jsonl", "--json").json["findings"]
    assert [(one["kind"], one["cause"]) for one in found] == [
        ("new_break", "catalog_growth"),
        ("planned_rule", "elision_moving_boundary"),
    ]


def test_a_planned_elision_between_turns_passes(run: Run) -> None:
    write("a.jsonl", body("a"), step(LONG), step(SHORT, GOES_ON, {"role": "user", "content": "next"}))
    assert run("check", "a.jsonl").code == 0


def test_an_accepted_break_is_known_at_another_index(run: Run) -> None:
    def tooled(*names: str) -> dict[str, Any]:
        tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in names]
        return {**body("a"), "tools": tools}

    write("a.jsonl", tooled("one"), tooled("one", "two"))
    run("check", "a.jsonl", "--create")
    write("a.jsonl", tooled("one", "more"), tooled("one", "more", "two"))
    assert kinds(run("check", "a.jsonl", "--json", "--tolerance", "1")) == []


def test_an_exemption_needs_a_reason_and_is_told(run: Run) -> None:
    broken()
    LOCK.write_text('{"schema": "coldturn.lock/1", "rules": "longest-prefix-1024-128"}', encoding="utf-8")
    exempt(source="a.jsonl", cause="catalog_growth", reason="the catalogue is announced once")
    ran = run("check", "a.jsonl", "--json")
    assert ran.code == 0
    (told,) = ran.json["exempted"]
    assert told["source"] == "a.jsonl"
    assert told["request"] == 2
    assert told["reason"] == "the catalogue is announced once"
    for other in ({"request": 1}, {"cause": "tool_added"}, {"policy": "stable"}):
        exempt(**{"source": "a.jsonl", "cause": "catalog_growth", "reason": "of another", **other})
        assert "new_break" in kinds(run("check", "a.jsonl", "--json"))
    exempt(source="a.jsonl", cause="catalog_growth", request=1, reason="elsewhere")
    assert set(kinds(run("check", "a.jsonl", "--json"))) == {"new_break", "stale_exemption"}
    for reason in ("", "   "):
        exempt(source="a.jsonl", cause="catalog_growth", reason=reason)
        ran = run("check", "a.jsonl")
        assert ran.code == 2
        assert "reason is empty" in ran.err
    exempt(source="a.jsonl", cause="catalog_growth")
    assert "no reason" in run("check", "a.jsonl").err


def test_a_stale_exemption_fails_until_it_is_trimmed(run: Run) -> None:
    sound()
    run("check", "a.jsonl", "--create")
    exempt(source="a.jsonl", cause="catalog_growth", reason="was wanted once")
    ran = run("check", "a.jsonl", "--json")
    assert ran.code == 1
    assert kinds(ran) == ["stale_exemption"]
    assert ran.json["findings"][0]["mend"] == "--trim"
    sound("b.jsonl")
    assert kinds(run("check", "b.jsonl", "--json")) == [], "its recording was not looked at"
    assert run("check", "a.jsonl", "--trim").code == 0
    assert lock()["exemptions"] == []


def test_exemptions_may_stand_in_the_settings(run: Run) -> None:
    broken("logs/a.jsonl")
    text = '[[tool.coldturn.check.exemptions]]\nsource = "{}"\ncause = "catalog_growth"\nreason = "{}"\n'
    settings = Path("pyproject.toml")
    settings.write_text(text.format("logs/a.jsonl", "wanted"), encoding="utf-8")
    # Paths start where the file stands, wherever the baseline is.
    assert run("check", "logs", "--baseline", "ci/base.lock.json").code == 0
    sound("logs/a.jsonl")
    ran = run("check", "logs", "--trim", "--json")
    assert kinds(ran) == ["stale_exemption"]
    assert "pyproject.toml" in ran.json["findings"][0]["mend"]
    settings.write_text(text.format("logs/a.jsonl", ""), encoding="utf-8")
    ran = run("check", "logs")
    assert ran.code == 2
    assert "pyproject.toml" in ran.err


def test_nothing_looked_at_fails(run: Run) -> None:
    Path("empty").mkdir()
    ran = run("check", "empty", "--json")
    assert ran.code == 2
    assert kinds(ran) == ["nothing_checked"]
    write("other.jsonl", {"url": "http://x/", "request": {"hello": 1}, "response": None})
    ran = run("check", "other.jsonl", "--json")
    assert ran.code == 1
    assert kinds(ran) == ["nothing_checked"]


def test_a_recording_that_holds_nothing_any_more_fails(run: Run) -> None:
    sound("a.jsonl")
    sound("b.jsonl")
    run("check", "a.jsonl", "b.jsonl", "--create")
    write("b.jsonl", {"url": "http://x/", "request": {"hello": 1}, "response": None})
    ran = run("check", "a.jsonl", "b.jsonl", "--json")
    assert ran.code == 1
    assert [(one["kind"], one["mend"]) for one in ran.json["findings"]] == [("nothing_checked", "--trim")]
    assert run("check", "a.jsonl", "b.jsonl", "--trim").code == 0
    assert [one["source"] for one in lock()["recordings"]] == ["a.jsonl"]


def test_a_known_recording_that_became_something_else_fails(run: Run) -> None:
    sound("logs/a.jsonl")
    sound("logs/b.jsonl")
    run("check", "logs", "--create")
    write("logs/b.jsonl", {"hello": 1})
    ran = run("check", "logs", "--json")
    assert ran.code == 1
    assert [(one["kind"], one["source"]) for one in ran.json["findings"]] == [
        ("nothing_checked", "logs/b.jsonl")
    ]


def test_files_of_other_kinds_in_a_folder_do_not_matter(run: Run, demo: Path) -> None:
    sound("logs/a.jsonl")
    write("logs/b.json", {"hello": 1})
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    write("logs/c.jsonl", {"url": "http://x/mcp", "request": listing, "response": None})
    for more in ([], ["--policy", "stable"], ["--format", "junit"]):
        ran = run("check", "logs", *more)
        assert ran.code == 0, ran.err
        assert "logs/b.json" in ran.err
        assert "c.jsonl" not in ran.out
    assert run("check", "logs/a.jsonl", "logs/c.jsonl").code == 0
    assert run("check", "logs/c.jsonl").code == 1, "nothing was looked at"
    assert run("check", "logs/a.jsonl", "logs/c.jsonl", "--policy", "stable").code == 2


def test_recorded_requests_beside_mcp_are_replayed_only_when_asked_for(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    replayed: list[str] = []

    def replay(source: str, policy: Policy, *_: object, **__: object) -> Measured:
        replayed.append(f"{source} under {policy.name}")
        return Measured(source, source, policy.name, 1, (), (), (), 0, 0, 0)

    monkeypatch.setattr("coldturn.replay.check.replayed.measure_replay", replay)
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    mcp = {"url": "http://x/mcp", "request": listing, "response": None}
    write("a.jsonl", mcp, body("a"), body("a", "b"))
    assert run("check", "a.jsonl", "--create").code == 0
    assert replayed == []
    assert [one["policy"] for one in lock()["recordings"]] == ["recorded"]
    assert run("check", "a.jsonl", "--create", "--policy", "naive").code == 0
    assert replayed == ["a.jsonl under naive"]
    write("b.jsonl", mcp)
    assert run("check", "b.jsonl").code == 0
    assert replayed[1:] == ["b.jsonl under stable"]


def test_standard_input_is_looked_at(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    text = Path(broken()).read_bytes()
    for words, code in (([], 1), (["--create"], 0), ([], 0), (["--trim"], 0)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
        assert run("check", "-", *words).code == code
    assert [one["source"] for one in lock()["recordings"]] == ["<stdin>"]


def test_trim_drops_what_is_gone(run: Run) -> None:
    sound("a.jsonl")
    broken("b.jsonl")
    run("check", "a.jsonl", "b.jsonl", "--create")
    sound("b.jsonl")
    Path("a.jsonl").unlink()
    ran = run("check", "b.jsonl")
    assert ran.code == 0
    assert "a.jsonl" in ran.err
    assert "mended since" in ran.err
    assert run("check", "b.jsonl", "--trim").code == 0
    (line,) = lock()["recordings"]
    assert line["source"] == "b.jsonl"
    assert line["breaks"] == []
    broken("b.jsonl")
    assert run("check", "b.jsonl").code == 1


def test_recordings_that_were_not_looked_at_stay_in_the_baseline(run: Run) -> None:
    sound("b.jsonl")
    run("check", "b.jsonl", "--create")
    sound("a.jsonl")
    run("check", "a.jsonl", "--create")
    assert run("check", "b.jsonl", "--trim", "--fix", "--update").code == 0
    assert [one["source"] for one in lock()["recordings"]] == ["a.jsonl", "b.jsonl"]
    assert "gone" not in run("check", "b.jsonl").err


def test_what_a_server_refused_was_not_cached(run: Run) -> None:
    long = SYSTEM + "x" * 40_000
    interactions = [
        {
            "request": {"method": "POST", "uri": "http://x/", "body": json.dumps(one), "headers": {}},
            "response": {"status": {"code": code, "message": ""}, "headers": {}, "body": {"string": "{}"}},
        }
        for one, code in ((body("a", system=long), 500), (body("a", "b", system=long), 200))
    ]
    Path("a.yaml").write_text(json.dumps({"version": 1, "interactions": interactions}), encoding="utf-8")
    run("check", "a.yaml", "--create")
    assert lock()["recordings"][0]["requests"] == 2
    assert lock()["recordings"][0]["hit_rate_estimated"] == 0


def test_strict_fails_on_an_entry_that_cannot_be_read(run: Run) -> None:
    sound()
    with Path("a.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"model": "m", "messages": 3\n')
    assert run("check", "a.jsonl").code == 0
    assert run("check", "a.jsonl", "--json").json["errors"]
    assert run("check", "a.jsonl", "--strict").code == 2


def test_a_conversation_beside_another_has_a_prompt_of_its_own(run: Run) -> None:
    other = "You look after the weather.\n\n" + "Speak of rain. " * 80

    def two(second: str) -> None:
        write("a.jsonl", body("a"), body("a", "b"), body("x", system=second), body("x", "y", system=second))

    two(other)
    run("check", "a.jsonl", "--create")
    assert len(lock()["prompts"]) == 2
    two(other.replace("rain", "snow"))
    ran = run("check", "a.jsonl", "--json")
    assert ran.code == 0
    assert len(ran.json["cold_on_deploy"]) == 1


def test_a_session_is_replayed_under_policies(run: Run, demo: Path) -> None:
    ran = run("check", str(demo), "--json")
    assert ran.code == 1
    assert {finding["policy"] for finding in ran.json["findings"]} == {"stable"}
    sound("a.jsonl")
    inputs = ("check", "a.jsonl", str(demo), "--policy", "stable", "--policy", "catalog-in-system")
    assert run(*inputs, "--create").code == 0
    pairs = {(Path(one["source"]).name, one["policy"]) for one in lock()["recordings"]}
    assert pairs == {
        ("a.jsonl", "recorded"),
        (demo.name, "stable"),
        (demo.name, "catalog-in-system"),
    }
    assert run(*inputs).code == 0


@pytest.fixture
def demo() -> Path:
    """The recording that ships with the package."""
    return Path(__file__).parents[2] / "replay/coldturn/replay/recordings/demo.jsonl"


def test_one_broken_input_does_not_stop_the_rest(run: Run) -> None:
    sound("a.jsonl")
    Path("b.yaml").write_text("interactions: [\n", encoding="utf-8")
    ran = run("check", "a.jsonl", "b.yaml", "--create", "--json")
    assert ran.code == 2
    assert [error["source"] for error in ran.json["errors"]] == ["b.yaml"]
    assert [one["source"] for one in lock()["recordings"]] == ["a.jsonl"]


def test_options_that_do_not_fit_are_refused(run: Run) -> None:
    sound()
    assert run("check", "a.jsonl", "--json", "--format", "junit").code == 2
    ran = run("check", "a.jsonl", "--policy", "nosuch")
    assert ran.code == 2
    assert "stable" in ran.err
    Path("recorded.toml").write_text('clock = "system"\n', encoding="utf-8")
    assert run("check", "a.jsonl", "--policy", "recorded.toml").code == 2


def test_settings_hold_options_of_the_gate(run: Run) -> None:
    broken()
    Path("pyproject.toml").write_text(
        '[tool.coldturn.check]\nbaseline = "ci.lock.json"\ntolerance = 0.5\n', encoding="utf-8"
    )
    assert run("check", "a.jsonl", "--create").code == 0
    assert Path("ci.lock.json").exists()
    assert run("check", "a.jsonl").code == 0


def test_in_ci_a_baseline_is_rewritten_only_with_a_word(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    sound()
    monkeypatch.setenv("CI", "true")
    ran = run("check", "a.jsonl", "--create")
    assert ran.code == 0
    assert "gates nothing" in ran.err
    assert "gates nothing" not in run("check", "a.jsonl", "--create").err


def behind_a_clock(*, clock: bool) -> None:
    """A log whose third request has lost a thought, behind instructions that may hold a clock."""
    thought = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x" * 900}
    said = [{"role": "user", "content": word * 300} for word in ("one ", "two ", "three ")]
    inputs = [said[:1], [said[0], thought, said[1]], said]
    write(
        "a.jsonl",
        *(
            {
                "model": "gpt-5.5",
                "instructions": f"It is 10:0{at if clock else 0}:07 UTC.\n\n## Rules\n{'Be brief. ' * 60}",
                "input": given,
            }
            for at, given in enumerate(inputs)
        ),
    )


def known() -> list[tuple[str, list[int]]]:
    (line,) = lock()["recordings"]
    return [(one["cause"], one["requests"]) for one in line["breaks"]]


@pytest.mark.parametrize("words", [("--fix",), ("--fix", "--trim")])
def test_an_accepted_break_that_another_hides_is_not_mended(run: Run, words: tuple[str, ...]) -> None:
    behind_a_clock(clock=False)
    run("check", "a.jsonl", "--create", "--no-lint")
    assert known() == [("thinking_stripped", [2])]
    behind_a_clock(clock=True)
    ran = run("check", "a.jsonl", "--no-lint")
    assert ran.code == 1
    assert "clock_in_prefix" in ran.out
    assert "mended since" not in ran.err
    run("check", "a.jsonl", "--no-lint", "--update", *words)
    assert known() == [("clock_in_prefix", [1, 2]), ("thinking_stripped", [2])]
    behind_a_clock(clock=False)
    ran = run("check", "a.jsonl", "--no-lint")
    assert ran.code == 0, "what was accepted once is not new"
    assert "mended since" in ran.err, "the clock is"


def test_an_exempted_break_is_not_mended(run: Run) -> None:
    broken()
    run("check", "a.jsonl", "--create")
    exempt(source="a.jsonl", cause="catalog_growth", reason="known")
    assert "mended since" not in run("check", "a.jsonl", "--fix", "--trim").err
    assert known() == [("catalog_growth", [2])]

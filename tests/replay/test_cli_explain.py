"""`coldturn explain` and `coldturn diff` as a user runs them."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cli_runs import Ran, Run, runner

SYSTEM = "You are careful.\n\n## Tool Catalog\n- read: reads\n\n## Rules\n" + "Be brief. " * 60


def body(*users: str, system: str = SYSTEM) -> dict[str, Any]:
    messages = [{"role": "system", "content": system}, *({"role": "user", "content": user} for user in users)]
    return {"model": "m", "messages": messages}


GROWN = SYSTEM.replace("- read: reads\n", "- read: reads\n- grep: finds\n")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the program in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


def written(name: str, *values: object) -> str:
    Path(name).write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return name


def broken_pair(name: str = "log.jsonl") -> str:
    return written(name, body("a"), body("a", "b", system=GROWN))


def test_a_break_is_told_in_a_few_lines(run: Run) -> None:
    ran = run("explain", broken_pair())
    assert ran.code == 0
    assert "catalog_growth" in ran.out
    assert "## Tool Catalog" in ran.out
    assert "request 1 after 0" in ran.out
    assert "estimated" in ran.out
    assert "{+" in ran.out
    assert "grep: finds" in ran.out
    assert "2 requests in 1 conversation: 1 unplanned break" in ran.out
    assert "\x1b" not in ran.out
    assert ran.err == ""
    assert len(ran.out.splitlines()) <= 12


def test_places_say_what_they_count(run: Run) -> None:
    wire = json.dumps(body("a", "b", system=GROWN)).index("- grep")
    out = run("explain", broken_pair()).out
    assert f"behind byte {GROWN.index('- grep')} of the prompt (byte {wire} of the newer body)" in out
    Path("a.md").write_text("one two", encoding="utf-8")
    Path("b.md").write_text("one three", encoding="utf-8")
    assert "behind byte 5 of the text" in run("diff", "--text", "a.md", "b.md").out


def test_json_goes_to_standard_output_alone(run: Run) -> None:
    ran = run("explain", broken_pair(), "--json")
    assert ran.code == 0
    (lineage,) = ran.json["lineages"]
    assert lineage["source"] == "log.jsonl"
    assert lineage["breaks"][0]["cause"] == "catalog_growth"
    assert ran.err == ""


def test_no_break_is_said_too(run: Run) -> None:
    ran = run("explain", written("log.jsonl", body("a"), body("a", "b")))
    assert ran.code == 0
    assert "no unplanned break" in ran.out


@pytest.mark.parametrize(
    ("asked", "code"),
    [(["any"], 1), (["catalog_growth"], 1), (["tool_added"], 0), (["tool_added", "any"], 1)],
)
def test_failing_is_asked_for(run: Run, asked: list[str], code: int) -> None:
    options = [word for cause in asked for word in ("--fail-on", cause)]
    assert run("explain", broken_pair(), *options).code == code


def test_failing_on_a_cause_that_does_not_exist_is_a_usage_error(run: Run) -> None:
    ran = run("explain", broken_pair(), "--fail-on", "tool_aded")
    assert ran.code == 2
    assert "tool_aded" in ran.err
    assert ran.out == ""


def test_settings_stand_in_pyproject(run: Run) -> None:
    Path("pyproject.toml").write_text('[tool.coldturn.explain]\nfail-on = ["any"]\n', encoding="utf-8")
    assert run("explain", broken_pair()).code == 1
    Path("pyproject.toml").write_text("[tool.coldturn]\nno-content = true\njson = true\n", encoding="utf-8")
    assert run("explain", broken_pair()).json["lineages"][0]["breaks"][0]["was"] is None
    Path("pyproject.toml").write_text('[tool.coldturn.explain]\nformat = "jsonl"\n', encoding="utf-8")
    assert run("explain", broken_pair()).code == 0
    Path("pyproject.toml").write_text("[tool.coldturn.explain]\nno-contnt = true\n", encoding="utf-8")
    assert "no-contnt" in run("explain", broken_pair()).err
    Path("pyproject.toml").write_text("[tool.coldturn\n", encoding="utf-8")
    ran = run("explain", broken_pair())
    assert ran.code == 2
    assert "pyproject.toml" in ran.err


def test_one_request_can_be_picked(run: Run) -> None:
    again = GROWN.replace("- grep: finds\n", "- grep: finds\n- ls: lists\n")
    name = written("log.jsonl", *(body("a", system=system) for system in (SYSTEM, GROWN, again)))
    assert [found["request"] for found in breaks(run("explain", name, "--json"))] == [1, 2]
    assert [found["request"] for found in breaks(run("explain", name, "--json", "--request", "1"))] == [1]
    ran = run("explain", name, "--request", "3")
    assert ran.code == 2
    assert "3 requests" in ran.err


def breaks(ran: Ran) -> list[dict[str, Any]]:
    return [found for lineage in ran.json["lineages"] for found in lineage["breaks"]]


def test_repeats_are_folded(run: Run) -> None:
    bodies = [body("a", system=f"Clock 10:{minute:02}:00. {SYSTEM}") for minute in range(9)]
    ran = run("explain", written("log.jsonl", *bodies))
    assert "requests 2-8: the same (another " in ran.out
    assert len(ran.out.splitlines()) <= 14


def test_no_content_keeps_prompt_text_out_of_both_outputs(run: Run) -> None:
    systems = (SYSTEM + f"\n\n## Secret\nZanzibar {number}" for number in (1, 2))
    name = written("log.jsonl", *(body("a", system=system) for system in systems))
    assert "Zanzibar" in run("explain", name).out
    for options in ([], ["--json"]):
        ran = run("explain", name, "--no-content", *options)
        assert ran.code == 0
        assert "Zanzibar" not in ran.out + ran.err


def test_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    content = Path(broken_pair()).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    ran = run("explain", "-", "--json")
    assert ran.json["lineages"][0]["source"] == "<stdin>"


def test_a_folder_and_a_glob(run: Run) -> None:
    Path("in/deep").mkdir(parents=True)
    broken_pair("in/deep/b.jsonl")
    broken_pair("in/a.jsonl")
    Path("in/notes.md").write_text("# notes", encoding="utf-8")
    Path("in/package.json").write_text('{"name": "x"}', encoding="utf-8")
    folder = run("explain", "in", "--json")
    assert folder.code == 0
    assert [lineage["source"] for lineage in folder.json["lineages"]] == ["in/a.jsonl", "in/deep/b.jsonl"]
    assert [error["source"] for error in folder.json["errors"]] == ["in/package.json"]
    glob = run("explain", "in/**/*.jsonl", "--json")
    assert len(glob.json["lineages"]) == 2


def test_an_input_that_cannot_be_read_does_not_stop_the_others(run: Run) -> None:
    name = broken_pair()
    ran = run("explain", "missing.json", name, "--json")
    assert ran.code == 2
    assert len(breaks(ran)) == 1
    assert ran.json["errors"][0]["source"] == "missing.json"
    assert "missing.json" in ran.err


def test_entries_that_cannot_be_read_are_listed_and_strict_fails(run: Run) -> None:
    name = broken_pair()
    with Path(name).open("a", encoding="utf-8") as file:
        file.write('{"model": "m", "mess')
    ran = run("explain", name, "--json")
    assert ran.code == 0
    assert ran.json["errors"][0]["entry"] == 2
    assert run("explain", name, "--strict").code == 2


DEEP = '{"model":"m","messages":[{"role":"user","content":' + "[" * 5000 + "]" * 5000 + "}]}"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", 2),
        (b"just some text", 2),
        (bytes(range(256)) * 20, 2),
        (b'{"model": "m", "messages": [{"role": "us', 2),
        (b"interactions:\n- request: {method: GET\n", 2),
        (b"interactions: []\nversion: 1\n", 2),
        (b"[]", 2),
        (b'{"timestamp": 0, "input_length": 6, "hash_ids": [0]}\n' * 2, 3),
        (b'{"model":"m","messages":[{"role":"user","content":"\\ud800"}],"temperature":NaN}', 0),
        (DEEP.encode(), 0),
    ],
)
def test_bad_input_is_one_clear_sentence(run: Run, content: bytes, code: int) -> None:
    Path("bad.json").write_bytes(content)
    for options in ([], ["--json"]):
        ran = run("explain", "bad.json", *options)
        assert ran.code == code
        if code:
            assert ran.err.count("\n") == 1
            assert "bad.json" in ran.err
    assert Path("bad.json").read_bytes() == content


def test_lone_surrogates_can_be_printed(run: Run) -> None:
    older = json.dumps(body("a", system="\ud800 one " + SYSTEM))
    newer = json.dumps(body("a", system="\ud800 two " + SYSTEM))
    Path("log.jsonl").write_text(f"{older}\n{newer}\n", encoding="utf-8")
    assert run("explain", "log.jsonl").code == 0
    ran = run("explain", "log.jsonl", "--json")
    assert ran.code == 0
    assert breaks(ran)[0]["was"].startswith("one")


def test_diff_compares_two_bodies_whatever_they_share(run: Run) -> None:
    older, newer = written("a.json", body("a")), written("b.json", body("z", system="Nothing alike."))
    ran = run("diff", older, newer, "--json")
    assert ran.code == 0
    (found,) = breaks(ran)
    assert (found["offset"], found["path"]) == (0, "$.messages[0]")
    assert found["source"] == "b.json"


def test_diff_of_equal_bodies_finds_nothing(run: Run) -> None:
    older, newer = written("a.json", body("a")), written("b.json", body("a", "b"))
    ran = run("diff", older, newer)
    assert ran.code == 0
    assert "no unplanned break" in ran.out


def test_diff_of_two_formats_is_refused(run: Run) -> None:
    older = written("a.json", body("a"))
    newer = written("b.json", {"model": "m", "input": "a"})
    ran = run("diff", older, newer)
    assert ran.code == 2
    assert "responses" in ran.err


def test_diff_wants_one_request_each(run: Run) -> None:
    older, many = written("a.json", body("a")), written("b.jsonl", body("a"), body("b"))
    ran = run("diff", older, many)
    assert ran.code == 2
    assert "more than one" in ran.err


@pytest.mark.parametrize("command", [["diff", "--text"], ["explain", "--text"]])
def test_two_plain_texts(run: Run, command: list[str]) -> None:
    older, newer = "é\n" + SYSTEM, "é\n" + GROWN
    Path("a.md").write_text(older, encoding="utf-8")
    Path("b.md").write_text(newer, encoding="utf-8")
    ran = run(*command, "a.md", "b.md", "--json")
    assert ran.code == 0
    (found,) = breaks(ran)
    assert found["cause"] == "catalog_growth"
    assert found["section"] == "## Tool Catalog"
    assert (found["path"], found["zone"]) == ("$", "system")
    assert found["delta_bytes"] == len(newer.encode()) - len(older.encode())
    assert found["block_offset"] == found["wire_offset"]
    assert newer.encode()[: found["block_offset"]] == older.encode()[: found["block_offset"]]


def test_texts_must_be_text_and_two(run: Run) -> None:
    Path("a.md").write_text("x", encoding="utf-8")
    Path("b.md").write_bytes(b"\xff\xfe")
    assert run("explain", "--text", "a.md").code == 2
    assert run("explain", "--text", "a.md", "b.md").code == 2


def with_reminder(*users: str, reminder: bool) -> dict[str, Any]:
    """Chat body whose last user message carries a tagged block at its very end."""
    request = body(*users)
    if reminder:
        blocks = [request["messages"][-1]["content"], "<system-reminder>\nKeep at it.\n</system-reminder>"]
        request["messages"][-1]["content"] = [{"type": "text", "text": text} for text in blocks]
    else:
        text = request["messages"][-1]["content"]
        request["messages"][-1]["content"] = [{"type": "text", "text": text}]
    return request


def test_a_harmless_break_is_listed_and_fails_nothing_unless_named(run: Run) -> None:
    name = written("log.jsonl", with_reminder("a", reminder=True), with_reminder("a", reminder=False))
    ran = run("explain", name, "--json", "--fail-on", "any")
    assert [found["verdict"] for found in breaks(ran)] == ["broken_harmless"]
    assert ran.code == 0
    assert run("explain", name, "--fail-on", "transient_tail_removed").code == 1
    assert "1 harmless" in run("explain", name).out


def test_other_conversations_and_forks_are_one_line(run: Run) -> None:
    asked = [body("Where is it?"), body("Write the docs."), body("Mend the door."), body("Count to ten.")]
    path = written("several.jsonl", *asked)
    told = run("explain", path, "--fail-on", "any")
    assert told.code == 0
    assert "3 other conversations or forks branch off here: nothing behind is sent again" in told.out
    assert "history_rewritten" not in told.out

    found = run("explain", path, "--json").json["lineages"][0]["breaks"]
    assert [(one["verdict"], one["kinds"]) for one in found] == [
        ("broken_harmless", ["new_conversation"])
    ] * 3
    assert (
        "1 other conversation or fork branches off here"
        in run("explain", written("two.jsonl", *asked[:2])).out
    )


def long_pair(**settings: object) -> list[dict[str, Any]]:
    """Two requests to a model with rules, of which the second appends and has other settings."""
    first = {**body("a", system=SYSTEM * 20), "model": "gpt-5.4"}
    return [first, {**body("a", "b", system=SYSTEM * 20), "model": "gpt-5.4", **settings}]


def test_a_setting_is_shown_with_both_of_its_values(run: Run) -> None:
    name = written("log.jsonl", *long_pair(verbosity="low"))
    out = run("explain", name).out
    assert "verbosity_changed  broken  request 1 after 0" in out
    assert "    why    verbosity differs: tools, system, messages lost (by the rules openai-gpt-5.4)\n" in out
    assert '    was    not sent\n    now    "low"\n' in out
    assert "where" not in out
    assert '"low"' not in run("explain", name, "--no-content").out


def test_what_takes_nothing_is_one_line(run: Run) -> None:
    out = run("explain", written("log.jsonl", *long_pair(tool_choice="none"))).out
    assert "settings differ, at no known cost: tool_choice  request 1" in out
    assert "no unplanned break" in out


def test_rules_and_parameters_can_be_named(run: Run) -> None:
    name = written("log.jsonl", body("a" * 500), body("a" * 500, "b"))
    assert breaks(run("explain", name, "--json")) == []
    asked = run("explain", name, "--json", "--rules", "vllm", "--set", "granularity=784")
    assert [found["cause"] for found in breaks(asked)] == ["below_block_floor"]
    assert run("explain", name, "--rules", "nobodys").code == 2
    assert "NAME=VALUE" in run("explain", name, "--set", "granularity").err
    older, newer = (
        written(f"{n}.json", one) for n, one in zip("ab", long_pair(verbosity="low"), strict=True)
    )
    judged = run("diff", older, newer, "--json", "--rules", "vllm")
    assert breaks(judged) == []
    assert [found["cause"] for found in breaks(run("diff", older, newer, "--json"))] == ["verbosity_changed"]


def reported_miss(read: int) -> str:
    first, second = long_pair()
    answers = [{"usage": {"prompt_tokens": 4_000, "prompt_tokens_details": {"cached_tokens": 0}}}]
    answers.append({"usage": {"prompt_tokens": 4_010, "prompt_tokens_details": {"cached_tokens": read}}})
    url = "https://api.openai.com/v1/chat/completions"
    lines = (
        {"url": url, "started": 9.0 * at, "request": one, "response": {"choices": [], **answer}}
        for at, (one, answer) in enumerate(zip((first, second), answers, strict=True))
    )
    return written("log.jsonl", *lines)


def test_thresholds_of_a_miss_are_options(run: Run) -> None:
    name = reported_miss(2_048)
    assert breaks(run("explain", name, "--json")) == []
    found = breaks(run("explain", name, "--json", "--miss-tokens", "1000"))
    assert [one["cause"] for one in found] == ["provider_side"]
    assert found[0]["vendor"] is None
    assert breaks(run("explain", name, "--json", "--miss-tokens", "1000", "--miss-share", "0.9")) == []


def test_others_words_are_causes_too(run: Run) -> None:
    name = written("log.jsonl", *long_pair(verbosity="low"))
    assert run("explain", name, "--fail-on", "verbosity_changed").code == 1
    assert run("explain", name, "--fail-on", "tools_changed").code == 0
    assert run("explain", broken_pair(), "--fail-on", "system_changed").code == 1
    assert run("explain", broken_pair(), "--fail-on", "input_changed").code == 1
    assert "mean system_prompt_changed" in run("explain", name, "--fail-on", "system_promt_changed").err


@pytest.mark.parametrize("options", [("--no-content", "--context", "9"), ("--context", "9", "--no-content")])
@pytest.mark.parametrize("command", ["explain", "diff"])
def test_a_size_for_what_is_not_shown_is_refused(run: Run, command: str, options: tuple[str, ...]) -> None:
    inputs = [written("a.json", body("a")), written("b.json", body("b"))]
    ran = run(command, *inputs, *options)
    assert ran.code == 2
    assert "leave one of the two out" in ran.err
    assert ran.out == ""


def test_the_sum_has_a_share_per_cause(run: Run) -> None:
    bodies = [body("a", system=f"Clock 10:{minute:02}:00. {SYSTEM}") for minute in range(3)]
    ran = run("explain", written("log.jsonl", *bodies, {**bodies[-1], "model": "other"}))
    assert "  clock_in_prefix         2" in ran.out
    assert "share" in ran.out
    report = run("explain", "log.jsonl", "--json").json
    assert [(row["cause"], row["breaks"]) for row in report["causes"]] == [
        ("clock_in_prefix", 2),
        ("model_changed", 1),
    ]
    assert sum(row["share"] for row in report["causes"]) == pytest.approx(1)
    assert report["lineages"][0]["verdicts"] == {"cold_start": 1, "broken": 3}


def test_a_pair_is_called_by_both_of_its_names(run: Run) -> None:
    older, newer = written("before.json", body("a")), written("after.json", body("a", system=GROWN))
    assert run("diff", older, newer).out.startswith("before.json → after.json  ")
    assert run("diff", older, newer, "--json").json["lineages"][0]["older"] == "before.json"


def test_numbering_is_explained_once(run: Run) -> None:
    broken_pair("one.jsonl")
    broken_pair("two.jsonl")
    assert run("explain", "one.jsonl", "two.jsonl").out.count("numbered from 0") == 1

"""`coldturn estimate` as a user runs it."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from cli_runs import Run, runner
from coldturn.analysis.estimates.report import EstimateReport, Flag
from coldturn.replay.cli.estimate_view import estimate_text

TEXT = "word " * 2_000
URL = "https://api.openai.com/v1/chat/completions"
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the program in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


def line(model: str = "gpt-4o", url: str = URL, read: int | None = None, **more: Any) -> str:  # noqa: ANN401 - JSON
    usage = {"prompt_tokens": 2_500, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": read}}
    answer = (
        None if read is None else {"id": "r", "choices": [{"message": {"content": "ok"}}], "usage": usage}
    )
    body = {"model": model, "messages": [{"role": "user", "content": TEXT}]}
    return json.dumps({"url": url, "request": body, "response": answer, "started": None, **more}) + "\n"


@pytest.fixture
def log(tmp_path: Path) -> str:
    (tmp_path / "log.jsonl").write_text(
        line(read=0, started=0) + line(read=2_432, started=9) + line(read=1_280, started=20)
    )
    return "log.jsonl"


def _cells(row: str) -> list[str]:
    return re.split(r" {2,}", row.strip())


def test_three_columns_for_people(run: Run, log: str) -> None:
    ran = run("estimate", log)
    assert ran.code == 0
    assert ran.err == ""
    rows = {name: cells for name, *cells in map(_cells, ran.out.splitlines()) if cells}
    assert rows["ceiling (estimated)"] == ["5,000", "7,500", "66.7 %"]
    assert rows["should have hit (estimated)"] == ["4,864", "7,500", "64.9 %"]
    assert rows["did hit (reported)"] == ["3,712", "7,500", "49.5 %"]
    assert "rules: openai-gpt-5.4 (3)" in ran.out


def test_every_flag_has_words() -> None:
    report = EstimateReport()
    report.totals.flags.update(Flag)
    lines = estimate_text(report).splitlines()
    for flag in Flag:
        assert any(re.fullmatch(rf"{flag}: 1  \w.+", line) for line in lines)


def test_three_columns_for_machines(run: Run, log: str) -> None:
    found = run("estimate", log, "--json").json
    columns = ("ceiling_estimated", "read_estimated", "read_reported")
    rows = [tuple(row[name] for name in columns) for row in found["requests"]]
    assert rows == [(0, 0, 0), (2_500, 2_432, 2_432), (2_500, 2_432, 1_280)]
    assert {row["rules"] for row in found["requests"]} == {"openai-gpt-5.4"}
    assert found["totals"]["hit_rate_estimated"] == 4_864 / 7_500
    assert found["validation"]["n"] == 3
    assert found["errors"] == []


def test_validation_lists_what_differs_and_why(run: Run, log: str) -> None:
    out = run("estimate", log, "--validate").out
    assert "validation: 3 requests with reported reads" in out
    assert "equal           2 (66.7 %)" in out
    assert "total error     +31.03%" in out
    assert "1 x the provider read less than its rules allow" in out
    assert "log.jsonl        2  openai-gpt-5.4      2,432     1,280  provider_read_less" in out
    assert "nothing to validate against" in _silent(run)


def _silent(run: Run) -> str:
    Path("silent.jsonl").write_text(line())
    return run("estimate", "silent.jsonl", "--validate").out


def test_no_rules_is_exit_3_with_the_sentence(run: Run, tmp_path: Path) -> None:
    (tmp_path / "local.jsonl").write_text(line("llama", "http://127.0.0.1:8080/v1/chat/completions"))
    ran = run("estimate", "local.jsonl")
    assert ran.code == 3
    assert "cannot evaluate: no rules for model llama on chat_completions at 127.0.0.1" in ran.err
    assert "[cannot-evaluate]" in ran.err
    assert ["should have hit (estimated)", "unknown"] in map(_cells, ran.out.splitlines())
    named = run("estimate", "local.jsonl", "--rules", "vllm")
    assert (named.code, named.err) == (0, "")


def test_contested_rules_are_exit_3_unless_named(run: Run, tmp_path: Path) -> None:
    url = "https://api.mistral.ai/v1/chat/completions"
    (tmp_path / "m.jsonl").write_text(line("mistral-large-latest", url))
    ran = run("estimate", "m.jsonl")
    assert ran.code == 3
    assert "the rules mistral for model mistral-large-latest are contested" in ran.err
    given = run("estimate", "m.jsonl", "--rules", "mistral", "--set", "minimum=0", "--set", "granularity=64")
    assert given.code == 0


def test_some_without_rules_is_fine_unless_strict(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mixed.jsonl").write_text(line() + line("llama", "http://127.0.0.1:8080/v1/chat/completions"))
    ran = run("estimate", "mixed.jsonl", "--json")
    assert ran.code == 0
    assert [row["read_estimated"] for row in ran.json["requests"]] == [0, None]
    assert len(ran.json["errors"]) == 1
    assert run("estimate", "mixed.jsonl", "--strict").code == 3


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "give an INPUT"),
        (("log.jsonl", "--rules", "house"), "--rules house: no such rules"),
        (("log.jsonl", "--set", "colour=red"), "--set colour: no such parameter"),
        (("log.jsonl", "--set", "ttl"), "--set ttl: write it as parameter=value"),
        (("log.jsonl", "--set", "ttl=-1"), "--set ttl: it must be more than 0"),
        (("log.jsonl", "--rules-from", "none.toml"), "none.toml: these cache rules cannot be used"),
        (("none.jsonl",), "no such file"),
        (("log.jsonl", "--tokenizer", "klingon"), "--tokenizer klingon"),
    ],
)
def test_wrong_usage_is_exit_2_with_one_sentence(
    run: Run, log: str, arguments: tuple[str, ...], told: str
) -> None:
    assert log
    ran = run("estimate", *arguments)
    assert ran.code == 2
    assert told in ran.err
    assert ran.err.count("\n") == 1
    assert ran.out == ""


def test_parameters_and_capacity_of_the_user_count(run: Run, log: str) -> None:
    def read(*arguments: str) -> list[int]:
        return [row["read_estimated"] for row in run("estimate", log, "--json", *arguments).json["requests"]]

    assert read("--set", "granularity=1000") == [0, 2_000, 2_000]
    assert read("--set", "ttl=10") == [0, 2_432, 0]
    # 5 blocks of 128 tokens hold none of a single text of 2,500.
    assert read("--capacity", "5") == [0, 0, 0]


def test_the_registry_is_listed_as_the_page_has_it(run: Run) -> None:
    out = run("estimate", "--rules", "list").out
    listed = run("estimate", "--rules", "list", "--json").json
    assert listed["schema"] == "coldturn.rules/1"
    page = (DOCS / "providers.md").read_text(encoding="utf-8")
    assert page.count("\n| `") - page.split("## Flags")[1].count("\n| `") == len(listed["rules"])
    for one in listed["rules"]:
        assert (
            f"| `{one['name']}` | {one['as_of']} | {one['status']} | {one['model']} | {one['surface']} |"
            in page
        )
        assert f"{one['name']}  {one['as_of']}  {one['status']}  {one['model']}" in out
        assert one["source"] in out
        assert all(point["note"] in out for point in one["contested"])


def test_the_page_explains_every_flag_and_its_example_is_a_rule(run: Run, log: str) -> None:
    from coldturn.analysis.estimates.report import Flag

    page = (DOCS / "providers.md").read_text(encoding="utf-8")
    assert set(Flag) == {
        row.split("`")[1] for row in page.split("## Flags")[1].splitlines() if row.startswith("| `")
    }
    Path("ours.toml").write_text(
        page.split("```toml\n")[1].split("```")[0].replace('"qwen3-next*"', '"gpt-4o"')
    )
    found = run("estimate", log, "--json", "--rules", "our-gateway", "--rules-from", "ours.toml").json
    assert [row["read_estimated"] for row in found["requests"]] == [0, 2_352, 2_352]


def test_rules_of_ones_own_may_stand_in_the_settings(run: Run, log: str) -> None:
    page = (DOCS / "providers.md").read_text(encoding="utf-8")
    own = page.split("```toml\n")[1].split("```")[0].replace("llm.example.com", "api.openai.com")
    Path("ours.toml").write_text(own.replace("qwen3-next*", "gpt-4o"))
    Path("pyproject.toml").write_text('[tool.coldturn.estimate]\nrules-from = ["ours.toml"]\n')
    found = run("estimate", log, "--json").json
    assert {row["rules"] for row in found["requests"]} == {"our-gateway"}


def test_a_trace_of_block_hashes(run: Run, tmp_path: Path) -> None:
    rows = [
        {"timestamp": at, "input_length": size, "output_length": 1, "hash_ids": blocks}
        for at, size, blocks in ((0, 1_500, [1, 2, 3]), (5, 1_500, [1, 2, 4]), (3, 600, [1, 9]), (9, -1, [1]))
    ]
    (tmp_path / "trace.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    unnamed = run("estimate", "trace.jsonl")
    assert unnamed.code == 3
    assert "name rules with --rules" in unnamed.err
    named = ("estimate", "trace.jsonl", "--rules", "vllm", "--set", "granularity=512", "--json")
    ran = run(*named)
    assert ran.code == 0
    assert [row["read_estimated"] for row in ran.json["requests"]] == [0, 1_024, 512]
    assert ran.json["totals"]["flags"] == {"time_goes_back": 1}
    assert [error["entry"] for error in ran.json["errors"]] == [3]
    small = run(
        "estimate", "trace.jsonl", "--rules", "vllm", "--set", "granularity=512", "--capacity", "1", "--json"
    )
    assert [row["read_estimated"] for row in small.json["requests"]] == [0, 512, 512]


def test_explain_on_numbers_is_exit_3_and_names_estimate(run: Run, tmp_path: Path) -> None:
    (tmp_path / "numbers.jsonl").write_text('{"prompt_tokens": 5, "completion_tokens": 1}\n' * 2)
    ran = run("explain", "numbers.jsonl")
    assert ran.code == 3
    assert "numbers or hashes only" in ran.err
    assert "coldturn estimate" in ran.err
    assert ran.err.count("\n") == 1


def test_explain_has_the_columns_in_its_json(run: Run, log: str) -> None:
    (lineage,) = run("explain", log, "--json").json["lineages"]
    assert lineage["tokens"] == {
        "input_reported": 7_500,
        "read_reported": 3_712,
        "input_estimated": 7_500,
        "read_estimated": 4_864,
        "ceiling_estimated": 5_000,
    }


def test_a_real_vocabulary(run: Run, log: str) -> None:
    if find_spec("bpe_openai") is None:
        pytest.skip("the extra tokenizer is not installed")
    Path("silent.jsonl").write_text(line())
    counted = run("estimate", "silent.jsonl", "--json", "--tokenizer", "o200k_base").json["totals"]
    assert counted["input_estimated"] == 2_001
    assert (
        run("estimate", log, "--json", "--tokenizer", "o200k_base").json["totals"]["input_estimated"] == 7_500
    )

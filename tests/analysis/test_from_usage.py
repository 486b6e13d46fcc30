"""Estimates from counts alone: which call is gone on from, what the rules say, and what stays unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_runs import Run, runner
from coldturn.analysis.estimates.conversation import parent_of
from coldturn.analysis.estimates.estimation import estimate
from coldturn.analysis.estimates.estimator import RequestEstimator
from coldturn.analysis.estimates.from_usage import UsageEstimator
from coldturn.analysis.estimates.misses import Outcome
from coldturn.analysis.estimates.report import EstimateReport, Flag
from coldturn.analysis.estimates.scope import EstimateOptions
from coldturn.reference.prefix.model import Surface
from coldturn.reference.tokens import ReportedTokens
from coldturn.traces.exchange import Exchange
from coldturn.traces.formats.sessions import SessionCall
from coldturn.traces.readers import read_records
from coldturn.traces.slices import to_json
from coldturn.traces.usage_record import UsageRecord


def tokens(count: int | None) -> ReportedTokens | None:
    return None if count is None else ReportedTokens(count)


def record(
    input_tokens: int | None,
    cached: int | None = 0,
    *,
    written: int | None = None,
    output: int | None = 100,
    model: str = "deepseek-chat",
    conversation: str = "c",
    started: float | None = None,
    written_long: int | None = None,
) -> UsageRecord:
    return UsageRecord(
        source="t",
        entry=0,
        conversation=conversation,
        call=0,
        model=model,
        input_tokens=tokens(input_tokens),
        cached_tokens=tokens(cached),
        written_tokens=tokens(written),
        written_long_tokens=tokens(written_long),
        output_tokens=tokens(output),
        started=started,
    )


def report(*records: UsageRecord, **parameters: str) -> EstimateReport:
    return estimate(records, RequestEstimator(EstimateOptions(parameters=parameters)))


def read(*records: UsageRecord, **parameters: str) -> list[int | None]:
    return [row.read_estimated for row in report(*records, **parameters).requests]


@pytest.mark.parametrize(
    ("model", "expected"),
    [("deepseek-chat", 1_088), ("deepseek-reasoner", 960), ("deepseek-v4-flash", 1_024), ("gpt-5.4", 0)],
)
def test_by_the_rules_of_each_model(model: str, expected: int) -> None:
    assert read(record(1_000, model=model), record(1_300, model=model)) == [None, expected]


def test_a_chain_of_writes_is_read_next() -> None:
    claude = "claude-sonnet-4-5"
    first = record(5_003, 0, written=5_000, model=claude, started=0.0)
    assert read(first, record(6_000, 5_000, written=900, model=claude, started=60.0)) == [None, 5_000]
    late = record(6_000, 0, written=900, model=claude, started=301.0)
    assert read(first, late) == [None, 0]
    long = record(5_003, 0, written=5_000, written_long=5_000, model=claude, started=0.0)
    assert read(long, late) == [None, 5_000]


def test_without_counts_of_writes_a_chain_is_unknown() -> None:
    claude = "claude-sonnet-4-5"
    assert read(record(5_003, 0, model=claude), record(6_000, 5_000, model=claude)) == [None, None]


def test_nothing_is_said_of_a_first_call_or_of_calls_that_name_no_conversation() -> None:
    found = report(
        record(1_000, 320), record(1_300, 1_088, conversation=""), record(1_400, 0, conversation="")
    )
    assert [row.read_estimated for row in found.requests] == [None, None, None]
    assert all(Flag.PREFIX_UNKNOWN in row.flags for row in found.requests)
    assert found.validation.as_json() is None
    assert found.totals.hit_rate_reported == (320 + 1_088) / 3_700


def test_a_side_call_stands_in_nobodys_way() -> None:
    assert read(record(50_000), record(3_000), record(51_000), record(3_500)) == [None, None, 50_048, 3_072]


def test_a_miss_says_what_the_read_is() -> None:
    calls = [
        record(1_000, 320),
        record(1_200, 1_088),
        record(1_400, 1_088),
        record(1_600, 320),
        record(1_800, 7),
    ]
    found = report(*calls)
    assert [row.miss and row.miss.code for row in found.requests] == [
        None, "exact", "same_again", "start", "unexplained",
    ]  # fmt: skip
    assert (found.validation.as_json() or {})["by_miss"] == {
        "exact": 1, "same_again": 1, "start": 1, "unexplained": 1,
    }  # fmt: skip
    assert report(*(record(one.input_tokens, 0, model="gpt-5.4") for one in calls)).requests[1].miss is None


def test_the_beginning_of_a_long_conversation_is_not_forgotten() -> None:
    calls = [record(1_000 + 200 * at, 384 if not at else 960 + 200 * at) for at in range(90)]
    assert report(*calls, record(19_000, 384)).requests[-1].miss is Outcome.START


def test_a_prompt_that_shrank_is_unknown() -> None:
    found = report(record(50_000), record(20_000, 960))
    assert found.requests[1].read_estimated is None
    assert found.requests[1].ceiling_estimated == 0


def test_hidden_tokens_are_learnt_from_reported_reads() -> None:
    model = "gpt-5.5"
    calls = (
        record(3_741, 0, model=model),
        record(3_741, 3_328, model=model),
        record(3_741, 3_328, model=model),
    )
    assert read(*calls)[2] == 3_328
    assert read(*calls, hidden_tokens="0")[2] == 2_048


def test_counts_that_contradict_each_other_are_flagged_and_in_no_sum() -> None:
    found = report(record(1_000, 0), record(1_200, 5_000), record(1_400, 1_216))
    assert found.totals.flags[Flag.READ_EXCEEDS_INPUT] == 1
    assert found.totals.reported == (1_216, 2_400)
    assert found.validation.n == 1


def test_times_that_go_back_and_unknown_models_are_counted() -> None:
    found = report(record(1_000, started=9.0), record(1_200, started=3.0), record(10, model="house-model"))
    assert found.totals.flags[Flag.TIME_GOES_BACK] == 1
    assert found.totals.flags[Flag.NO_RULES] == 1
    assert [error.slug for error in found.errors] == ["cannot-evaluate"]


def test_rates_are_of_sums_per_model_and_per_conversation() -> None:
    found = report(
        record(1_000, 900),
        record(100, 0),
        record(500, 250, conversation="d", model="gpt-5.4"),
        record(70, None),
    ).as_json()
    assert [(one["model"], one["hit_rate_reported"]) for one in found["models"]] == [
        ("deepseek-chat", 900 / 1_100), ("gpt-5.4", 0.5),
    ]  # fmt: skip
    assert [(one["lineage"], one["input_reported"]) for one in found["conversations"]] == [
        ("c", 1_100),
        ("d", 500),
    ]


def test_a_plateau_is_told_with_its_place() -> None:
    calls = [record(9_000 + at, 1_536, model="gpt-5.5") for at in range(4)]
    found = report(*calls)
    assert len(found.notes) == 1
    assert "between absolute tokens 2,048 and 4,095" in found.notes[0]
    assert found.as_json()["plateaus"][0]["hidden_tokens_estimated"] == [385, 512]


@given(inputs=st.lists(st.integers(0, 1_000), min_size=1, max_size=12), new=st.integers(0, 1_000))
def test_a_call_goes_on_from_the_longest_that_is_no_longer(inputs: list[int], new: int) -> None:
    recent = [record(one, output=at) for at, one in enumerate(inputs)]
    found = parent_of(record(new), recent)
    fits = [one for one in recent if (one.input_tokens or 0) <= new]
    if found is None:
        assert fits == []
        return
    assert found.input_tokens == max(one.input_tokens or 0 for one in fits)
    assert found is [one for one in fits if one.input_tokens == found.input_tokens][-1]


@given(
    calls=st.lists(
        st.tuples(st.integers(0, 10**6), st.none() | st.integers(0, 10**6), st.none() | st.floats()),
        max_size=20,
    ),
    model=st.sampled_from(["deepseek-chat", "gpt-5.5", "gpt-5.6", "claude-opus-4-5", "grok-4", "", "nobody"]),
)
def test_whatever_counts_say_no_estimate_is_negative_or_above_the_input(
    calls: list[tuple[int, int | None, float | None]], model: str
) -> None:
    estimator = UsageEstimator()
    for whole, cached, started in calls:
        row = estimator.observe(record(whole, cached, written=cached, model=model, started=started)).row
        assert row.read_estimated is None or 0 <= row.read_estimated <= whole
        assert row.ceiling_estimated <= whole


def test_a_session_gets_the_estimates_of_its_counts(corpus: Path) -> None:
    """Bytes tell which request is repeated, counts how much of it: the same rule as for a table."""
    for file in sorted((corpus / "sessions/mini-swe-agent").glob("*.json")):
        rows = estimate(read_records(file)).requests
        table = [
            record(
                row.input_reported,
                row.read_reported,
                written=row.written_reported,
                output=_output(one),
                model=row.model or "",
                started=one.started if isinstance(one, Exchange) else None,
            )
            for row, one in zip(rows, read_records(file), strict=True)
        ]
        assert [row.read_estimated for row in rows] == read(*table)


def test_a_session_whose_history_was_rewritten_is_not_held_against_its_counts() -> None:
    long = "The same words again and again. " * 40
    told = (["first", long], ["first", long, "more"], ["FIRST", long, "more", "on"])
    used: dict[str, int] = {"completion_tokens": 9, "prompt_cache_hit_tokens": 64}
    exchanges = [
        SessionCall(
            entry=at,
            surface=Surface.CHAT_COMPLETIONS,
            model="deepseek-chat",
            parts=[to_json({"role": "user", "content": text}) for text in texts],
            answer=to_json({
                "choices": [{"message": {"role": "assistant", "content": "ok"}}],
                "usage": used | {"prompt_tokens": 900 + 100 * at},
            }),
            started=float(at),
        ).exchange("session")
        for at, texts in enumerate(told)
    ]  # fmt: skip
    rows = estimate(exchanges).requests
    assert len({row.lineage for row in rows}) == 1
    assert [row.read_estimated for row in rows] == [None, 896, None]
    assert Flag.PREFIX_UNKNOWN in rows[2].flags


def _output(one: object) -> int | None:
    assert isinstance(one, Exchange)
    usage: dict[str, Any] = json.loads(one.response_body or b"{}")["usage"]
    found = usage.get("completion_tokens", usage.get("output_tokens"))
    return found if isinstance(found, int) else None


def test_chains_of_a_published_session_agree_nine_times_out_of_ten(corpus: Path) -> None:
    found = estimate(read_records(corpus / "sessions/pi/large-session.jsonl")).validation
    assert (found.n, found.exact) == (438, 402)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


TABLE = "run,prompt,hits,model\na,1000,0,deepseek-chat\na,1300,960,deepseek-chat\nb,900,64,deepseek-chat\n"


def test_a_table_on_the_command_line(run: Run) -> None:
    Path("calls.csv").write_text(TABLE)
    columns = "input=prompt,cached=hits,conversation=run"
    ran = run("estimate", "calls.csv", "--columns", columns, "--validate")
    assert ran.code == 0
    assert "did hit (reported)" in ran.out
    assert "validation: 1 requests" in ran.out
    found = run("estimate", "calls.csv", "--columns", columns, "--json").json
    assert [row["read_estimated"] for row in found["requests"]] == [None, 960, None]
    assert [row["request"] for row in found["requests"]] == [0, 1, 2]


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ("input", "write it as NAME=COLUMN"),
        ("colour=red", "NAME one of input, cached"),
        ("input=tokens", "has no column tokens (there are run, prompt, hits, model)"),
    ],
)
def test_wrong_columns_are_exit_2_with_one_sentence(run: Run, columns: str, told: str) -> None:
    Path("calls.csv").write_text(TABLE)
    ran = run("estimate", "calls.csv", "--columns", columns)
    assert ran.code == 2
    assert told in ran.err
    assert ran.err.count("\n") == 1
    assert ran.out == ""


def test_a_trace_of_block_hashes_tells_its_ceiling_without_rules(run: Run) -> None:
    rows = [(0, 1_500, [1, 2, 3]), (5, 1_030, [1, 2, 4]), (9, 513, [1, 9])]
    lines = (
        json.dumps({"timestamp": at, "input_length": size, "output_length": 1, "hash_ids": blocks})
        for at, size, blocks in rows
    )
    Path("trace.jsonl").write_text("\n".join(lines))
    ran = run("estimate", "trace.jsonl", "--json")
    assert ran.code == 3
    assert [row["ceiling_estimated"] for row in ran.json["requests"]] == [0, 1_024, 512]
    assert [row["read_estimated"] for row in ran.json["requests"]] == [None] * 3
    assert "name rules with --rules" in ran.err
    named = run("estimate", "trace.jsonl", "--rules", "vllm", "--json")
    assert named.code == 0
    assert [row["read_estimated"] for row in named.json["requests"]] == [0, 1_024, 512]
    assert named.json["notes"] == ["trace.jsonl: blocks of 512 tokens, as its lengths tell"]
    given = run("estimate", "trace.jsonl", "--rules", "vllm", "--set", "granularity=256", "--json").json
    assert given["totals"]["flags"] == {"length_mismatch": 3}


def test_a_model_that_is_known_at_another_address_is_told_with_its_rules() -> None:
    record = UsageRecord("s", 0, "", 0, "gpt-4.1")
    told = UsageEstimator().compare(
        record, None, number=0, surface=Surface.CHAT_COMPLETIONS, url="http://127.0.0.1/v1/chat/completions"
    )
    assert "at 127.0.0.1; if this stands in front of OpenAI's API: --rules openai-" in str(told.problem)

"""From recorded exchanges to a report: three columns, gaps told, odd traces flagged and counted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.exchanges import ANTHROPIC, CHAT, DEEPSEEK, OPENAI, exchange, reads, report, rows, words
from coldturn.analysis.breaks.explain import Explainer, explain
from coldturn.analysis.curves.block_trace import BlockEstimation, NoBlockRulesError, read_block_trace
from coldturn.analysis.estimates.estimation import Estimation
from coldturn.analysis.estimates.estimator import RequestEstimator
from coldturn.analysis.estimates.registry import shipped
from coldturn.analysis.estimates.report import EstimateReport, Flag
from coldturn.reference.prefix.model import Zone
from coldturn.traces.exchange import EntryError


def chat(model: str, *texts: str) -> dict[str, Any]:
    roles = ("user", "assistant")
    return {"model": model, "messages": [{"role": roles[n % 2], "content": t} for n, t in enumerate(texts)]}


def used(size: int, read: int | None = None, output: int = 10) -> dict[str, Any]:
    details = {} if read is None else {"prompt_tokens_details": {"cached_tokens": read}}
    return {"prompt_tokens": size, "completion_tokens": output, **details}


A, B = words(2_000, "one"), words(1_000, "two")


def test_the_three_columns_stand_apart() -> None:
    log = [
        exchange(chat("gpt-4o", A), CHAT, used(2_000, 0)),
        exchange(chat("gpt-4o", A, "yes", B), CHAT, used(3_010, 1_536)),
    ]
    found = report(log)
    second = found.requests[1]
    assert (second.ceiling_estimated, second.read_estimated, second.read_reported) == (2_000, 1_920, 1_536)
    totals = found.totals
    assert totals.hit_rate_ceiling_estimated == 2_000 / 5_010
    assert totals.hit_rate_estimated == 1_920 / 5_010
    assert totals.hit_rate_reported == 1_536 / 5_010


def test_the_json_has_all_its_keys() -> None:
    found = report([exchange(chat("gpt-4o", A), CHAT, used(2_000, 0))]).as_json()
    json.dumps(found)
    assert found["schema"] == "coldturn.estimate/1"
    assert {
        "source", "request", "lineage", "model", "rules", "input_tokens_reported", "input_tokens_estimated",
        "ceiling_estimated", "read_estimated", "written_estimated", "read_reported",
    } <= found["requests"][0].keys()  # fmt: skip
    assert {
        "requests", "input_reported", "input_estimated", "ceiling_estimated", "read_estimated",
        "read_reported", "hit_rate_ceiling_estimated", "hit_rate_estimated", "hit_rate_reported",
    } <= found["totals"].keys()  # fmt: skip
    assert {"n", "exact", "within_block", "total_error"} <= found["validation"].keys()
    assert report([exchange(chat("gpt-4o", A), CHAT)]).as_json()["validation"] is None


def test_nothing_reported_stays_unknown() -> None:
    found = report([exchange(chat("gpt-4o", A), CHAT)]).totals
    assert (found.input_reported, found.read_reported, found.hit_rate_reported) == (None, None, None)
    assert (found.input_estimated, found.read_estimated, found.cost_estimated) == (2_000, 0, None)


def test_a_model_without_rules_keeps_its_ceiling_and_gets_no_estimate() -> None:
    log = [
        exchange(chat("gpt-4o", A), CHAT, used(2_000)),
        *[exchange(chat("llama", A), "http://127.0.0.1:1/v1/chat/completions", used(1_800, 16))] * 2,
    ]
    found = report(log)
    second = found.requests[2]
    assert (second.rules, second.read_estimated, second.written_estimated) == (None, None, None)
    assert second.ceiling_estimated == 1_800
    assert found.totals.hit_rate_estimated == 0
    assert found.totals.flags[Flag.NO_RULES] == 2
    assert [error.slug for error in found.errors] == ["cannot-evaluate"]
    assert found.validation.n == 0


def test_rules_can_be_named_for_any_model() -> None:
    log = [exchange(chat("llama", A), "http://127.0.0.1:1/v1/chat/completions")] * 2
    assert reads(log, "vllm")[1][0] == 1_984
    assert reads(log, "vllm", granularity="784")[1][0] == 1_568
    assert reads(log, "longest-prefix-1024-128")[1][0] == 1_920
    assert reads(log, "llama.cpp")[1][0] == 1_999


def test_sources_hosts_and_models_share_no_cache() -> None:
    one = exchange(chat("gpt-4o", A), CHAT, source="a")
    other = (
        exchange(chat("gpt-4o", A), CHAT, source="b"),
        exchange(chat("gpt-4.1", A), CHAT, source="a"),
        exchange(chat("gpt-4o", A), "https://contoso.openai.azure.com/v1/chat/completions", source="a"),
    )
    assert [row.read_estimated for row in rows([one, *other, one])] == [0, 0, 0, 0, 1_920]


def test_a_lifetime_needs_times_and_their_lack_is_counted() -> None:
    sent = chat("gpt-4o", A)
    assert [row.read_estimated for row in rows([exchange(sent, CHAT, started=t) for t in (0.0, 601.0)])] == [
        0,
        0,
    ]
    found = report([exchange(sent, CHAT), exchange(sent, CHAT)])
    assert found.requests[1].read_estimated == 1_920
    assert found.as_json()["totals"]["flags"] == {"no_time": 2}


def test_times_that_go_back_are_counted_and_do_not_make_the_cache_younger() -> None:
    sent = chat("gpt-4o", A)
    found = report([exchange(sent, CHAT, started=t) for t in (1_000.0, 10.0, 1_601.0)])
    assert found.as_json()["totals"]["flags"] == {"time_goes_back": 1}
    # The second request is taken to have come at 1,000 too: 601 seconds later the entry is gone.
    assert [row.read_estimated for row in found.requests] == [0, 1_920, 0]


def test_counts_that_cannot_be_are_counted_and_left_out() -> None:
    sent = chat("gpt-4o", A)
    odd = [used(-5), used(2_000, -7), used(2_000, 9_000), {**used(2_000, 1_920), "completion_tokens": -1}]
    found = report([exchange(sent, CHAT, usage, started=0.0) for usage in odd])
    assert found.as_json()["totals"]["flags"] == {"negative_count": 3, "read_exceeds_input": 1}
    reported = [(row.input_reported, row.read_reported) for row in found.requests]
    assert reported == [(None, None), (2_000, None), (None, None), (2_000, 1_920)]
    assert found.totals.hit_rate_reported == 1_920 / 2_000
    assert found.validation.n == 1


def test_a_session_with_a_negative_count_is_flagged_too() -> None:
    one = exchange(chat("gpt-4o", A), CHAT, used(2_000, -7), started=0.0)
    found = report([replace(one, parts_missing=frozenset({Zone.TOOLS}))])
    assert found.as_json()["totals"]["flags"] == {"negative_count": 1, "prefix_unknown": 1}


def test_requests_in_parallel_miss_until_the_first_answer_begins() -> None:
    sent = chat("gpt-4o", A)
    times = ((0.0, 2.0), (0.5, 2.5), (1.9, 3.0), (2.0, 4.0))
    log = [exchange(sent, CHAT, started=started, answered=answered) for started, answered in times]
    assert [row.read_estimated for row in rows(log)] == [0, 0, 0, 1_920]


def test_requests_that_the_server_refused_cache_nothing() -> None:
    sent = chat("gpt-4o", A)
    found = report([exchange(sent, CHAT, status=429), exchange(sent, CHAT), exchange(sent, CHAT)])
    assert [row.read_estimated for row in found.requests] == [0, 1_920]
    assert [row.request for row in found.requests] == [1, 2]
    assert found.as_json()["totals"]["flags"]["failed_request"] == 1


def test_an_address_that_is_missing_is_taken_for_the_providers_own_and_said() -> None:
    found = report([exchange(chat("gpt-4o", A), "")])
    assert found.requests[0].rules == "openai-gpt-5.4"
    assert "host_assumed" in found.requests[0].flags


def test_input_that_was_never_sent_is_flagged() -> None:
    found = report([exchange(chat("gpt-4o", "hi"), CHAT, used(9_000, 4_352))])
    assert "hidden_input" in found.requests[0].flags


def test_deepseek_reads_on_behind_its_own_answer() -> None:
    log = [
        exchange(chat("deepseek-chat", A), DEEPSEEK, used(2_000, 0, output=100)),
        exchange(chat("deepseek-chat", A, "x" * 400, B), DEEPSEEK, used(3_105, 2_048)),
        exchange(chat("deepseek-chat", A, "x" * 400, B, "y", "z"), DEEPSEEK, used(3_112, 3_072)),
    ]
    found = report(log)
    assert [row.read_estimated for row in found.requests] == [0, 2_048, 3_072]
    assert found.validation.as_json() == {
        "n": 3, "exact": 3, "within_block": 3, "total_error": 0.0, "by_difference": {"equal": 3},
            "by_miss": {},
    }  # fmt: skip
    assert found.totals.expected_estimated == pytest.approx(0.99 * (2_048 + 3_072))


@pytest.mark.parametrize(
    ("reported", "kind"),
    [
        (1_920, "equal"),
        (1_792, "within_block"),
        (1_024, "provider_read_less"),
    ],
)
def test_a_difference_is_named(reported: int, kind: str) -> None:
    log = [
        exchange(chat("gpt-4o", A), CHAT, used(2_000, 0)),
        exchange(chat("gpt-4o", A), CHAT, used(2_000, reported)),
    ]
    found = report(log)
    assert str(found.requests[1].difference) == kind
    assert found.validation.total_error == (1_920 - reported) / reported


def test_a_read_of_what_nothing_had_sent_found_the_cache_warm() -> None:
    found = report([exchange(chat("gpt-4o", A), CHAT, used(2_000, 1_920))])
    assert str(found.requests[0].difference) == "warm_before_recording"


def test_reading_more_than_the_rules_allow_is_told_apart_from_a_warm_start() -> None:
    log = [
        exchange(chat("gpt-4o", A), CHAT, used(2_000, 0), started=0.0),
        exchange(chat("gpt-4o", A), CHAT, used(2_000, 1_920), started=900.0),
    ]
    assert str(report(log).requests[1].difference) == "provider_read_more"


def test_what_is_refused_by_the_rules_but_was_answered_is_not_estimated() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    texts = [{"type": "text", "text": words(1_000), **mark} for _ in range(5)]
    sent = {"model": "claude-sonnet-5", "messages": [{"role": "user", "content": texts}]}
    usage = {"input_tokens": 5_000, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    silent, answered = rows([exchange(sent, ANTHROPIC), exchange(sent, ANTHROPIC, usage)])
    assert (silent.read_estimated, answered.read_estimated) == (0, None)


def test_more_explicit_breakpoints_than_sources_agree_on_are_flagged() -> None:
    mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
    parts = [{"type": "input_text", "text": f"{n} " * 50, **mark} for n in range(53)]
    for count, contested in ((52, False), (53, True)):
        sent = {"model": "gpt-5.6", "input": [{"role": "user", "content": parts[:count]}]}
        assert ("contested" in rows([exchange(sent, OPENAI)])[0].flags) is contested


def test_costs_come_from_what_was_reported() -> None:
    found = report(
        [
            exchange(chat("gpt-4o-mini", A), CHAT, used(2_000, 1_000, output=100)),
            exchange(chat("gpt-4o-mini", A), CHAT, used(2_000, 0, output=100)),
        ]
    )
    cost = found.totals.cost_estimated
    assert cost is not None
    assert cost.input_equivalents_estimated == 3_500
    assert cost.amount_estimated == pytest.approx((3_500 * 0.15 + 200 * 0.6) / 1_000_000)


def test_rows_need_not_be_kept() -> None:
    kept, light = Estimation(), Estimation(report=EstimateReport(keep=False))
    for one in (kept, light):
        for _ in range(3):
            one.add(exchange(chat("gpt-4o", A), CHAT, used(2_000, 0)))
    assert light.report.requests == []
    assert light.report.totals.as_json() == kept.report.totals.as_json()
    assert light.report.validation.as_json() == kept.report.validation.as_json()


def test_unreadable_entries_and_empty_sources_are_told() -> None:
    estimation = Estimation()
    estimation.add(EntryError("log", 0, "line 1 is damaged"))
    estimation.finish("log")
    estimation.finish("empty")
    assert [error.message.split(":")[0] for error in estimation.report.errors] == [
        "line 1 is damaged",
        "empty",
    ]


def test_explain_tells_the_same_figures_per_lineage_when_it_is_asked_to() -> None:
    log = [
        exchange(chat("gpt-4o", A), CHAT, used(2_000, 0)),
        exchange(chat("gpt-4o", A), CHAT, used(2_000, 5), status=500),
        exchange(chat("gpt-4o", A, "yes", B), CHAT, used(3_010, 1_536)),
    ]
    explainer = Explainer(estimator=RequestEstimator())
    for one in log:
        explainer.add(one)
    tokens = [lineage.tokens for lineage in explainer.report.lineages]
    assert [(one.ceiling_estimated, one.read_estimated) for one in tokens] == [(2_000, 1_920)]
    silent = explain(log).lineages[0].tokens
    assert (silent.ceiling_estimated, silent.read_estimated) == (None, None)


def _trace(lines: list[dict[str, Any]], **change: int) -> EstimateReport:
    rules = shipped().named("vllm")
    found = EstimateReport()
    parameters = rules.parameters.model_copy(update={"granularity": 512, **change})
    estimation = BlockEstimation("trace", rules, parameters, found)
    for item in read_block_trace([json.dumps(line).encode() for line in lines], name="trace"):
        estimation.add(item)
    return found


def _line(blocks: list[int], size: int, at: float = 0) -> dict[str, Any]:
    return {"timestamp": at, "input_length": size, "output_length": 5, "hash_ids": blocks}


def test_a_trace_of_block_hashes_is_held_against_rules_for_blocks() -> None:
    lines = [_line([1, 2, 3], 1_500), _line([1, 2, 4], 1_500), _line([1, 2, 3], 1_500)]
    found = _trace(lines).requests
    assert [(row.ceiling_estimated, row.read_estimated) for row in found] == [
        (0, 0),
        (1_024, 1_024),
        (1_500, 1_024),
    ]
    assert not any(row.flags for row in found)


def test_the_last_block_of_a_trace_may_be_a_part_of_one() -> None:
    rules = shipped().named("sglang")
    found = EstimateReport()
    parameters = rules.parameters.model_copy(update={"granularity": 512, "recompute_last": False})
    estimation = BlockEstimation("trace", rules, parameters, found)
    for item in read_block_trace([json.dumps(_line([1, 2], 600)).encode()] * 2, name="trace"):
        estimation.add(item)
    assert [row.read_estimated for row in found.requests] == [0, 512]


def test_a_full_trace_evicts_the_tail_first() -> None:
    found = _trace([_line([1, 2], 1_100), _line([3], 600), _line([1, 2], 1_100)], capacity=2).requests
    assert [row.read_estimated for row in found] == [0, 0, 512]


def test_bad_lines_are_told_and_odd_ones_counted() -> None:
    found = _trace([
        _line([1], 512, at=5_000), _line([1], -1), _line([1, 2], 512, at=6_000), _line([1], 600, at=1_000),
        {"hash_ids": [1]}, {"timestamp": 0, "input_length": 5, "output_length": -5, "hash_ids": [1]},
    ])  # fmt: skip
    assert [error.entry for error in found.errors] == [1, 4, 5]
    assert "negative length" in found.errors[0].message
    assert len(found.requests) == 3
    assert found.as_json()["totals"]["flags"] == {"length_mismatch": 2, "time_goes_back": 1}


@pytest.mark.parametrize("name", ["deepseek", "llama.cpp"])
def test_a_trace_of_block_hashes_needs_rules_for_blocks(name: str) -> None:
    rules = shipped().named(name)
    parameters = rules.parameters
    with pytest.raises(NoBlockRulesError, match="--rules") as caught:
        BlockEstimation("trace", rules, parameters, EstimateReport())
    assert caught.value.exit_code == 3


def test_recordings_with_reported_numbers(corpus: Path) -> None:
    from coldturn.analysis.estimates.estimation import estimate
    from coldturn.traces.readers import read_exchanges

    names = {
        "pydantic-ai__test_openai_prompt_cache__test_openai_chat_prompt_cache_e2e.yaml": [0, 4_012],
        "openllmetry__test_prompt_caching__test_anthropic_prompt_caching_legacy.yaml": [0, 1_163],
        "openinference__test_tool_calls__test_cached_tokens.yaml": [0, 1_280],
    }
    for name, read in names.items():
        found = estimate(read_exchanges(corpus / "vcr-llm" / name))
        assert [row.read_estimated for row in found.requests] == read
        assert [row.read_reported for row in found.requests] == read

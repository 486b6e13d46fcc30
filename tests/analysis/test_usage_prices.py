"""Usage objects of every provider in one form; costs from them; rates weighted by tokens."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from coldturn.analysis.estimates.prices import CostEstimate, cost, cost_of, lost_multiple, price_of, total
from coldturn.analysis.estimates.registry import shipped
from coldturn.analysis.estimates.ruleset import Price, RuleSet
from coldturn.analysis.estimates.usage import ProviderUsage, UsageByGroup, from_bedrock_headers, normalise
from coldturn.reference.tokens import ReportedTokens

SHAPES: list[tuple[str, dict[str, Any], tuple[int | None, ...]]] = [
    ("anthropic", {"input_tokens": 21, "cache_creation_input_tokens": 1_733, "cache_read_input_tokens": 7,
                   "output_tokens": 9}, (1_761, 7, 1_733, None, 9)),
    ("anthropic, an hour", {"input_tokens": 1, "cache_creation_input_tokens": 30,
                            "cache_creation": {"ephemeral_1h_input_tokens": 20}}, (31, None, 30, 20, None)),
    ("openai responses", {"input_tokens": 4_020, "input_tokens_details": {"cached_tokens": 4_012,
                          "cache_write_tokens": 0}, "output_tokens": 5}, (4_020, 4_012, 0, None, 5)),
    ("openai responses, no details", {"input_tokens": 40, "output_tokens": 5}, (40, None, None, None, 5)),
    ("openai chat", {"prompt_tokens": 1_370, "completion_tokens": 3,
                     "prompt_tokens_details": {"cached_tokens": 1_280}}, (1_370, 1_280, None, None, 3)),
    ("deepseek", {"prompt_tokens": 1_528, "completion_tokens": 86, "prompt_cache_hit_tokens": 1_472,
                  "prompt_cache_miss_tokens": 56}, (1_528, 1_472, None, None, 86)),
    ("deepseek, a sum that is told counts", {"prompt_tokens": 80, "prompt_cache_hit_tokens": 64,
                                             "prompt_cache_miss_tokens": 6}, (80, 64, None, None, None)),
    ("deepseek, halves only", {"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 6},
     (70, 64, None, None, None)),
    ("gemini", {"promptTokenCount": 3_520, "cachedContentTokenCount": 3_512, "candidatesTokenCount": 4,
                "thoughtsTokenCount": 6}, (3_520, 3_512, None, None, 10)),
    ("bedrock converse", {"inputTokens": 12, "outputTokens": 5, "cacheReadInputTokens": 1_028,
                          "cacheWriteInputTokens": 0}, (1_040, 1_028, 0, None, 5)),
    ("bedrock converse, an hour", {"inputTokens": 3, "cacheReadInputTokens": 0, "cacheWriteInputTokens": 30,
                                   "cacheDetails": [{"ttl": "1h", "inputTokens": 20},
                                                    {"ttl": "5m", "inputTokens": 10}]},
     (33, 0, 30, 20, None)),
    ("nova", {"inputTokens": 3, "cacheReadInputTokenCount": 5, "cacheWriteInputTokenCount": 7},
     (15, 5, 7, None, None)),
    ("gemini, by an sdk", {"prompt_token_count": 9, "cached_content_token_count": 0,
                           "candidates_token_count": 2}, (9, 0, None, None, 2)),
    ("odd numbers", {"input_tokens": True, "output_tokens": -3}, (None, None, None, None, None)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "expected"), [(raw, told) for _, raw, told in SHAPES], ids=[s[0] for s in SHAPES]
)
def test_every_shape_becomes_the_same_five_numbers(
    raw: dict[str, Any], expected: tuple[int | None, ...]
) -> None:
    found = normalise(raw)
    assert found is not None
    assert (found.input, found.read, found.written, found.written_long, found.output) == expected


def test_something_else_is_no_usage() -> None:
    assert normalise({"tokens": 4}) is None


def test_bedrock_tells_its_counts_in_headers_too() -> None:
    headers = {
        "x-amzn-bedrock-input-token-count": "4",
        "x-amzn-bedrock-cache-read-input-token-count": "18131",
        "x-amzn-bedrock-cache-write-input-token-count": "0",
    }
    found = from_bedrock_headers(headers)
    assert found is not None
    assert (found.input, found.read, found.fresh) == (18_135, 18_131, 4)
    assert from_bedrock_headers({"x-amzn-bedrock-input-token-count": "many"}) is None


def _usage(size: int | None, read: int | None) -> ProviderUsage:
    return ProviderUsage(
        None if size is None else ReportedTokens(size), None if read is None else ReportedTokens(read)
    )


def test_a_hit_rate_is_weighted_by_tokens_and_kept_per_model_and_call_class() -> None:
    totals = UsageByGroup()
    totals.add(_usage(100_000, 90_000), model="big", call_class="main")
    totals.add(_usage(100, 0), model="small", call_class="side")
    totals.add(_usage(50, None), model="small", call_class="side")
    totals.add(_usage(None, 50), model="small")
    assert totals.total.hit_rate == 90_000 / 100_100
    assert totals.groups["big", "main"].hit_rate == 0.9
    assert totals.groups["small", "side"].requests == 1
    assert totals.groups["small", None].hit_rate is None


def test_what_an_anthropic_request_costs() -> None:
    price = price_of(shipped().named("anthropic-messages"), "claude-sonnet-4-5-20250929")
    usage = normalise({
        "input_tokens": 1_000, "cache_read_input_tokens": 10_000, "cache_creation_input_tokens": 3_000,
        "cache_creation": {"ephemeral_1h_input_tokens": 1_000}, "output_tokens": 500,
    })  # fmt: skip
    assert price is not None
    assert usage is not None
    found = cost_of(usage, price)
    # 1,000 in full, 10,000 at 0.1, 2,000 at 1.25, 1,000 at 2.
    assert found == CostEstimate(6_500.0, (6_500 * 3 + 500 * 15) / 1_000_000, "USD")


@pytest.mark.parametrize(
    ("rules", "model", "read"),
    [
        ("anthropic-messages", "claude-opus-5", 0.1), ("anthropic-messages", "claude-opus-5-5", 0.05),
        ("anthropic-messages", "claude-mythos-5-1", 0.025), ("openai-gpt-5.6", "gpt-5.6-sol", 0.1),
        ("openai-gpt-5.6", "gpt-6.1-sol", 0.05), ("openai-gpt-5.4", "gpt-4o-mini", 0.5),
        ("openai-gpt-5.4", "gpt-4.1", 0.25), ("openai-gpt-5.4", "gpt-5.2", 0.1),
        ("openai-gpt-5.5", "gpt-5.5", 0.1),
    ],
)  # fmt: skip
def test_the_price_of_reading(rules: str, model: str, read: float) -> None:
    price = price_of(shipped().named(rules), model)
    assert price is not None
    assert price.read == read


def test_prices_are_dated() -> None:
    rules = shipped().named("longest-prefix-1024-128").model_dump()
    rules["prices"] = [
        {"models": ["*"], "since": date(2026, 6, 1), "read": 0.1},
        {"models": ["*"], "since": date(2025, 6, 1), "read": 0.5},
    ]
    dated = RuleSet.model_validate(rules)
    found = [
        price_of(dated, "m", day) for day in (None, date(2026, 6, 1), date(2026, 5, 31), date(2024, 1, 1))
    ]
    assert [one.read if one else None for one in found] == [0.1, 0.1, 0.5, None]


def test_an_amount_is_unknown_without_a_price_or_an_output() -> None:
    known = Price(models=("*",), input=2.0, output=8.0, read=0.5)
    assert cost(known, fresh=100, read=100, output=10) == CostEstimate(150.0, 380 / 1_000_000)
    assert cost(known, fresh=100).amount_estimated is None
    assert cost(Price(models=("*",)), fresh=100, output=1).amount_estimated is None
    both = total([cost(known, fresh=100, output=10), cost(known, fresh=100)])
    assert both == CostEstimate(200.0, None)
    assert total([]) is None
    assert cost_of(ProviderUsage(), known) is None


@pytest.mark.parametrize(
    ("written", "written_long", "expected"),
    [
        (None, None, 100 * 1.15),  # not reported: what a cache of written entries does
        (100, None, 100 * 1.15),
        (100, 100, 100 * 1.9),
        (500, 40, 40 * 1.9 + 60 * 1.15),
        (30, 0, 30 * 1.15 + 70 * 0.9),
        (0, 0, 100 * 0.9),
    ],
)
def test_lost_tokens_cost_what_sending_them_anew_cost_more_than_a_read(
    written: int | None, written_long: int | None, expected: float
) -> None:
    price = Price(models=("*",), input=5.0, read=0.1, write=1.25, write_long=2.0)
    raw = None if written is None else ReportedTokens(written)
    long = None if written_long is None else ReportedTokens(written_long)
    usage = ProviderUsage(input=ReportedTokens(1_000), written=raw, written_long=long)
    assert lost_multiple(100, usage, price) == pytest.approx(expected)
    assert lost_multiple(100, usage, price.model_copy(update={"read": 9.0})) == 0

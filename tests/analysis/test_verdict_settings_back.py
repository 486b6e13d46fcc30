"""Settings that go A, B, A: what the first A left is still there, so only what came since is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from analysis.exchanges import DEEPSEEK
from analysis.verdict_pairs import (
    ANTHROPIC,
    CHAT,
    LONG,
    MARK,
    OPENAI,
    chat,
    exchange,
    findings,
    marked,
    messages,
    responses,
    usage,
    words,
)
from coldturn.analysis.breaks.findings import Finding, Verdict
from coldturn.traces.exchange import Exchange

TURNS = ((LONG, "one"), (LONG, "one", "yes", words(900)), (LONG, "one", "yes", words(900), "no", words(900)))
"""A conversation of 5,001, 5,902 and 6,803 tokens."""


def on_messages(system: str, *texts: str, **more: object) -> dict[str, Any]:
    """Marked behind the system text and at the end."""
    text = [{"type": "text", "text": system, "cache_control": MARK}]
    return marked({"system": text, **messages(*texts), **more}, -1)


def new_responses(*texts: str, **more: object) -> dict[str, Any]:
    return responses(*texts, **{"model": "gpt-5.6", **more})


def conversation(
    url: str,
    make: Callable[..., dict[str, Any]],
    settings: Sequence[dict[str, Any]],
    times: Sequence[float] = (),
) -> list[Exchange]:
    """As many requests as settings, each with one more turn."""
    texts = [*TURNS]
    while len(texts) < len(settings):
        texts.append((*texts[-1], "and", words(900)))
    return [
        exchange(make(*turn, **more), url, started=times[at] if times else None)
        for at, (turn, more) in enumerate(zip(texts, settings, strict=False))
    ]


def back(found: Sequence[Finding]) -> Finding:
    there, again = found
    assert (there.request, again.request) == (1, 2)
    assert there.cause == again.cause
    assert there.read_estimated is not None
    assert there.evidence is not None
    assert "earlier request" not in there.evidence
    return again


A_B_A: list[tuple[str, Callable[..., dict[str, Any]], str, dict[str, Any], dict[str, Any], int]] = [
    (ANTHROPIC, on_messages, "model_changed", {}, {"model": "claude-opus-5"}, 5_001),
    (ANTHROPIC, on_messages, "service_tier_changed", {}, {"speed": "fast"}, 5_001),
    (ANTHROPIC, on_messages, "thinking_changed", {}, {"thinking": {"type": "adaptive"}}, 5_001),
    (CHAT, chat, "model_changed", {}, {"model": "gpt-5.1"}, 4_992),
    (CHAT, chat, "effort_changed", {"reasoning_effort": "low"}, {"reasoning_effort": "high"}, 4_992),
    (CHAT, chat, "cache_key_changed", {"prompt_cache_key": "a"}, {"prompt_cache_key": "b"}, 4_992),
    (OPENAI, responses, "service_tier_changed", {}, {"service_tier": "priority"}, 4_992),
    (OPENAI, new_responses, "model_changed", {}, {"model": "gpt-5.6-mini"}, 5_001),
    (OPENAI, new_responses, "cache_key_changed", {"prompt_cache_key": "a"}, {"prompt_cache_key": "b"}, 5_001),
    (OPENAI, new_responses, "effort_changed", {}, {"reasoning": {"effort": "high"}}, 5_001),
]


@pytest.mark.parametrize(
    ("url", "make", "cause", "first", "second", "left"),
    A_B_A,
    ids=[f"{one[0].rsplit('/', 1)[-1]}-{one[1].__name__}-{one[2]}" for one in A_B_A],
)
def test_a_setting_that_comes_back_finds_what_it_left(
    url: str,
    make: Callable[..., dict[str, Any]],
    cause: str,
    first: dict[str, Any],
    second: dict[str, Any],
    left: int,
) -> None:
    again = back(findings(*conversation(url, make, (first, second, first))))
    assert (again.cause, again.verdict, again.read_estimated) == (cause, Verdict.BROKEN, left)
    assert again.readable_estimated is not None
    assert again.lost_tokens_estimated == again.readable_estimated - left > 800
    assert f"an earlier request with the same settings left {left:,} tokens" in (again.evidence or "")
    assert again.lost_bytes == len("yes") + 4 * 900


def test_two_models_by_turns_lose_what_each_turn_added() -> None:
    models: list[dict[str, Any]] = [{}, {"model": "gpt-5.1"}] * 3
    found = findings(*conversation(CHAT, chat, models))
    assert [one.cause for one in found] == ["model_changed"] * 5
    assert [one.read_estimated for one in found] == [0, 4_992, 5_888, 6_784, 7_680]
    assert [one.lost_tokens_estimated for one in found] == [4_992, 896, 896, 896, 896]


@pytest.mark.parametrize(
    ("url", "make", "second", "ttl"),
    [
        (ANTHROPIC, on_messages, {"model": "claude-opus-5"}, 300.0),
        (CHAT, chat, {"model": "gpt-5.1"}, 600.0),
        (CHAT, chat, {"reasoning_effort": "high"}, 600.0),
    ],
)
def test_what_was_left_lives_as_long_as_the_rules_say(
    url: str, make: Callable[..., dict[str, Any]], second: dict[str, Any], ttl: float
) -> None:
    settings: list[dict[str, Any]] = [{}, second, {}]
    soon = back(findings(*conversation(url, make, settings, (0.0, ttl - 20, ttl - 10))))
    assert soon.read_estimated is not None
    assert soon.read_estimated > 4_000
    late = back(findings(*conversation(url, make, settings, (0.0, ttl - 20, ttl + 10))))
    assert late.read_estimated == 0
    assert late.lost_tokens_estimated == late.readable_estimated


def test_a_lifetime_that_was_asked_for_counts() -> None:
    long = {"prompt_cache_retention": "24h"}
    settings = (long, {**long, "model": "gpt-5.1"}, long)
    found = back(findings(*conversation(CHAT, chat, settings, (0.0, 10.0, 5_000.0))))
    assert found.read_estimated == 4_992


def test_a_report_that_says_less_was_read_wins() -> None:
    was, other, again = conversation(CHAT, chat, ({}, {"model": "gpt-5.1"}, {}))
    cold = exchange(chat(*TURNS[2]), CHAT, usage(CHAT, 6_803, 0))
    assert back(findings(was, other, cold)).read_estimated == 0
    warm = exchange(chat(*TURNS[2]), CHAT, usage(CHAT, 6_803, 4_992))
    assert back(findings(was, other, warm)).read_estimated == 4_992
    (unserved,) = findings(replace(was, status=429), other, again)
    assert (unserved.request, unserved.read_estimated) == (2, 0)


def test_a_report_that_is_a_little_below_the_estimate_is_taken_as_it_is() -> None:
    """What an earlier request left is estimated from bytes; the provider counts tokens."""
    was, other, _ = conversation(CHAT, chat, ({}, {"model": "gpt-5.1"}, {}))
    found = back(findings(was, other, exchange(chat(*TURNS[2]), CHAT, usage(CHAT, 6_803, 4_864))))
    assert found.read_estimated == 4_864
    assert "left 4,864 tokens" in (found.evidence or "")


def test_another_name_of_a_model_that_reads_nearly_all_costs_nothing() -> None:
    """An alias and the dated model that it stands for have one cache."""
    first = exchange(chat(*TURNS[0], model="gpt-5.2"), CHAT, usage(CHAT, 5_001, 0))
    for read, verdict in ((4_864, Verdict.BROKEN_HARMLESS), (2_560, Verdict.BROKEN)):
        dated = exchange(chat(*TURNS[1], model="gpt-5.2-2025-12-11"), CHAT, usage(CHAT, 5_902, read))
        (found,) = findings(first, dated)
        assert (found.cause, found.verdict) == ("model_changed", verdict)


def test_a_prompt_that_only_swaps_its_setting_loses_nothing_on_the_way_back() -> None:
    """The same messages again: each is compared with its equal of the same model."""
    texts = TURNS[0]
    requests = [
        exchange(chat(*texts, **more), CHAT) for more in ({}, {"model": "gpt-5.1"}, {}, {"model": "gpt-5.1"})
    ]
    assert [(one.request, one.cause) for one in findings(*requests)] == [(1, "model_changed")]


def test_whole_units_come_back_only_where_they_are_repeated_whole() -> None:
    def deepseek(*texts: str, **more: object) -> dict[str, Any]:
        return chat(*texts, **{"model": "deepseek-chat", **more})

    found = back(findings(*conversation(DEEPSEEK, deepseek, ({}, {"model": "deepseek-reasoner"}, {}))))
    assert found.read_estimated == 5_001 - 5_001 % 64


def headed(requests: Sequence[Exchange], name: str, values: str) -> list[Exchange]:
    return [
        replace(one, request_headers=((name, value),)) for one, value in zip(requests, values, strict=True)
    ]


def test_an_organisation_has_entries_of_its_own() -> None:
    requests = conversation(OPENAI, new_responses, ({}, {}, {}))
    again = back(findings(*headed(requests, "openai-organization", "aba")))
    assert (again.cause, again.read_estimated) == ("scope_changed", 5_001)
    other = findings(*headed(requests, "openai-organization", "abc"))
    assert [one.read_estimated for one in other] == [0, 0]
    sessions = findings(*headed(requests, "session_id", "abc"))
    assert [(one.cause, one.read_estimated) for one in sessions] == [("cache_key_changed", 0)] * 2


def test_sessions_share_entries_where_nobody_routes_by_them() -> None:
    requests = conversation(ANTHROPIC, on_messages, ({}, {}, {}))
    assert findings(*headed(requests, "x-claude-code-session-id", "abc")) == []


def test_nobody_reads_what_is_not_answered_yet() -> None:
    first, other, again = conversation(
        ANTHROPIC, on_messages, ({}, {"model": "claude-opus-5"}, {}), (0.0, 10.0, 20.0)
    )
    assert back(findings(replace(first, answered=15.0), other, again)).read_estimated == 5_001
    assert back(findings(replace(first, answered=25.0), other, again)).read_estimated == 0


def test_a_text_that_breaks_as_well_is_measured_by_what_is_left() -> None:
    was, other, _ = conversation(CHAT, chat, ({}, {"model": "gpt-5.1"}, {}))
    edited = exchange(chat(LONG, "one", "no", words(900, "other"), "then", words(900)), CHAT)
    again = findings(was, other, edited)[1]
    assert again.cause != "model_changed"
    assert again.read_estimated == 4_992

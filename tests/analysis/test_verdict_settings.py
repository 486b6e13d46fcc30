"""Settings that no prompt text shows: each by its cause, with the tiers that the rules take."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.verdict_pairs import (
    ANTHROPIC,
    CHAT,
    LONG,
    MARK,
    OPENAI,
    chat,
    exchange,
    finding,
    findings,
    marked,
    messages,
    responses,
    usage,
)
from coldturn.analysis.breaks.findings import Verdict
from coldturn.reference.prefix.model import Zone
from coldturn.traces.exchange import Exchange

ALL = ("tools", "system", "messages")


def anthropic(*texts: str, **more: object) -> dict[str, Any]:
    system = [{"type": "text", "text": LONG, "cache_control": MARK}]
    return marked(messages(*texts, system=system, **more), -1)


CASES: list[tuple[str, str, dict[str, Any], dict[str, Any], tuple[str, ...]]] = [
    (ANTHROPIC, "model_changed", {}, {"model": "claude-opus-5"}, ALL),
    (
        ANTHROPIC,
        "effort_changed",
        {"output_config": {"effort": "low"}},
        {"output_config": {"effort": "high"}},
        ALL[2:],
    ),
    (ANTHROPIC, "thinking_changed", {}, {"thinking": {"type": "enabled", "budget_tokens": 1024}}, ALL[2:]),
    (
        ANTHROPIC,
        "tool_choice_changed",
        {"tool_choice": {"type": "any"}},
        {"tool_choice": {"type": "none"}},
        ALL[2:],
    ),
    (
        ANTHROPIC,
        "parallel_tool_calls_changed",
        {},
        {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        ALL[2:],
    ),
    (ANTHROPIC, "service_tier_changed", {}, {"speed": "fast"}, ALL[1:]),
    (OPENAI, "model_changed", {}, {"model": "gpt-5.1"}, ALL),
    (OPENAI, "effort_changed", {"reasoning": {"effort": "low"}}, {"reasoning": {"effort": "high"}}, ALL),
    (OPENAI, "verbosity_changed", {"text": {"verbosity": "low"}}, {"text": {"verbosity": "high"}}, ALL),
    (OPENAI, "response_format_changed", {}, {"text": {"format": {"type": "json_object"}}}, ALL),
    (OPENAI, "service_tier_changed", {}, {"service_tier": "priority"}, ALL),
    (OPENAI, "parallel_tool_calls_changed", {}, {"parallel_tool_calls": False}, ALL),
    (OPENAI, "cache_key_changed", {"prompt_cache_key": "a"}, {"prompt_cache_key": "b"}, ALL),
    (CHAT, "model_changed", {}, {"model": "gpt-5.1"}, ALL),
    (CHAT, "effort_changed", {"reasoning_effort": "low"}, {"reasoning_effort": "high"}, ALL),
    (CHAT, "verbosity_changed", {"verbosity": "low"}, {"verbosity": "high"}, ALL),
    (CHAT, "response_format_changed", {}, {"response_format": {"type": "json_object"}}, ALL),
    (CHAT, "service_tier_changed", {}, {"service_tier": "priority"}, ALL),
    (CHAT, "parallel_tool_calls_changed", {}, {"parallel_tool_calls": False}, ALL),
    (CHAT, "cache_key_changed", {"prompt_cache_key": "a"}, {"prompt_cache_key": "b"}, ALL),
]
BODIES = {ANTHROPIC: anthropic, OPENAI: responses, CHAT: chat}


def pair(url: str, was: dict[str, Any], now: dict[str, Any]) -> tuple[Exchange, Exchange]:
    """A long request, and one that appends to it, with these settings."""
    make = BODIES[url]
    texts = (LONG, "yes", LONG)
    return exchange(make(*texts, **was), url), exchange(make(*texts, "well", "go on", **now), url)


@pytest.mark.parametrize(
    ("url", "cause", "was", "now", "tiers"), CASES, ids=[f"{c[0].rsplit('/', 1)[-1]}-{c[1]}" for c in CASES]
)
def test_a_setting_is_named_with_the_tiers_it_takes(
    url: str, cause: str, was: dict[str, Any], now: dict[str, Any], tiers: tuple[str, ...]
) -> None:
    found = finding(*pair(url, was, now))
    assert (found.cause, found.zone, found.verdict) == (cause, Zone.SETTINGS, Verdict.BROKEN)
    assert found.tiers_lost == tiers
    places = (found.segment, found.path, found.section, found.offset, found.block_offset, found.wire_offset)
    assert set(places) == {None}
    assert found.confidence == "observed"
    assert found.remedy
    assert found.readable_estimated is not None
    assert found.lost_tokens_estimated == found.readable_estimated - (found.read_estimated or 0)


def test_lost_tiers_decide_what_is_lost() -> None:
    """5,000 tokens of system text stay readable where only the messages are lost."""
    kept = finding(*pair(ANTHROPIC, {}, {"thinking": {"type": "adaptive"}}))
    assert kept.read_estimated == 5_000
    assert kept.lost_bytes == len(LONG) * 2 + len("yes")
    lost = finding(*pair(ANTHROPIC, {}, {"model": "claude-opus-5"}))
    assert (lost.read_estimated, lost.lost_bytes) == (0, len(LONG) * 3 + len("yes"))


@pytest.mark.parametrize(
    ("url", "was", "now"),
    [
        (OPENAI, {}, {"tool_choice": "none"}),
        (OPENAI, {}, {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []}}),
        (CHAT, {"tool_choice": "auto"}, {"tool_choice": "required"}),
        (OPENAI, {}, {"parallel_tool_calls": True}),
        (OPENAI, {}, {"text": {"format": {"type": "text"}}}),
        (ANTHROPIC, {}, {"tool_choice": {"type": "auto"}}),
        (OPENAI, {}, {"temperature": 0.1, "max_output_tokens": 5}),
    ],
)
def test_a_setting_that_takes_nothing_is_no_break(url: str, was: dict[str, Any], now: dict[str, Any]) -> None:
    assert findings(*pair(url, was, now)) == []


def test_the_one_that_takes_most_comes_first_and_the_others_beside() -> None:
    found = finding(*pair(ANTHROPIC, {}, {"speed": "fast", "tool_choice": {"type": "any"}}))
    assert found.cause == "service_tier_changed"
    assert [one.cause for one in found.alongside] == ["tool_choice_changed"]


def test_a_text_break_stays_first() -> None:
    was = exchange(chat(LONG + "old rule. " + LONG, "yes"), CHAT)
    now = exchange(chat(LONG + "new rule. " + LONG, "yes", verbosity="low"), CHAT)
    found = finding(was, now)
    assert found.zone is Zone.SYSTEM
    assert [one.cause for one in found.alongside] == ["verbosity_changed"]


def test_what_was_too_short_to_be_kept_is_lost_to_no_setting() -> None:
    was, now = (
        exchange(responses("short", "yes", reasoning={"effort": one}), OPENAI) for one in ("low", "high")
    )
    found = finding(was, now)
    assert (found.cause, found.verdict) == ("effort_changed", Verdict.BROKEN_HARMLESS)
    assert found.lost_tokens_estimated == 0


def test_a_report_that_says_otherwise_wins() -> None:
    was = exchange(responses(LONG, "yes", service_tier="flex"), OPENAI, usage(OPENAI, 5_001, 0))
    now = exchange(responses(LONG, "yes", "ok", "go on"), OPENAI, usage(OPENAI, 5_010, 4_992))
    assert finding(was, now).verdict is Verdict.BROKEN_HARMLESS


def test_without_rules_only_another_model_is_judged() -> None:
    was, now = (exchange(chat("hello", "yes", model=one, verbosity=one), "") for one in ("mine", "yours"))
    found = finding(was, now)
    assert (found.cause, found.rules, found.verdict) == ("model_changed", None, Verdict.BROKEN)
    assert "no cache rules" in (found.evidence or "")
    same = exchange(chat("hello", "yes", model="mine", verbosity="low"), "")
    assert findings(was, same) == []


def with_headers(one: Exchange, **headers: str) -> Exchange:
    return replace(
        one, request_headers=tuple((name.replace("_", "-"), value) for name, value in headers.items())
    )


def test_a_session_header_that_is_drawn_anew_is_a_cache_key() -> None:
    """BerriAI/litellm#42012."""
    was, now = pair(OPENAI, {}, {})
    found = finding(with_headers(was, session_id="a"), with_headers(now, session_id="b"))
    assert (found.cause, found.names, found.was, found.now) == (
        "cache_key_changed",
        ("session-id",),
        "a",
        "b",
    )


def test_betas_alone_are_told_by_nobody_until_a_provider_says_so() -> None:
    was, now = pair(ANTHROPIC, {}, {})
    assert findings(with_headers(was, anthropic_beta="a,b"), with_headers(now, anthropic_beta="b, a")) == []
    missed = exchange(
        anthropic(LONG, "yes", LONG, "well", "go on"),
        ANTHROPIC,
        usage(ANTHROPIC, 15_010, 0, 15_010),
        started=9.0,
    )
    before = exchange(
        anthropic(LONG, "yes", LONG), ANTHROPIC, usage(ANTHROPIC, 15_002, 0, 15_001), started=1.0
    )
    found = finding(with_headers(before, anthropic_beta="a"), with_headers(missed, anthropic_beta="a,c"))
    assert found.cause == "betas_changed"
    assert found.confidence == "inferred"


def test_a_first_image_takes_the_messages() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    now = anthropic(LONG, "yes", LONG, "well", "look")
    now["messages"][-1]["content"].insert(0, image)
    found = finding(exchange(anthropic(LONG, "yes", LONG), ANTHROPIC), exchange(now, ANTHROPIC))
    assert (found.cause, found.tiers_lost) == ("image_toggle", ("messages",))


@pytest.mark.parametrize("url", [OPENAI, CHAT])
def test_an_image_sent_again_with_another_detail(url: str) -> None:
    def body(detail: str) -> dict[str, Any]:
        address = "https://example.org/a.png"
        if url == OPENAI:
            part: dict[str, Any] = {"type": "input_image", "image_url": address, "detail": detail}
            return {
                "model": "gpt-5.4",
                "input": [
                    {"role": "user", "content": [part, {"type": "input_text", "text": LONG}]},
                    {"role": "assistant", "content": "ok"},
                ],
            }
        part = {"type": "image_url", "image_url": {"url": address, "detail": detail}}
        return {
            "model": "gpt-5.4",
            "messages": [
                {"role": "user", "content": [part, {"type": "text", "text": LONG}]},
                {"role": "assistant", "content": "ok"},
            ],
        }

    found = finding(exchange(body("low"), url), exchange(body("high"), url))
    assert found.cause == "image_detail_changed"
    assert found.path is not None


CONVERSE = "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-opus-5/converse"


def converse(*texts: str, **more: object) -> dict[str, Any]:
    point = {"cachePoint": {"type": "default"}}
    turns: list[dict[str, Any]] = [
        {"role": ("user", "assistant")[index % 2], "content": [{"text": text}]}
        for index, text in enumerate(texts)
    ]
    turns[-1] = {**turns[-1], "content": [{"text": texts[-1]}, point]}
    return {"system": [{"text": LONG}, point], "messages": turns, **more}


@pytest.mark.parametrize(
    ("cause", "now"),
    [
        ("thinking_changed", {"additionalModelRequestFields": {"thinking": {"type": "adaptive"}}}),
        ("tool_choice_changed", {"toolConfig": {"toolChoice": {"any": {}}}}),
    ],
)
def test_bedrock_s_converse_has_the_same_settings_elsewhere(cause: str, now: dict[str, Any]) -> None:
    was = exchange(converse(LONG), CONVERSE)
    found = finding(was, exchange(converse(LONG, "yes", "go on", **now), CONVERSE))
    assert (found.cause, found.tiers_lost, found.read_estimated) == (cause, ("messages",), 5_000)
    assert found.rules == "bedrock-claude"


def test_gemini_knows_another_model() -> None:
    address = "https://generativelanguage.googleapis.com/v1beta/models/{}:generateContent"
    body = {"contents": [{"role": "user", "parts": [{"text": LONG}]}]}
    pair = [exchange(body, address.format(model)) for model in ("gemini-2.5-flash", "gemini-2.5-pro")]
    found = finding(*pair)
    assert (found.cause, found.rules) == ("model_changed", "gemini-implicit")

"""Settings that no rule knows are named where a provider reports a miss, before the provider is blamed."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.exchanges import DEEPSEEK
from analysis.verdict_pairs import CHAT, LONG, OPENAI, chat, exchange, finding, findings, responses, usage
from coldturn.analysis.breaks.findings import Finding, Verdict
from coldturn.reference.prefix.model import Zone
from coldturn.traces.exchange import Exchange


def log(*settings: dict[str, Any], read: tuple[int, ...] = (0, 0)) -> list[Exchange]:
    """A conversation that is only added to, with these settings and reads."""
    texts = ["a", "b", "c", "d", "e", "f", "g"]
    return [
        exchange(
            responses(LONG, *texts[: 1 + 2 * at], **more),
            OPENAI,
            usage(OPENAI, 5_010 + at, read[at]),
            started=10.0 * at,
        )
        for at, more in enumerate(settings)
    ]


def miss(was: dict[str, Any], now: dict[str, Any]) -> Finding:
    return finding(*log(was, now))


@pytest.mark.parametrize(
    ("was", "now", "key"),
    [
        (
            {"reasoning": {"context": "all_turns"}},
            {"reasoning": {"context": "current_turn"}},
            "reasoning.context",
        ),
        (
            {},
            {"web_search_options": {"search_context_size": "high"}},
            "web_search_options.search_context_size",
        ),
        ({}, {"plugins": [{"id": "web"}]}, "plugins"),
        ({"provider": {"order": ["a"]}}, {"provider": {"order": ["b"]}}, "provider.order"),
        ({"truncation": "disabled"}, {"truncation": "auto"}, "truncation"),
        ({"text": {"tone": "dry"}}, {"text": {"tone": "warm"}}, "text.tone"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_setting_of_which_no_rule_speaks_is_named(
    was: dict[str, Any], now: dict[str, Any], key: str
) -> None:
    found = miss(was, now)
    assert (found.cause, found.verdict, found.zone) == ("unknown", Verdict.UNKNOWN, Zone.SETTINGS)
    assert (found.names, found.confidence) == ((key,), "unknown")
    assert f"{key} differs, of which no rule says what it takes" in (found.evidence or "")
    assert found.lost_tokens_estimated == 4_992
    assert "setting" in (found.remedy or "")


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ({"temperature": 0.1}, {"temperature": 0.9}),
        ({"store": True}, {"store": False}),
        ({"metadata": {"a": "1"}}, {"metadata": {"a": "2"}}),
        ({"reasoning": {"summary": "auto"}}, {"reasoning": {"summary": "detailed"}}),
        ({"presence_penalty": 0}, {"presence_penalty": 1}),
        ({"tool_choice": "none"}, {"tool_choice": {"type": "allowed_tools", "mode": "auto"}}),
    ],
)
def test_settings_that_say_nothing_leave_it_to_the_provider(was: dict[str, Any], now: dict[str, Any]) -> None:
    assert miss(was, now).cause == "provider_side"


def test_one_that_differed_where_all_was_read_is_cleared() -> None:
    ids = [{"trace": str(at)} for at in range(3)]
    assert [one.cause for one in findings(*log(*ids, read=(0, 4_992, 0)))] == ["provider_side"]
    assert [one.cause for one in findings(*log(*ids, read=(0, 0, 4_992)))] == ["unknown"]


def test_one_that_differs_costs_nothing_where_nothing_is_missed() -> None:
    assert findings(*log({}, {"plugins": []}, read=(0, 4_992))) == []


def test_rules_that_speak_of_no_setting_clear_none() -> None:
    """DeepSeek's rules have no tiers: thinking is a suspect, by its name."""
    kinds = ("enabled", "disabled")
    logs = [
        exchange(
            chat(LONG, *texts, model="deepseek-chat", thinking={"type": kind}),
            DEEPSEEK,
            usage(CHAT, 5_010, 0),
        )
        for kind, texts in zip(kinds, (("a",), ("a", "b", "c")), strict=True)
    ]
    found = finding(*logs)
    assert (found.cause, found.verdict, found.confidence) == ("thinking_changed", Verdict.BROKEN, "inferred")


def test_a_stored_prompt_is_measured_by_what_was_read_of_it() -> None:
    def sent(version: str, read: int, *more: str) -> Exchange:
        body = responses("", "a", *more, prompt={"id": "pmpt_1", "version": version})
        del body["instructions"]
        return exchange(body, OPENAI, usage(OPENAI, 6_050, read))

    found = finding(sent("3", 5_888), sent("4", 0, "b", "c"))
    assert (found.names, found.verdict) == (("prompt.version",), Verdict.UNKNOWN)
    assert found.lost_tokens_estimated == 5_888
    assert findings(sent("3", 5_888), sent("3", 5_888, "b", "c")) == []

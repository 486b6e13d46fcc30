"""Our findings beside a provider's own diagnosis, and others' words for our causes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from analysis.exchanges import report
from analysis.verdict_pairs import (
    ANTHROPIC,
    LONG,
    OPENAI,
    exchange,
    finding,
    findings,
    marked,
    messages,
    reported,
    responses,
    usage,
)
from coldturn.analysis.breaks.findings import Beside, Finding, Later, VendorWord, Verdict
from coldturn.analysis.verdicts.aliases import ALIASES, NO_VERDICT, WORDS, aliases_of, matches
from coldturn.analysis.verdicts.remedies import ALL_REMEDIES
from coldturn.analysis.verdicts.vendor import score
from coldturn.reference.prefix.model import Zone
from coldturn.traces.exchange import Exchange


def diagnosed(one: Exchange, **members: Any) -> Exchange:  # noqa: ANN401 - any JSON
    """With these members in its answer."""
    assert one.response_body is not None
    answer = {**json.loads(one.response_body), **members}
    return replace(one, response_body=json.dumps(answer).encode())


def of_anthropic(reason: str, missed: int = 4_000) -> dict[str, Any]:
    return {"diagnostics": {"cache_miss_reason": {"type": reason, "cache_missed_input_tokens": missed}}}


def of_openai(reason: str, *, reusable: int = 4_992, missed: int = 4_992) -> dict[str, Any]:
    told = {"type": "cache_miss", "reason": reason}
    return {
        "prompt_cache_diagnostics": {
            **told,
            "comparison_reusable_tokens": reusable,
            "cache_missed_tokens": missed,
        }
    }


def anthropic(system: str, reason: str | None, **more: object) -> Exchange:
    body = marked(messages(LONG, system=system, **more), 0)
    one = exchange(body, ANTHROPIC, usage(ANTHROPIC, 5_100, 0, 5_000), started=10.0)
    return one if reason is None else diagnosed(one, **of_anthropic(reason))


@pytest.mark.parametrize(
    ("now", "reason", "said"),
    [
        ("It is 10:02.", "system_changed", "finer"),
        ("It is 10:02.", "tools_changed", "conflict"),
        ("It is 10:02.", "model_changed", "conflict"),
        ("It is 10:02.", "a_word_of_tomorrow", "conflict"),
    ],
)
def test_a_text_break_is_scored(now: str, reason: str, said: str) -> None:
    found = finding(anthropic("It is 10:01.", None), anthropic(now, reason))
    assert found.cause == "clock_in_prefix"
    assert found.vendor == {"source": "anthropic", "reason": reason, "score": said}


def test_a_setting_is_agreed_on() -> None:
    found = finding(anthropic("S", None), anthropic("S", "model_changed", model="claude-opus-5"))
    assert (found.cause, (found.vendor or {})["score"]) == ("model_changed", "agreed")


@pytest.mark.parametrize("reason", ["previous_message_not_found", "unavailable"])
def test_words_that_are_no_verdict_are_none(reason: str) -> None:
    assert finding(anthropic("It is 10:01.", None), anthropic("It is 10:02.", reason)).vendor is None


def test_a_setting_that_rules_do_not_know_becomes_a_finding_when_the_provider_names_it() -> None:
    was = exchange(responses(LONG, "a", model="mine"), "https://llm.example.org/v1/responses")
    now = exchange(
        responses(LONG, "a", model="mine", reasoning={"effort": "high"}),
        "https://llm.example.org/v1/responses",
        usage(OPENAI, 5_001, 0),
    )
    assert findings(was, now) == []
    found = finding(was, diagnosed(now, **of_openai("reasoning_effort_changed")))
    assert (found.cause, found.zone, found.verdict) == ("effort_changed", Zone.SETTINGS, Verdict.BROKEN)
    assert (found.vendor or {})["score"] == "agreed"
    assert found.lost_tokens_estimated == 4_992


def test_what_the_recording_does_not_show_stays_unknown() -> None:
    found = finding(anthropic("S", None), anthropic("S", "system_changed"))
    assert (found.cause, found.zone, found.verdict) == ("unknown", Zone.SYSTEM, Verdict.UNKNOWN)
    assert (found.vendor or {})["score"] == "conflict"
    assert found.path is None


def test_a_word_about_a_first_request_is_listed() -> None:
    report = reported(anthropic("S", "system_changed"))
    assert report.breaks == []
    assert [vars_of(word) for word in report.lineages[0].vendor_only] == [(0, "anthropic", "system_changed")]
    found = reported(anthropic("It is 10:01.", None), anthropic("It is 10:02.", "system_changed"))
    assert found.lineages[0].vendor_only == []


def vars_of(word: VendorWord) -> tuple[int, str, str]:
    return word.request, word.source, word.reason


def _found(cause: str, zone: Zone, *, later: tuple[Later, ...] = (), beside: tuple[str, ...] = ()) -> Finding:
    base = finding(anthropic("It is 10:01.", None), anthropic("It is 10:02.", None))
    others = tuple(Beside(one, "observed") for one in beside)
    return replace(base, cause=cause, zone=zone, later=later, alongside=others)


@pytest.mark.parametrize(
    ("source", "word", "cause", "zone", "said"),
    [
        ("openai", "prompt_cache_key_changed", "cache_key_changed", Zone.SETTINGS, "agreed"),
        ("openai", "text_format_changed", "response_format_changed", Zone.SETTINGS, "agreed"),
        ("openai", "context_compacted", "compaction", Zone.HISTORY, "agreed"),
        ("openai", "input_changed", "clock_in_prefix", Zone.SYSTEM, "finer"),
        ("openai", "input_changed", "history_rewritten", Zone.HISTORY, "agreed"),
        ("openai", "tools_changed", "tool_promoted", Zone.TOOLS, "finer"),
        ("openai", "service_tier_changed", "effort_changed", Zone.SETTINGS, "conflict"),
        ("claude_code", "system_prompt_changed", "system_edited", Zone.SYSTEM, "agreed"),
        ("claude_code", "messages_rewritten", "json_format", Zone.HISTORY, "finer"),
        ("claude_code", "ttl_expired_1h", "ttl_expired", Zone.NONE, "agreed"),
        ("claude_code", "ttl_expired_5m", "ttl_downgraded", Zone.NONE, "finer"),
        ("claude_code", "likely_server_side", "provider_side", Zone.NONE, "agreed"),
        ("claude_code", "likely_server_side", "routing", Zone.NONE, "finer"),
    ],
)
def test_scores(source: str, word: str, cause: str, zone: Zone, said: str) -> None:
    assert score(_found(cause, zone), ALIASES[source][word]) == said


def test_what_stands_behind_or_beside_counts_as_finer() -> None:
    behind = _found("tool_promoted", Zone.TOOLS, later=(Later("catalog_growth", Zone.SYSTEM, None, None),))
    assert score(behind, ALIASES["anthropic"]["system_changed"]) == "finer"
    beside = _found("tool_promoted", Zone.TOOLS, beside=("model_changed",))
    assert score(beside, ALIASES["anthropic"]["model_changed"]) == "finer"
    assert score(beside, ALIASES["anthropic"]["system_changed"]) == "conflict"


def test_tables_name_only_causes_that_exist() -> None:
    for table in ALIASES.values():
        for alias in table.values():
            assert alias.causes | alias.generic <= set(ALL_REMEDIES)
            assert bool(alias.causes) is not bool(alias.zones)
    assert NO_VERDICT["anthropic"] <= WORDS


def test_words_match_findings() -> None:
    found = _found("tool_order", Zone.TOOLS, beside=("ttl_expired",))
    assert matches("tools_changed", found)
    assert matches("ttl_expired_5m", found)
    assert not matches("system_changed", found)
    assert not matches("unavailable", found)


def test_estimates_stand_beside_what_the_provider_says_could_have_been_read() -> None:
    was = exchange(responses(LONG, "a"), OPENAI, usage(OPENAI, 5_001, 0), started=0.0)
    now = exchange(responses(LONG, "a", "b", "c"), OPENAI, usage(OPENAI, 5_010, 1_024), started=9.0)
    told = report([was, diagnosed(now, **of_openai("input_changed", missed=3_968))]).as_json()
    first, second = told["requests"]
    assert first["vendor"] is None
    assert second["vendor"] == {
        "source": "openai",
        "type": "cache_miss",
        "reason": "input_changed",
        "reusable_reported": 4_992,
        "missed_reported": 3_968,
    }
    assert told["vendor"] == {
        "n": 1,
        "compared": 1,
        "within_block": 1,
        "reusable_reported": 4_992,
        "reusable_estimated": 4_992,
        "missed_reported": 3_968,
        "unread_estimated": 3_968,
    }
    assert report([was]).as_json()["vendor"] is None


@pytest.mark.parametrize(
    ("cause", "zone", "words"),
    [
        (
            "tool_order",
            Zone.TOOLS,
            ("claude_code: tools_changed", "anthropic: tools_changed", "openai: tools_changed"),
        ),
        (
            "compaction",
            Zone.HISTORY,
            ("claude_code: messages_rewritten", "anthropic: messages_changed", "openai: context_compacted"),
        ),
        ("cache_key_changed", Zone.SETTINGS, ("openai: prompt_cache_key_changed",)),
        ("provider_side", Zone.NONE, ("claude_code: likely_server_side",)),
        ("lookback_exceeded", Zone.NONE, ()),
    ],
)
def test_a_finding_says_what_others_call_it(cause: str, zone: Zone, words: tuple[str, ...]) -> None:
    assert aliases_of(cause, zone) == words


def test_findings_carry_their_aliases() -> None:
    found = finding(anthropic("It is 10:01.", None), anthropic("It is 10:02.", None))
    assert "anthropic: system_changed" in found.aliases


def test_a_word_cannot_move_the_cursor() -> None:
    now = anthropic("S", None)
    found = finding(anthropic("S", None), diagnosed(now, **of_anthropic("gone\x1b[2J")))
    assert "\x1b" not in (found.evidence or "") + str(found.vendor)

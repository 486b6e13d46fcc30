"""What stands behind a reported miss: words that the server left out, another account, too many requests."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from analysis.verdict_pairs import (
    ANTHROPIC,
    CHAT,
    LONG,
    OPENAI,
    OPENROUTER,
    chat,
    exchange,
    finding,
    findings,
    marked,
    messages,
    responses,
    usage,
    words,
)
from coldturn.analysis.breaks.findings import Verdict
from coldturn.analysis.verdicts.remedies import ASK_SERVERS, DRIFT_BY_DESIGN, NAME_RULES, SPREAD_KEYS
from coldturn.analysis.verdicts.signs import SignReader, cleared_tokens
from coldturn.reference.prefix.request import read_request
from coldturn.traces.exchange import Exchange

QWEN = {"model": "qwen/qwen3-coder"}


def answered(one: Exchange, **more: object) -> Exchange:
    """The same with members of the answer beside its usage."""
    body = json.loads(one.response_body or b"{}")
    return replace(one, response_body=json.dumps({**body, **more}).encode())


def claude_pair(whole: int = 2_010) -> tuple[Exchange, Exchange]:
    """A request that was written whole, and one that goes on and reads 1,000 of it."""
    older = exchange(marked(messages(LONG), -1), ANTHROPIC, usage(ANTHROPIC, 5_000, 0, 5_000), started=1.0)
    body = marked(messages(LONG, "yes", "go on"), -1)
    told = usage(ANTHROPIC, whole, 1_000, whole - 1_001)
    return older, exchange(body, ANTHROPIC, told, started=9.0)


def edits(cleared: int) -> dict[str, Any]:
    edit = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 3, "cleared_input_tokens": cleared}
    return {"context_management": {"applied_edits": [edit] if cleared else []}}


def test_results_that_the_server_cleared_are_planned() -> None:
    older, newer = claude_pair()
    found = finding(answered(older, **edits(0)), answered(newer, **edits(3_000)))
    assert (found.cause, found.verdict, found.planned) == ("planned_elision", Verdict.PLANNED, True)
    assert "3,000 tokens" in (found.evidence or "")
    assert found.lost_tokens_estimated == 1_010
    same = finding(answered(older, **edits(3_000)), answered(newer, **edits(3_000)))
    assert same.cause != "planned_elision"


def test_cleared_tokens_of_several_edits_are_added_and_other_texts_are_not() -> None:
    told = b'"applied_edits":[{"cleared_input_tokens":7},{"cleared_input_tokens": 5}]'
    stream = b'data: {"usage":{},"context_management":{%b}}' % told
    assert cleared_tokens(stream + b'\n{"cleared_input_tokens":100}') == 12
    assert [cleared_tokens(one) for one in (None, b"", b'{"applied_edits":[]}')] == [0, 0, 0]


def test_a_compaction_of_the_server_is_planned() -> None:
    older, _ = claude_pair()
    body = messages(LONG, "yes", "go on")
    body["messages"][1]["content"].insert(0, {"type": "compaction", "content": "What was said so far."})
    newer = exchange(marked(body, -1), ANTHROPIC, usage(ANTHROPIC, 1_100, 0, 1_099), started=9.0)
    found = finding(older, newer)
    assert (found.cause, found.verdict) == ("compaction", Verdict.PLANNED)
    quoted = messages(LONG, '{"type":"compaction"} yes', "go on")
    newer = exchange(marked(quoted, -1), ANTHROPIC, usage(ANTHROPIC, 5_100, 0, 5_099), started=9.0)
    assert finding(older, newer).cause == "provider_side"


def test_an_input_that_shrinks_is_never_the_providers_fault() -> None:
    body = responses(LONG, "a", "b", "c", truncation="auto")
    first = body | {"input": body["input"][:1]}
    older = exchange(first, OPENAI, usage(OPENAI, 9_000, 8_960), started=1.0)
    newer = exchange(body, OPENAI, usage(OPENAI, 6_000, 4_992), started=9.0)
    found = finding(older, newer)
    assert (found.cause, found.verdict) == ("unknown", Verdict.UNKNOWN)
    for figure in ("6,000 input tokens", "before 9,000", "truncation is set to auto"):
        assert figure in (found.evidence or "")
    grown = replace(newer, response_body=exchange({}, OPENAI, usage(OPENAI, 9_010, 4_992)).response_body)
    assert finding(older, grown).cause == "provider_side"


def reasoned(*behind: dict[str, Any]) -> dict[str, Any]:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": words(2_000, "enc")}
    call = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c1", "output": "seen"}
    items = [{"role": "user", "content": words(3_000, "ask")}, thought, call, result, *behind]
    return {"model": "gpt-5", "instructions": "Be brief.", "input": items}


@pytest.mark.parametrize(
    ("behind", "whole", "read", "cause"),
    [
        ({"role": "user", "content": "And now?"}, 3_100, 896, "template_history_drift"),
        ({"role": "user", "content": "And now?"}, 5_300, 2_944, "template_history_drift"),
        ({"role": "user", "content": "And now?"}, 5_300, 0, "provider_side"),
        ({"role": "assistant", "content": "Then."}, 5_300, 2_944, "provider_side"),
    ],
)
def test_reasoning_that_is_left_out_at_a_new_user_message(
    behind: dict[str, Any], whole: int, read: int, cause: str
) -> None:
    answer = {"role": "assistant", "content": "It is there."}
    older = exchange(reasoned(), OPENAI, usage(OPENAI, 5_200, 3_000), started=1.0)
    newer = exchange(reasoned(answer, behind), OPENAI, usage(OPENAI, whole, read), started=9.0)
    found = finding(older, newer)
    assert found.cause == cause
    assert (found.remedy == DRIFT_BY_DESIGN) is (cause == "template_history_drift")


@pytest.mark.parametrize(("other", "cause"), [("org-2", "scope_changed"), ("org-1", "provider_side")])
def test_answers_for_two_accounts(other: str, cause: str) -> None:
    older, newer = claude_pair(5_010)
    name = "anthropic-organization-id"
    found = finding(replace(older, headers=((name, "org-1"),)), replace(newer, headers=((name, other),)))
    assert found.cause == cause
    if cause == "scope_changed":
        assert (found.confidence, found.zone, found.names) == ("inferred", "settings", (name,))


def test_a_hint_at_tools_that_a_server_lists() -> None:
    servers = [{"type": "url", "url": "https://mcp.example", "name": "one"}]
    body = marked(messages(LONG, mcp_servers=servers), -1)
    older = exchange(body, ANTHROPIC, usage(ANTHROPIC, 5_000, 0, 5_000), started=1.0)
    body = marked(messages(LONG, "yes", "go on", mcp_servers=servers), -1)
    newer = exchange(body, ANTHROPIC, usage(ANTHROPIC, 5_010, 0, 5_009), started=9.0)
    found = finding(older, newer)
    assert found.cause == "provider_side"
    assert ("mcp_servers" in (found.evidence or ""), found.remedy) == (True, ASK_SERVERS)


@pytest.mark.parametrize(
    ("between", "key", "cause"),
    [(2.0, "k", "routing"), (6.0, "k", "provider_side"), (2.0, None, "provider_side")],
)
def test_many_requests_a_minute_with_one_beginning_and_key(
    between: float, key: str | None, cause: str
) -> None:
    turns, log = [LONG, "a"], []
    for step in range(20):
        body = chat(*turns, prompt_cache_key=key or f"k{step % 2}")
        read = 4_992 if 0 < step < 19 else 0
        log.append(exchange(body, CHAT, usage(CHAT, 5_000 + step, read), started=between * step))
        turns += [f"b{step}", f"c{step}"]
    missed = findings(*log)[-1]
    if key is None:
        assert missed.cause == "cache_key_changed"
        return
    assert (missed.request, missed.cause) == (19, cause)
    if cause == "routing":
        assert (missed.remedy, missed.confidence) == (SPREAD_KEYS, "inferred")
        assert "20 requests" in (missed.evidence or "")


@pytest.mark.parametrize(("upstream", "cause"), [("Fireworks", "routing"), ("DeepInfra", "unknown")])
def test_without_rules_two_reports_are_enough(upstream: str, cause: str) -> None:
    bodies = [chat(LONG, *("a", "b", "c", "d", "e")[: 1 + 2 * step], **QWEN) for step in range(3)]
    reads, served = (0, 4_992, 0), ("DeepInfra", "DeepInfra", upstream)
    log = [
        answered(
            exchange(body, OPENROUTER, usage(OPENROUTER, 5_000 + step, reads[step]), started=10.0 * step),
            system_fingerprint="fp_1",
            provider=served[step],
        )
        for step, body in enumerate(bodies)
    ]
    found = finding(*log)
    assert (found.request, found.cause, found.lost_tokens_estimated) == (2, cause, 4_992)
    assert found.verdict is Verdict.PROVIDER_SIDE_SUSPECTED
    for figure in ("read 0 tokens, before 4,992", "no cache rules are known"):
        assert figure in (found.evidence or "")
    assert (found.remedy == NAME_RULES) is (cause == "unknown")


def test_requests_with_another_beginning_or_key_are_no_crowd() -> None:
    """Of 40 requests in half a minute none is one of many when each has a beginning, or a key, of its own."""
    reader = SignReader()

    def crowd(step: int, text: str, key: str) -> int:
        one = exchange(chat(text, "a", prompt_cache_key=key), CHAT, started=step / 2)
        request = read_request(one.request_body)
        kept.append(request)
        return reader.of(one, request, provider="openai", host="api.openai.com").crowd

    kept: list[object] = []
    texts = [f"{step} {LONG}" for step in range(20)]
    assert {crowd(step, text, "k") for step, text in enumerate(texts)} == {1}
    assert {crowd(step, LONG, f"k{step}") for step in range(20)} == {1}
    assert crowd(20, texts[0], "k") == 2
    assert crowd(140, texts[0], "k") == 1


def test_a_reminder_that_is_gone_makes_an_input_smaller_by_itself() -> None:
    first = messages(LONG)
    note = f"<system-reminder>{words(3_000, 'note')}</system-reminder>"
    body = marked(first, 0)
    body["messages"][0]["content"].append({"type": "text", "text": note})
    older = exchange(body, ANTHROPIC, usage(ANTHROPIC, 8_000, 0, 5_000), started=1.0)
    now = marked(messages(LONG, "yes", "go on"), -1)
    newer = exchange(now, ANTHROPIC, usage(ANTHROPIC, 5_010, 0, 5_009), started=9.0)
    assert finding(older, newer).cause == "provider_side"

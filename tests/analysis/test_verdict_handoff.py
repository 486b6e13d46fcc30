"""Conversations that move to another provider or request format, and what only looks like one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from analysis.verdict_pairs import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    HOUR,
    LONG,
    MARK,
    OPENAI,
    OPENROUTER,
    chat,
    exchange,
    findings,
    messages,
    reported,
    responses,
    usage,
    words,
)
from coldturn.analysis.breaks.explain import Compared, Explainer
from coldturn.analysis.breaks.findings import Finding, Verdict
from coldturn.analysis.breaks.pair import PairOptions
from coldturn.analysis.verdicts.handoff import MOST_CONVERSATIONS
from coldturn.reference.prefix.model import Zone
from coldturn.traces.exchange import Exchange

ASK = "Which of our bicycle parts are out of stock?"
SAID = "Three parts are out of stock: the freehub body, the chain guide and the left crank."
THEN = "Order ten of each of them."
DONE = "All thirty parts are ordered and should arrive within two weeks."
SYSTEM = "You keep the stock of a shop for bicycle parts. " + LONG


def anthropic(*texts: str, marker: dict[str, str] = MARK, **more: object) -> dict[str, Any]:
    """A conversation on Messages, its system text and its last message marked."""
    body = messages(*texts, **more)
    body["messages"][-1]["content"][-1]["cache_control"] = marker
    return {"system": [{"type": "text", "text": SYSTEM, "cache_control": marker}], **body}


def on_chat(*texts: str, **more: object) -> dict[str, Any]:
    return chat(SYSTEM, *texts, **more)


def on_responses(*texts: str, **more: object) -> dict[str, Any]:
    return responses(SYSTEM, *texts, **more)


def gemini(*texts: str) -> dict[str, Any]:
    turns = [
        {"role": ("user", "model")[index % 2], "parts": [{"text": text}]} for index, text in enumerate(texts)
    ]
    return {"systemInstruction": {"parts": [{"text": SYSTEM}]}, "contents": turns}


BODIES: dict[str, Callable[..., dict[str, Any]]] = {
    ANTHROPIC: anthropic,
    CHAT: on_chat,
    OPENAI: on_responses,
    GEMINI: gemini,
}


def first(url: str, started: float | None = None) -> Exchange:
    """A conversation's first request, answered with `SAID`."""
    return exchange(BODIES[url](ASK), url, usage(url, 5_000, 0, 5_000), text=SAID, started=started)


def answered(body: dict[str, Any], text: str) -> Exchange:
    """A request of Messages with its answer."""
    return exchange(body, ANTHROPIC, usage(ANTHROPIC, 5_000, 0), text=text)


def handed(*exchanges: Exchange) -> Finding:
    (found,) = (one for one in findings(*exchanges) if one.cause in {"provider_changed", "api_changed"})
    return found


def told(*exchanges: Exchange) -> list[str]:
    """Causes that are told, first and beside."""
    return [cause for one in findings(*exchanges) for cause in (one.cause, *(o.cause for o in one.alongside))]


@pytest.mark.parametrize(
    ("was", "now"), [(one, other) for one in (ANTHROPIC, CHAT, OPENAI) for other in BODIES if one != other]
)
def test_a_conversation_that_moves_is_told_on_every_format(was: str, now: str) -> None:
    report = reported(first(was), exchange(BODIES[now](ASK, SAID, THEN), now))
    (found,) = report.breaks
    same = {was, now} == {CHAT, OPENAI}
    assert found.cause == ("api_changed" if same else "provider_changed")
    assert (found.verdict, found.zone, found.confidence) == (Verdict.COLD_START, Zone.NONE, "inferred")
    places = (found.segment, found.path, found.section, found.offset, found.block_offset, found.wire_offset)
    assert set(places) == {None}
    assert (found.request, found.parent, found.lost_bytes) == (1, 0, 0)
    assert found.evidence is not None
    assert "request 0" in found.evidence
    assert (report.lineages[1].verdicts, report.lineages[1].breaks) == ({Verdict.COLD_START: 1}, [found])
    assert not found.verdict.unplanned


def test_what_a_cache_would_have_kept_follows_the_rules_of_the_provider_that_it_left() -> None:
    after = exchange(on_responses(ASK, SAID, THEN), OPENAI, usage(OPENAI, 5_100, 0))
    found = handed(first(ANTHROPIC), after)
    assert (found.rules, found.readable_estimated, found.read_estimated) == ("anthropic-messages", 5_000, 0)
    assert found.lost_tokens_estimated == 5_000
    assert handed(first(CHAT), after).lost_tokens_estimated == 4_992, "in steps of 128"
    assert found.was == "anthropic claude-sonnet-5 (messages)"
    assert found.now == "openai gpt-5.4 (responses)"


def test_a_read_that_is_reported_was_not_lost() -> None:
    after = exchange(on_responses(ASK, SAID, THEN), OPENAI, usage(OPENAI, 5_100, 1_024))
    assert handed(first(ANTHROPIC), after).lost_tokens_estimated == 5_000 - 1_024
    whole = exchange(on_responses(ASK, SAID, THEN), OPENAI, usage(OPENAI, 5_100, 5_000))
    found = handed(first(CHAT), whole)
    assert found.lost_tokens_estimated == 0
    assert "read 5,000 tokens all the same" in (found.evidence or "")


def test_nothing_is_lost_where_the_older_entry_had_expired() -> None:
    after = on_chat(ASK, SAID, THEN)
    found = handed(first(ANTHROPIC, started=0.0), exchange(after, CHAT, started=301.0))
    assert found.lost_tokens_estimated == 0
    assert "expired" in (found.evidence or "")
    soon = handed(first(ANTHROPIC, started=0.0), exchange(after, CHAT, started=299.0))
    assert soon.lost_tokens_estimated == 5_000
    body = anthropic(ASK, marker=HOUR)
    hour = exchange(body, ANTHROPIC, usage(ANTHROPIC, 5_000, 0, 5_000), text=SAID, started=0.0)
    assert handed(hour, exchange(after, CHAT, started=301.0)).lost_tokens_estimated == 5_000


def test_nothing_is_lost_that_was_never_kept() -> None:
    """A prompt below the minimum, and one without a marker."""
    short = exchange(chat("Be brief.", ASK), CHAT, usage(CHAT, 20, 0), text=SAID)
    found = handed(short, exchange(responses("Be brief.", ASK, SAID, THEN), OPENAI))
    assert (found.lost_tokens_estimated, found.readable_estimated) == (0, 0)
    assert "1,024-token minimum" in (found.evidence or "")
    unmarked = {**messages(ASK), "system": SYSTEM}
    found = handed(
        exchange(unmarked, ANTHROPIC, usage(ANTHROPIC, 5_000, 0), text=SAID),
        exchange(on_chat(ASK, SAID, THEN), CHAT),
    )
    assert (found.lost_tokens_estimated, found.readable_estimated) == (0, 0)
    assert "wrote no entry" in (found.evidence or "")


def test_the_latest_request_of_the_conversation_is_named() -> None:
    found = handed(
        first(ANTHROPIC),
        answered(anthropic(ASK, SAID, THEN), DONE),
        exchange(chat("Make a title.", "bicycle parts"), CHAT),
        exchange(on_chat(ASK, SAID, THEN, DONE, "Thank you."), CHAT),
    )
    assert (found.request, found.parent) == (3, 1)


def test_a_fallback_from_a_refused_request_names_the_last_one_that_was_served() -> None:
    refused = exchange(anthropic(ASK, SAID, THEN), ANTHROPIC, status=529)
    found = handed(first(ANTHROPIC), refused, exchange(on_chat(ASK, SAID, THEN), CHAT))
    assert (found.request, found.parent) == (2, 0)
    unserved = replace(first(ANTHROPIC), status=529, response_body=None)
    assert told(unserved, exchange(on_chat(ASK), CHAT)) == []


def test_a_return_is_compared_with_what_was_sent_there_and_is_no_second_handoff() -> None:
    there = exchange(on_chat(ASK, SAID, THEN), CHAT, usage(CHAT, 5_100, 0), text=DONE)
    back = exchange(anthropic(ASK, SAID, THEN, DONE, "Thank you."), ANTHROPIC)
    again = exchange(on_chat(ASK, SAID, THEN, DONE, "Thank you."), CHAT)
    assert told(first(ANTHROPIC), there, back, again) == ["provider_changed"]


def test_a_gateway_is_one_provider_and_its_formats_are_named() -> None:
    url = "https://gateway.example/v1/messages"
    after = exchange(on_chat(ASK, SAID, THEN), "https://gateway.example/v1/chat/completions")
    found = handed(exchange(anthropic(ASK), url, usage(ANTHROPIC, 5_000, 0), text=SAID), after)
    assert found.cause == "api_changed"
    assert found.rules is None
    assert found.lost_tokens_estimated > 5_000, "by bytes, without rules"
    other = exchange(on_chat(ASK, SAID, THEN), OPENROUTER)
    moved = handed(exchange(anthropic(ASK), url, usage(ANTHROPIC, 5_000, 0), text=SAID), other)
    assert moved.cause == "provider_changed"
    assert "gateway.example" in (moved.evidence or "")


TOOL = {"name": "look_up", "description": "Look a part up.", "input_schema": {"type": "object"}}
FUNCTION = {
    "type": "function",
    "function": {"name": "look_up", "description": "Look a part up.", "parameters": {"type": "object"}},
}


def called(call_id: str, arguments: dict[str, Any]) -> tuple[Exchange, Exchange]:
    """A call that Anthropic's model made, and the same in a request of Chat Completions."""
    call = {"type": "tool_use", "id": call_id, "name": "look_up", "input": arguments}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": "none"}
    body = {**messages(ASK), "tools": [TOOL]}
    body["messages"] += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    function = {"name": "look_up", "arguments": json.dumps(arguments)}
    after = {**chat("", ASK), "tools": [FUNCTION]}
    del after["messages"][0]
    after["messages"] += [
        {"role": "assistant", "tool_calls": [{"id": call_id, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": call_id, "content": "none"},
        {"role": "user", "content": THEN},
    ]
    return exchange(body, ANTHROPIC), exchange(after, CHAT)


def test_calls_tell_by_their_ids_or_by_what_they_ask_for() -> None:
    begun = exchange({**messages(ASK), "tools": [TOOL]}, ANTHROPIC)
    for call_id, arguments in [
        ("toolu_01FupCqh9WiFLKTe", {"part": "guide"}),
        ("call_1", {"part": "chain guide for a 1x12", "at": "the store in Utrecht"}),
    ]:
        was, now = called(call_id, arguments)
        assert told(begun, was, now) == ["provider_changed"]
    was, now = called("call_1", {"part": "guide"})
    assert told(begun, was, now) == [], "one short call recurs"


@pytest.mark.parametrize("system", [SYSTEM, "Be brief."])
def test_other_conversations_with_one_template_are_no_handoff(system: str) -> None:
    """A test suite sends the same prompts everywhere; answers differ, or are equal and never sent back."""
    texts = (ASK, "Two are.", THEN)
    was = answered({**messages(ASK), "system": system}, SAID)
    assert told(was, exchange(chat(system, ASK), CHAT), exchange(chat(system, ASK, SAID, THEN), CHAT)) == []
    assert told(was, exchange(chat(system, *texts), CHAT)) == []


def test_worked_examples_of_a_template_are_no_handoff() -> None:
    """What a conversation's first request holds need not have been written there."""
    was = answered(anthropic(ASK, SAID, "And tyres?"), "None are missing.")
    assert told(was, exchange(on_chat(ASK, SAID, "And saddles?"), CHAT)) == []


def test_a_title_that_another_model_is_asked_for_is_a_side_call() -> None:
    history = (ASK, SAID, "Give this conversation a title of at most six words.")
    title = exchange(chat("You write titles.", *history, model="gpt-5.4-nano"), CHAT)
    assert told(first(ANTHROPIC), title) == []
    with_tools = answered({**anthropic(ASK), "tools": [TOOL]}, SAID)
    assert told(with_tools, exchange(on_chat(*history), CHAT)) == [], "no tools: not the agent"
    other = {**FUNCTION, "function": {**FUNCTION["function"], "name": "set_title"}}  # type: ignore[dict-item]
    assert told(with_tools, exchange(on_chat(*history, tools=[other]), CHAT)) == []
    assert told(with_tools, exchange(on_chat(*history, tools=[FUNCTION]), CHAT)) == ["provider_changed"]


def test_the_newest_place_is_where_it_comes_from() -> None:
    there = exchange(on_chat(ASK, SAID, THEN), CHAT, usage(CHAT, 5_100, 0), text=DONE)
    last = exchange(on_responses(ASK, SAID, THEN, DONE, "Thank you."), OPENAI)
    found = findings(first(ANTHROPIC), there, last)
    assert [(one.cause, one.request, one.parent) for one in found] == [
        ("provider_changed", 1, 0),
        ("api_changed", 2, 1),
    ]


def test_white_space_at_the_end_of_an_answer_may_be_gone() -> None:
    was = answered(anthropic(ASK), SAID + "\n")
    assert told(was, exchange(on_chat(ASK, SAID, THEN), CHAT)) == ["provider_changed"]


def test_one_format_is_no_handoff_even_where_hardly_a_byte_is_shared() -> None:
    was = answered({**messages(ASK), "system": words(2_000, "one"), "tools": [TOOL]}, SAID)
    again = {**messages(ASK, SAID, THEN), "system": words(2_000, "two"), "tools": [TOOL]}
    assert len(reported(was, exchange(again, ANTHROPIC)).lineages) == 2
    assert told(was, exchange(again, ANTHROPIC)) == []
    elsewhere = chat(words(2_000, "two"), ASK, SAID, THEN, tools=[FUNCTION])
    assert told(was, exchange(elsewhere, CHAT)) == ["provider_changed"]


def test_what_a_recording_does_not_hold_does_not_speak_against_it() -> None:
    """Sessions of agents keep neither tools nor system text."""
    was = answered({**anthropic(ASK), "tools": [TOOL]}, SAID)
    bare = exchange(chat("", ASK, SAID, THEN), CHAT)
    assert told(was, bare) == []
    assert told(was, replace(bare, parts_missing=frozenset({Zone.TOOLS}))) == []
    whole = frozenset({Zone.TOOLS, Zone.SYSTEM})
    assert told(was, replace(bare, parts_missing=whole)) == ["provider_changed"]


def test_a_tool_that_is_not_loaded_yet_is_a_tool() -> None:
    was = answered({**messages(ASK), "tools": [{**TOOL, "defer_loading": True}]}, SAID)
    assert told(was, exchange(chat("", ASK, SAID, THEN, tools=[FUNCTION]), CHAT)) == ["provider_changed"]
    other = {"type": "function", "function": {"name": "other", "parameters": {}}}
    assert told(was, exchange(chat("", ASK, SAID, THEN, tools=[other]), CHAT)) == []


def test_a_person_who_quotes_the_model_goes_on_with_nothing() -> None:
    assert told(first(ANTHROPIC), exchange(on_chat(ASK, "Well?", SAID), CHAT)) == []


def test_a_look_at_less_than_half_is_a_side_call() -> None:
    begun = answered(anthropic(words(300, "ask")), SAID)
    assert told(begun, exchange(on_chat("What did it say?", SAID, THEN), CHAT)) == []


def test_another_file_holds_other_conversations() -> None:
    after = exchange(on_chat(ASK, SAID, THEN), CHAT, source="other")
    assert told(first(ANTHROPIC), after) == []


def test_only_the_latest_conversations_are_remembered() -> None:
    others = [
        exchange(anthropic(words(30, str(100 + index))), ANTHROPIC) for index in range(MOST_CONVERSATIONS)
    ]
    after = exchange(on_chat(ASK, SAID, THEN), CHAT)
    assert told(first(ANTHROPIC), *(replace_system(one) for one in others[:-1]), after) == [
        "provider_changed"
    ]
    assert told(first(ANTHROPIC), *map(replace_system, others), after) == []


def replace_system(one: Exchange) -> Exchange:
    """Without what would make it a branch of the same tree."""
    body = json.loads(one.request_body)
    del body["system"]
    return replace(one, request_body=json.dumps(body).encode())


def test_where_another_conversation_begins_alike_it_stands_beside() -> None:
    """Another conversation with the same system text went to the second provider before."""
    other = exchange(on_chat("When do you open on Sundays?"), CHAT)
    (one,) = findings(other, first(ANTHROPIC), exchange(on_chat(ASK, SAID, THEN), CHAT))
    assert (one.verdict, one.kinds) == (Verdict.BROKEN_HARMLESS, ("new_conversation",))
    (beside,) = one.alongside
    assert beside.cause == "provider_changed"
    assert "request 1" in (beside.evidence or "")


def test_no_content_keeps_what_the_values_are_out() -> None:
    explainer = Explainer(PairOptions(content=False))
    for one in (first(ANTHROPIC), exchange(on_chat(ASK, SAID, THEN), CHAT)):
        explainer.add(one)
    (found,) = explainer.report.breaks
    assert (found.was, found.now) == (None, None)


def test_those_who_look_at_every_request_see_no_parent() -> None:
    seen: list[Compared] = []
    explainer = Explainer(compared=seen.append)
    for one in (first(ANTHROPIC), exchange(on_chat(ASK, SAID, THEN), CHAT)):
        explainer.add(one)
    (_, after) = seen
    assert (after.parent, after.parent_request) == (None, None)
    assert after.found is not None
    assert after.found.parent == 0

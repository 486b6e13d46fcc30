"""Traces of OpenAI's Agents SDK: generations with their messages, calls of Responses with numbers alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.reference.prefix.model import Fidelity, Zone
from coldturn.traces.errors import NoRequestsError, NumbersOnlyError, UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.readers import read_exchanges, read_records
from coldturn.traces.usage_record import UsageRecord
from traces.conversations import BOTH, CALLS, found, lines, moment, prompt, tokens

TRACE = {"object": "trace", "id": "t", "workflow_name": "w"}


def span(index: int, moved: bool = False, **more: object) -> dict[str, Any]:
    whole, read = tokens(index, moved)
    usage = {"input_tokens": whole, "output_tokens": 9, "input_tokens_details": {"cached_tokens": read}}
    config = {"base_url": "https://api.openai.com/v1/"}
    told = {"type": "generation", "input": prompt(index, moved), "model": "gpt-4.1", "model_config": config}
    return {
        "object": "trace.span",
        "id": f"s{index}",
        "trace_id": "t",
        "parent_id": "agent",
        "started_at": moment(index),
        "span_data": {**told, "usage": usage, **more},
    }


def only(value: object) -> Exchange:
    (one,) = read_records(lines(TRACE, value), name="input")
    assert isinstance(one, Exchange), one
    return one


@pytest.mark.parametrize(("moved", "causes"), BOTH)
@pytest.mark.parametrize("layout", ["lines", "list", "batch"])
def test_the_break_of_a_conversation_is_found(moved: bool, causes: list[object], layout: str) -> None:
    other = {"object": "trace.span", "id": "agent", "span_data": {"type": "agent", "name": "a"}}
    told = [TRACE, *(span(index, moved) for index in reversed(range(CALLS))), other]
    content = {
        "lines": lines(*told),
        "list": json.dumps(told).encode(),
        "batch": json.dumps({"data": told}, indent=1).encode(),
    }[layout]
    assert found(content) == causes


def test_a_generation_is_its_messages_and_its_usage() -> None:
    one = only(span(1))
    assert json.loads(one.request_body) == {"model": "gpt-4.1", "messages": prompt(1, False)}
    assert (one.fidelity, set(one.parts_missing)) == (Fidelity.MESSAGES, {Zone.TOOLS})
    assert (one.url, one.started) == ("https://api.openai.com/v1/chat/completions", 1_780_000_060.0)
    usage = json.loads(one.response_body or b"")["usage"]
    assert (usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]) == (3_240, 3_072)


@pytest.mark.parametrize("address", [None, "http://[broken", "nowhere"])
def test_an_address_that_is_none_is_unknown(address: object) -> None:
    assert only(span(0, model_config={"base_url": address})).url == "/v1/chat/completions"


def test_claude_is_asked_in_its_own_format() -> None:
    assert only(span(0, model="litellm/anthropic/claude-opus-4-5", model_config={})).url == "/v1/messages"


def test_a_call_of_responses_is_numbers() -> None:
    bare = span(0, type="response", input=None, model=None)
    (one,) = read_records(lines(TRACE, bare))
    assert isinstance(one, UsageRecord)
    assert (one.input_tokens, one.cached_tokens, one.conversation) == (3_200, 0, "t")
    with pytest.raises(NumbersOnlyError):
        list(read_exchanges(lines(TRACE, bare)))


def test_damage_and_nothing_to_read_are_told() -> None:
    content = lines(TRACE, span(0)) + b'{"object": "trace.span"\n'
    assert [type(one) for one in read_records(content)] == [EntryError, Exchange]
    with pytest.raises(UnreadableJsonError):
        list(read_records(json.dumps([TRACE, span(0)]).encode()[:-2]))
    with pytest.raises(NoRequestsError, match="1 span, none of them"):
        list(read_records(lines(TRACE)))

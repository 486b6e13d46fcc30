"""LiteLLM's log of calls: payloads in lines out of order, spend logs, and what never reached a provider."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.reference.prefix.model import Fidelity, Zone
from coldturn.traces.errors import UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.kinds import InputKind
from coldturn.traces.readers import read_exchanges, read_records
from coldturn.traces.sniff import sniff
from coldturn.traces.usage_record import UsageRecord

T0 = 1_780_000_000.0
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]


def payload(index: int, clock: str = "09:00", **more: object) -> dict[str, Any]:
    """A call as the standard logging payload tells of it."""
    talk = [{"role": "system", "content": f"It is {clock}. " + "Rules. " * 2_000}]
    for turn in range(index + 1):
        talk += [{"role": "user", "content": f"question {turn}"}, {"role": "assistant", "content": "yes"}]
    usage = {"prompt_tokens": 4_000 + index, "completion_tokens": 1}
    return {
        "id": f"chatcmpl-{index}",
        "trace_id": "t",
        "call_type": "acompletion",
        "response_cost": 0.01,
        "status": "success",
        "custom_llm_provider": "openai",
        "startTime": T0 + index * 20,
        "endTime": T0 + index * 20 + 2,
        "completionStartTime": T0 + index * 20 + 1,
        "model": "gpt-4.1",
        "api_base": "https://api.openai.com/v1/",
        "cache_hit": None,
        "prompt_tokens": usage["prompt_tokens"],
        "completion_tokens": 1,
        "messages": talk[:-1],
        "response": {
            "id": f"chatcmpl-{index}",
            "object": "chat.completion",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "yes"}}],
            "usage": {**usage, "prompt_tokens_details": {"cached_tokens": 3_072 if index else 0}},
        },
        "model_parameters": {"temperature": 0, "tools": TOOLS},
        **more,
    }


def lines(*calls: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in calls)


def records(content: bytes) -> list[object]:
    assert sniff(io.BytesIO(content), "input") is InputKind.LITELLM
    return list(read_records(content, name="log"))


def only(content: bytes) -> Exchange:
    (found,) = records(content)
    assert isinstance(found, Exchange)
    return found


def test_a_call_is_the_request_of_its_interface_with_times_and_the_answer() -> None:
    call = only(lines(payload(1)))
    body = json.loads(call.request_body)
    assert list(body) == ["model", "temperature", "tools", "messages"]
    assert body["tools"] == TOOLS
    assert len(body["messages"]) == 4
    assert call.url == "https://api.openai.com/v1/chat/completions"
    assert call.fidelity is Fidelity.CANONICAL
    assert (call.started, call.answered, call.status) == (T0 + 20, T0 + 21, 200)
    assert call.parts_missing == frozenset()
    assert call.response_body is not None
    assert json.loads(call.response_body)["usage"]["prompt_tokens_details"]["cached_tokens"] == 3_072


def test_the_break_is_found_whatever_the_order_of_the_lines() -> None:
    calls = [payload(0), payload(1), payload(2, "09:01"), payload(3, "09:01")]
    mixed = [calls[index] for index in (1, 0, 3, 2)]
    for content in (lines(*mixed), json.dumps(list(reversed(calls))).encode()):
        found = explain(read_exchanges(content))
        assert [(one.cause, one.request) for line in found.lineages for one in line.breaks] == [
            ("clock_in_prefix", 2)
        ]


def test_one_call_laid_out_over_lines_is_read_as_well() -> None:
    assert json.loads(only(json.dumps(payload(0), indent=2).encode()).request_body)["model"] == "gpt-4.1"


def test_a_call_to_claude_becomes_a_request_to_claude() -> None:
    usage = {
        "prompt_tokens": 2_538,
        "completion_tokens": 21,
        "prompt_tokens_details": {"cached_tokens": 2_432, "cache_write_tokens": 40},
        "cache_read_input_tokens": 2_432,
        "cache_creation_input_tokens": 40,
    }
    answer = {"choices": [{"message": {"content": "yes"}}], "usage": usage}
    more: dict[str, Any] = {
        "custom_llm_provider": "anthropic",
        "model": "anthropic/claude-opus-4-5",
        "response": answer,
    }
    call = only(lines(payload(0, api_base="https://api.anthropic.com/v1/messages", **more)))
    body = json.loads(call.request_body)
    assert call.url == "https://api.anthropic.com/v1/messages"
    assert call.fidelity is Fidelity.MESSAGES
    assert body["model"] == "claude-opus-4-5"
    assert body["tools"] == [{"name": "f", "input_schema": {"type": "object"}}]
    assert body["system"][0]["text"].startswith("It is 09:00")
    assert call.response_body is not None
    assert json.loads(call.response_body)["usage"] == {
        "input_tokens": 66,
        "cache_creation_input_tokens": 40,
        "cache_read_input_tokens": 2_432,
        "output_tokens": 21,
    }


def test_anthropics_own_interface_keeps_its_form() -> None:
    asked = {
        "model": "my-claude",
        "max_tokens": 9,
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": "q"}],
        "metadata": {"user_id": "u"},
    }
    more: dict[str, Any] = {"custom_llm_provider": "anthropic", "model": "claude-opus-4-5", "messages": "{}"}
    call = only(
        lines(
            payload(
                0, call_type="anthropic_messages", proxy_server_request=json.dumps({"body": asked}), **more
            )
        )
    )
    body = json.loads(call.request_body)
    assert body["model"] == "claude-opus-4-5"
    assert body["system"] == asked["system"]
    assert "metadata" not in body
    assert call.url == "https://api.openai.com/v1/messages"
    assert call.parts_missing == frozenset()


def test_system_text_that_no_parameter_holds_is_unknown() -> None:
    call = only(lines(payload(0, call_type="anthropic_messages", custom_llm_provider="anthropic")))
    assert call.parts_missing == {Zone.SYSTEM}
    assert only(lines(payload(0, model_parameters={}))).parts_missing == {Zone.TOOLS}


def test_an_input_of_responses_is_one() -> None:
    items = [{"role": "user", "content": "q"}]
    usage = {"input_tokens": 70, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 64}}
    answer = {"object": "response", "output": [], "usage": usage}
    call = only(lines(payload(0, call_type="aresponses", messages=items, response=answer)))
    assert json.loads(call.request_body)["input"] == items
    assert call.url.endswith("/v1/responses")
    assert call.response_body is not None
    assert json.loads(call.response_body)["usage"] == usage


@pytest.mark.parametrize("hit", [True, "True"])
def test_what_litellm_answered_itself_went_to_no_provider(hit: object) -> None:
    assert only(lines(payload(0, cache_hit=hit))).kind is ExchangeKind.OTHER
    assert only(lines(payload(0, cache_hit="None"))).kind is ExchangeKind.MODEL


def test_other_calls_are_passed_over() -> None:
    assert only(lines(payload(0, call_type="aembedding"))).kind is ExchangeKind.OTHER


def test_a_refused_call_has_its_status() -> None:
    more: dict[str, Any] = {"status": "failure", "response": None}
    refused = only(lines(payload(0, error_information={"error_code": "429"}, **more)))
    assert (refused.kind, refused.status) == (ExchangeKind.MODEL, 429)
    assert only(lines(payload(0, error_information={"error_code": ""}, **more))).kind is ExchangeKind.OTHER


def test_spend_logs_without_content_are_numbers() -> None:
    row = {
        "request_id": "r",
        "call_type": "acompletion",
        "spend": 0.1,
        "startTime": "2026-11-30T09:00:00.5",
        "endTime": "2026-11-30T09:00:02",
        "model": "gpt-4.1",
        "session_id": "s",
        "cache_hit": "False",
        "prompt_tokens": 900,
        "completion_tokens": 5,
        "messages": {},
        "response": {},
        "metadata": {"usage_object": {"prompt_tokens": 900, "prompt_tokens_details": {"cached_tokens": 640}}},
    }
    (found,) = records(json.dumps([row]).encode())
    assert isinstance(found, UsageRecord)
    assert (found.conversation, found.input_tokens, found.cached_tokens) == ("s", 900, 640)
    assert found.started == 1_796_029_200.5


def test_messages_that_were_taken_out_are_none() -> None:
    (found,) = records(lines(payload(0, messages=[{"role": "user", "content": "redacted-by-litellm"}])))
    assert isinstance(found, UsageRecord)


def test_damage_is_told_by_its_place() -> None:
    found = records(lines(payload(0)) + b"7\n" + lines(payload(1))[:-40])
    assert [type(one) for one in found] == [EntryError, EntryError, Exchange]
    assert [one.entry for one in found if isinstance(one, EntryError)] == [1, 2]
    with pytest.raises(UnreadableJsonError):
        records(json.dumps([payload(0), payload(1)]).encode()[:-30])

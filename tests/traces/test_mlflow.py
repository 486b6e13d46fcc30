"""MLflow's traces: a library's arguments as the request, a framework's messages, wrappers around calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.reference.prefix.model import Fidelity, Zone
from coldturn.traces.errors import NoRequestsError, UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.readers import read_records
from coldturn.traces.usage_record import UsageRecord
from traces.conversations import BOTH, CALLS, T0, TOOLS, found, lines, prompt, tokens
from traces.test_langsmith import data


def span(index: int, moved: bool = False, **told: object) -> dict[str, Any]:
    whole, read = tokens(index, moved)
    usage = {"prompt_tokens": whole, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": read}}
    attributes = {
        "mlflow.spanType": "CHAT_MODEL",
        "mlflow.spanInputs": {
            "model": "gpt-4.1",
            "messages": prompt(index, moved),
            "tools": TOOLS,
            "timeout": 9,
        },
        "mlflow.spanOutputs": {"choices": [], "usage": usage},
        "mlflow.message.format": "openai",
        "mlflow.chat.tools": TOOLS,
        **told,
    }
    return {
        "trace_id": "t",
        "span_id": f"s{index}",
        "parent_span_id": "root",
        "start_time_unix_nano": int((T0 + 60 * index) * 1e9),
        "attributes": {key: json.dumps(value) for key, value in attributes.items()},
    }


def trace(*spans: object) -> dict[str, Any]:
    root = {"span_id": "root", "attributes": {"mlflow.spanType": '"AGENT"', "mlflow.spanInputs": "{}"}}
    return {"info": {"trace_id": "tr-1"}, "data": {"spans": [root, *spans]}}


def only(value: object) -> Exchange:
    (one,) = read_records(lines(value), name="input")
    assert isinstance(one, Exchange), one
    return one


@pytest.mark.parametrize(("moved", "causes"), BOTH)
@pytest.mark.parametrize("layout", ["one", "laid out", "lines", "list", "answer"])
def test_the_break_of_a_conversation_is_found(moved: bool, causes: list[object], layout: str) -> None:
    spans = [span(index, moved) for index in reversed(range(CALLS))]
    single = [trace(one) for one in spans]
    content = {
        "one": json.dumps(trace(*spans)).encode(),
        "laid out": json.dumps(trace(*spans), indent=2).encode(),
        "lines": lines(*single),
        "list": json.dumps(single).encode(),
        "answer": json.dumps({"traces": single}).encode(),
    }[layout]
    assert found(content) == causes


def test_the_arguments_of_the_call_are_the_request() -> None:
    one = only(trace(span(1)))
    assert json.loads(one.request_body) == {"model": "gpt-4.1", "messages": prompt(1, False), "tools": TOOLS}
    assert (one.fidelity, one.started, one.parts_missing) == (Fidelity.CANONICAL, T0 + 60, frozenset())
    assert json.loads(one.response_body or b"")["usage"]["prompt_tokens"] == 3_240


def test_a_frameworks_messages_are_written_afresh() -> None:
    said = [[data(one) for one in prompt(1, False)]]
    more: dict[str, Any] = {
        "mlflow.message.format": "langchain",
        "mlflow.llm.model": "gpt-4.1",
        "mlflow.spanOutputs": {},
    }
    usage = {"input_tokens": 7_000, "cache_read_input_tokens": 6_400, "output_tokens": 3}
    one = only(trace(span(1, **{**more, "mlflow.spanInputs": said, "mlflow.chat.tokenUsage": usage})))
    assert json.loads(one.request_body) == {"model": "gpt-4.1", "tools": TOOLS, "messages": prompt(1, False)}
    assert one.fidelity is Fidelity.MESSAGES
    told = json.loads(one.response_body or b"")["usage"]
    assert (told["prompt_tokens"], told["prompt_tokens_details"]["cached_tokens"]) == (7_000, 6_400)
    bare = span(1, **{**more, "mlflow.spanInputs": "Where?"})
    del bare["attributes"]["mlflow.chat.tools"]
    assert only(trace(bare)).parts_missing == {Zone.TOOLS}


def test_claudes_counts_leave_out_what_was_read() -> None:
    asked = {
        "model": "claude-opus-4-5",
        "max_tokens": 9,
        "system": "s",
        "messages": [{"role": "user", "content": "q"}],
    }
    usage = {"input_tokens": 10, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 80}
    more: dict[str, Any] = {
        "mlflow.spanInputs": asked,
        "mlflow.message.format": "anthropic",
        "mlflow.spanOutputs": {},
    }
    one = only(trace(span(0, **{**more, "mlflow.chat.tokenUsage": usage})))
    assert one.url == "/v1/messages"
    assert json.loads(one.response_body or b"")["usage"] == usage
    usage["input_tokens"] = 1_000  # more than was read, and still counted beside it
    one = only(trace(span(0, **{**more, "mlflow.chat.tokenUsage": usage})))
    assert json.loads(one.response_body or b"")["usage"]["input_tokens"] == 1_000


def test_geminis_arguments_are_the_request_that_is_made_of_them() -> None:
    asked = {"model": "gemini-2.5-pro", "contents": "Where?", "config": {"system_instruction": "Be brief."}}
    more: dict[str, Any] = {"mlflow.spanInputs": asked, "mlflow.message.format": "gemini"}
    one = only(trace(span(0, **more)))
    body = json.loads(one.request_body)
    assert body["contents"] == [{"role": "user", "parts": [{"text": "Where?"}]}]
    assert body["system_instruction"] == {"parts": [{"text": "Be brief."}]}
    assert one.url.endswith("gemini-2.5-pro:generateContent")


def test_a_wrapper_around_a_call_is_no_call() -> None:
    outer = {**span(0), "span_id": "outer"}
    assert only(trace(outer, {**span(0), "parent_span_id": "outer"})).started == T0


def test_numbers_damage_and_nothing_to_read_are_told() -> None:
    usage = {"input_tokens": 7_000, "output_tokens": 3}
    bare: dict[str, Any] = {"mlflow.spanInputs": {"x": 1}, "mlflow.chat.tokenUsage": usage}
    (one,) = read_records(lines(trace(span(0, **bare))))
    assert isinstance(one, UsageRecord)
    content = lines(trace(span(0))) + b'{"info": {}, "data"\n'
    assert [type(one) for one in read_records(content)] == [EntryError, Exchange]
    with pytest.raises(UnreadableJsonError):
        list(read_records(json.dumps([trace(span(0))]).encode()[:-2]))
    for empty in (trace(), trace(span(0, **{**bare, "mlflow.chat.tokenUsage": {}}))):
        with pytest.raises(NoRequestsError, match="1 trace, none of them"):
            list(read_records(lines(empty)))

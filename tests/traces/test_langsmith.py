"""LangSmith's runs: exports in no order, LangChain's messages in all forms, wrapped client libraries."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.reference.prefix.model import Fidelity, Zone
from coldturn.traces.errors import NoRequestsError, UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.readers import read_records
from coldturn.traces.usage_record import UsageRecord
from traces.conversations import BOTH, CALLS, FUNCTION, TOOLS, answer, found, lines, moment, prompt, tokens

KINDS = {"system": "SystemMessage", "user": "HumanMessage", "assistant": "AIMessage", "tool": "ToolMessage"}
TYPES = {"system": "system", "user": "human", "assistant": "ai", "tool": "tool"}


def fields(message: dict[str, Any]) -> dict[str, Any]:
    """A message of Chat Completions with LangChain's own fields."""
    known: dict[str, Any] = {key: message[key] for key in ("content", "tool_call_id") if key in message}
    calls = [
        {
            "name": one["function"]["name"],
            "args": json.loads(one["function"]["arguments"]),
            "id": one["id"],
            "type": "tool_call",
        }
        for one in message.get("tool_calls", [])
    ]
    return {**known, "type": TYPES[message["role"]], **({"tool_calls": calls} if calls else {})}


def constructor(message: dict[str, Any]) -> dict[str, Any]:
    path = ["langchain", "schema", "messages", KINDS[message["role"]]]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": fields(message)}


def data(message: dict[str, Any]) -> dict[str, Any]:
    return {"type": TYPES[message["role"]], "data": fields(message)}


def usage(index: int, moved: bool = False) -> dict[str, Any]:
    whole, read = tokens(index, moved)
    return {"input_tokens": whole, "output_tokens": 9, "input_token_details": {"cache_read": read}}


def run(index: int, moved: bool = False, form: Any = constructor, **more: object) -> dict[str, Any]:  # noqa: ANN401 - a function
    said = constructor(answer(index))
    said["kwargs"]["usage_metadata"] = usage(index, moved)
    return {
        "id": f"r{index}",
        "trace_id": "t",
        "parent_run_id": f"chain{index}",
        "name": "ChatOpenAI",
        "run_type": "llm",
        "start_time": moment(index),
        "inputs": {"messages": [[form(one) for one in prompt(index, moved)]]},
        "outputs": {"generations": [[{"text": "", "message": said}]], "type": "LLMResult"},
        "extra": {
            "invocation_params": {"model": "gpt-4.1", "_type": "openai-chat", "tools": TOOLS},
            "metadata": {"ls_provider": "openai", "ls_model_name": "gpt-4.1"},
        },
        **more,
    }


def only(value: object) -> Exchange:
    (one,) = read_records(lines(value), name="input")
    assert isinstance(one, Exchange), one
    return one


@pytest.mark.parametrize(("moved", "causes"), BOTH)
@pytest.mark.parametrize("layout", ["lines", "list", "answer", "children"])
def test_the_break_of_a_conversation_is_found(moved: bool, causes: list[object], layout: str) -> None:
    runs = [run(index, moved) for index in (2, 0, 3, 1)]
    chain = {"id": "c", "run_type": "chain", "inputs": {"x": 1}, "start_time": moment(0), "child_runs": runs}
    content = {
        "lines": lines(*runs),
        "list": json.dumps(runs).encode(),
        "answer": json.dumps({"runs": runs, "cursors": None}, indent=2).encode(),
        "children": json.dumps(chain).encode(),
    }[layout]
    assert found(content) == causes


@pytest.mark.parametrize("form", [constructor, data, fields, lambda message: message])
def test_every_form_of_a_message_is_the_same(form: object) -> None:
    call = only(run(2, form=form))
    assert json.loads(call.request_body) == {"model": "gpt-4.1", "tools": TOOLS, "messages": prompt(2, False)}
    assert call.fidelity is Fidelity.MESSAGES
    assert call.parts_missing == frozenset()
    assert call.started == 1_780_000_000 + 120


def test_usage_counts_what_was_read_and_written() -> None:
    told = only(run(1)).response_body
    assert json.loads(told or b"")["usage"]["prompt_tokens_details"]["cached_tokens"] == 3_072
    claude = {"metadata": {"ls_provider": "anthropic", "ls_model_name": "claude-opus-4-5"}}
    reported = {
        "input_tokens": 900,
        "input_token_details": {"cache_read": 600, "ephemeral_5m_input_tokens": 200},
    }
    call = only(run(0, extra=claude, outputs={"usage_metadata": reported}))
    assert json.loads(call.response_body or b"")["usage"] == {
        "input_tokens": 100,
        "cache_read_input_tokens": 600,
        "cache_creation_input_tokens": 200,
    }
    assert call.parts_missing == {Zone.TOOLS}


@pytest.mark.parametrize(
    "outputs",
    [
        {
            "llm_output": {
                "token_usage": {"prompt_tokens": 7_000, "prompt_tokens_details": {"cached_tokens": 6_400}}
            }
        },
        {"usage_metadata": {"input_tokens": 7_000, "input_token_details": {"cache_read": 6_400}}},
    ],
)
def test_usage_may_stand_elsewhere(outputs: dict[str, Any]) -> None:
    told = json.loads(only(run(0, outputs=outputs)).response_body or b"")["usage"]
    assert (told["prompt_tokens"], told["prompt_tokens_details"]["cached_tokens"]) == (7_000, 6_400)


def test_usage_of_the_run_counts_where_its_answer_tells_none() -> None:
    told = only(
        run(0, outputs=None, prompt_tokens=7_000, prompt_token_details={"cache_read": 6_400})
    ).response_body
    assert json.loads(told or b"")["usage"]["prompt_tokens"] == 7_000
    assert only(run(0, outputs=None, prompt_tokens=0, completion_tokens=None)).response_body is None


def test_the_arguments_of_a_wrapped_library_are_the_request() -> None:
    asked = {"model": "gpt-4.1", "messages": prompt(1, False), "tools": TOOLS, "temperature": 0}
    call = only(run(0, inputs={**asked, "timeout": 9}, extra={"metadata": {"ls_provider": "openai"}}))
    assert json.loads(call.request_body) == asked
    assert call.fidelity is Fidelity.CANONICAL
    claude = {"metadata": {"ls_provider": "anthropic"}}
    moved = only(run(0, inputs={**asked, "model": "claude-opus-4-5"}, extra=claude))
    body = json.loads(moved.request_body)
    assert moved.fidelity is Fidelity.MESSAGES
    assert body["model"] == "claude-opus-4-5"
    assert body["tools"] == [{"name": "find", "description": "d", "input_schema": {"type": "object"}}]
    assert [one["role"] for one in body["messages"]] == ["user", "assistant", "user"]


def test_a_prompt_as_one_text_is_read_and_several_have_no_usage_of_their_own() -> None:
    one = only(run(0, inputs={"prompts": ["System: Be brief.\nHuman: Where?"]}))
    assert json.loads(one.request_body)["messages"] == [
        {"role": "user", "content": "System: Be brief.\nHuman: Where?"}
    ]
    two = list(read_records(lines(run(0, inputs={"prompts": ["a", "b"]}))))
    assert [
        json.loads(one.request_body)["messages"][0]["content"] for one in two if isinstance(one, Exchange)
    ] == [
        "a",
        "b",
    ]
    assert not [one for one in two if isinstance(one, Exchange) and one.response_body]


def test_blocks_that_are_calls_already_are_not_told_twice() -> None:
    said = fields(answer(0))
    said["content"] = [
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "c0", "name": "find", "input": {}},
    ]
    chunk = {**said, "type": "AIMessageChunk"}
    result = {"type": "tool", "tool_call_id": "c0", "content": [{"type": "text", "text": "no"}]}
    body = json.loads(only(run(0, inputs={"messages": [chunk, result]})).request_body)
    assert [one["role"] for one in body["messages"]] == ["assistant", "tool"]
    assert len(body["messages"][0]["tool_calls"]) == 1
    assert body["messages"][1]["content"] == "no"


def test_a_run_around_a_call_and_a_call_that_is_told_again_count_once() -> None:
    outer = {**run(0), "id": "outer", "parent_run_id": None}
    inner = {**run(0), "parent_run_id": "outer"}
    assert len(list(read_records(lines(outer, inner, inner)))) == 1


def test_a_stream_tells_when_its_answer_began() -> None:
    first = {"name": "new_token", "time": moment(1)}
    assert only(run(0, events=[{"name": "start", "time": moment(0)}, first])).answered == 1_780_000_060
    assert only(run(0, first_token_time=moment(2))).answered == 1_780_000_120
    assert only(run(0)).answered is None


def test_calls_without_content_are_numbers() -> None:
    (one,) = read_records(lines(run(0, inputs={"messages": "hidden"})))
    assert isinstance(one, UsageRecord)
    assert one.conversation == "t"


def test_without_a_call_one_sentence_says_what_was_there() -> None:
    chain = {"run_type": "chain", "inputs": {"x": 1}, "trace_id": "t"}
    with pytest.raises(NoRequestsError, match="2 runs, none of them a call"):
        list(read_records(lines(chain, chain)))


def test_damage_is_told_and_the_rest_is_read() -> None:
    content = lines(run(0)) + b'{"run_type": "llm", "inputs"\n' + lines(run(1))
    kinds = [type(one) for one in read_records(content)]
    assert kinds == [EntryError, Exchange, Exchange]
    with pytest.raises(UnreadableJsonError):
        list(read_records(json.dumps([run(index) for index in range(CALLS)]).encode()[:-5]))


def test_settings_that_tell_of_no_tools_mean_none() -> None:
    bare = {"invocation_params": {"model": "gpt-4.1"}, "metadata": {}}
    call = only(run(0, extra=bare))
    assert "tools" not in json.loads(call.request_body)
    assert call.parts_missing == frozenset()
    assert FUNCTION["name"] == "find"

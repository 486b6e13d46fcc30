"""Events of LangChain: what callbacks wrote line by line, and what `astream_events` gave."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.reference.prefix.model import Zone
from coldturn.traces.errors import NoRequestsError, UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.readers import read_records
from traces.conversations import BOTH, CALLS, TOOLS, found, lines, moment, prompt
from traces.test_langsmith import data, fields, usage

ASKED = {"model": "gpt-4.1", "_type": "openai-chat", "tools": TOOLS}


def callback(index: int, moved: bool = False) -> list[dict[str, Any]]:
    """A call as a handler of callbacks dumps it."""
    said = [data(one) for one in prompt(index, moved)]
    message = {"type": "ai", "content": "", "usage_metadata": usage(index, moved)}
    return [
        {"event": "on_chat_model_start", "invocation_params": ASKED, "messages": said, "time": moment(index)},
        {"event": "on_llm_end", "response": {"generations": [[{"message": message}]]}},
    ]


def streamed(index: int, moved: bool = False) -> list[dict[str, Any]]:
    """A call as `astream_events` gives it."""
    about = {"run_id": f"r{index}", "metadata": {"ls_provider": "openai", "ls_model_name": "gpt-4.1"}}
    said = [fields(one) for one in prompt(index, moved)]
    answer = {"type": "AIMessageChunk", "content": "", "usage_metadata": usage(index, moved)}
    return [
        {"event": "on_chain_start", "run_id": "chain", "data": {"input": {}}},
        {"event": "on_chat_model_start", "data": {"input": {"messages": [said]}}, **about},
        {"event": "on_chat_model_stream", "data": {"chunk": {"content": "x"}}, **about},
        {"event": "on_chat_model_end", "data": {"output": answer}, **about},
    ]


@pytest.mark.parametrize(("moved", "causes"), BOTH)
@pytest.mark.parametrize("form", [callback, streamed])
def test_the_break_of_a_conversation_is_found(moved: bool, causes: list[object], form: Any) -> None:  # noqa: ANN401 - a function
    assert found(lines(*(one for index in range(CALLS) for one in form(index, moved)))) == causes


def calls(*events: object) -> list[Exchange]:
    return [one for one in read_records(lines(*events), name="input") if isinstance(one, Exchange)]


def test_a_callback_tells_of_the_whole_request() -> None:
    (call,) = calls(*callback(1))
    assert json.loads(call.request_body) == {"model": "gpt-4.1", "tools": TOOLS, "messages": prompt(1, False)}
    assert call.started == 1_780_000_060
    assert call.parts_missing == frozenset()
    assert json.loads(call.response_body or b"")["usage"]["prompt_tokens"] == 3_240


def test_a_stream_of_events_knows_no_tools() -> None:
    (call,) = calls(*streamed(1))
    assert call.parts_missing == {Zone.TOOLS}
    assert json.loads(call.response_body or b"")["usage"]["prompt_tokens_details"]["cached_tokens"] == 3_072


def test_calls_at_the_same_time_are_told_apart() -> None:
    first, second = streamed(0), streamed(1)
    mixed = [first[1], second[1], second[3], first[3]]
    assert [len(json.loads(one.request_body)["messages"]) for one in calls(*mixed)] == [4, 2]


def test_a_call_that_never_ended_was_sent_all_the_same() -> None:
    (first, second) = calls(callback(0)[0], *callback(1))
    assert first.response_body is None
    assert second.response_body is not None
    (last,) = calls(callback(0)[0])
    assert len(json.loads(last.request_body)["messages"]) == 2
    (failed,) = calls(streamed(0)[1], {"event": "on_chat_model_error", "run_id": "r0", "error": "x"})
    assert failed.response_body is None


def test_without_a_call_one_sentence_says_so() -> None:
    with pytest.raises(NoRequestsError, match="2 events, none of them the start of a call"):
        list(read_records(lines(streamed(0)[0], streamed(0)[0])))


def test_a_damaged_line_is_told_and_the_rest_is_read() -> None:
    content = lines(*callback(0)) + b'{"event": \n' + lines(*callback(1))
    assert [type(one) for one in read_records(content)] == [Exchange, EntryError, Exchange]


def test_messages_without_a_role_are_no_request() -> None:
    bare = {"model": "m", "messages": [data(one) for one in prompt(0, False)]}
    told = list(read_records(lines(bare, bare), name="input"))
    assert [one.message for one in told if isinstance(one, EntryError) and "have no role" in one.message] == [
        one.message for one in told if isinstance(one, EntryError)
    ]
    assert len(told) == 2
    with pytest.raises(UnreadableJsonError, match="its messages have no role"):
        list(read_records(json.dumps(bare).encode(), name="input"))
    sent = {"model": "m", "messages": prompt(0, False)}
    assert len(calls(sent)) == 1

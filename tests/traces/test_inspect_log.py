"""Logs of Inspect AI: whole requests in the events of samples, shared messages and long texts put back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.reference.prefix.model import Fidelity
from coldturn.traces.errors import NoRequestsError, UnreadableJsonError
from coldturn.traces.exchange import Exchange
from coldturn.traces.readers import read_records
from traces.conversations import BOTH, CALLS, FUNCTION, TOOLS, found, moment, prompt, tokens


def event(index: int, moved: bool = False, **more: object) -> dict[str, Any]:
    whole, read = tokens(index, moved)
    usage = {"prompt_tokens": whole, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": read}}
    request = {
        "messages": prompt(index, moved),
        "tools": TOOLS,
        "model": "gpt-4.1",
        "extra_headers": {"x": "y"},
    }
    return {
        "event": "model",
        "uuid": f"e{index}",
        "timestamp": moment(index),
        "model": "openai/gpt-4.1",
        "tools": [FUNCTION],
        "output": {
            "usage": {"input_tokens": whole - read, "input_tokens_cache_read": read, "output_tokens": 9}
        },
        "call": {"request": request, "response": {"choices": [], "usage": usage}},
        **more,
    }


def log(*events: object, **more: object) -> dict[str, Any]:
    sample = {"id": 1, "epoch": 1, "events": [{"event": "sample_init"}, *events], **more}
    about = {"task": "task", "model": "openai/gpt-4.1"}
    return {"version": 2, "status": "success", "eval": about, "metadata": {}, "samples": [sample]}


def calls(value: object) -> list[Exchange]:
    return [
        one for one in read_records(json.dumps(value).encode(), name="input") if isinstance(one, Exchange)
    ]


@pytest.mark.parametrize(("moved", "causes"), BOTH)
@pytest.mark.parametrize("indent", [None, 2])
def test_the_break_of_a_conversation_is_found(moved: bool, causes: list[object], indent: int | None) -> None:
    told = log(*(event(index, moved) for index in range(CALLS)))
    assert found(json.dumps(told, indent=indent).encode()) == causes


def test_an_event_holds_the_request_that_was_sent() -> None:
    (one,) = calls(log(event(1)))
    assert json.loads(one.request_body) == {"messages": prompt(1, False), "tools": TOOLS, "model": "gpt-4.1"}
    assert (one.fidelity, one.started) == (Fidelity.CANONICAL, 1_780_000_060.0)
    assert json.loads(one.response_body or b"")["usage"]["prompt_tokens"] == 3_240
    assert one.parts_missing == frozenset()


def test_shared_messages_and_long_texts_are_put_back() -> None:
    said = prompt(2, False)
    pool = [{**said[0], "content": "attachment://ab"}, said[1], "another", *said[2:]]
    call = {"request": {"model": "gpt-4.1"}, "call_refs": [[0, 2], [3, 9]], "call_key": "messages"}
    told = log(event(2, call=call), events_data={"calls": pool}, attachments={"ab": said[0]["content"]})
    (one,) = calls(told)
    assert json.loads(one.request_body)["messages"] == said


def test_an_event_without_its_call_is_told_by_its_messages() -> None:
    asked = {"role": "user", "content": "Where?"}
    called = {"id": "c", "function": "find", "arguments": {"q": 1}, "type": "function"}
    said = {"role": "assistant", "content": "", "tool_calls": [called]}
    (one,) = calls(log(event(0, call=None, input_refs=[[0, 2]]), events_data={"messages": [asked, said]}))
    body = json.loads(one.request_body)
    assert one.fidelity is Fidelity.MESSAGES
    assert body["messages"][0] == asked
    assert body["messages"][1]["tool_calls"][0]["function"] == {"name": "find", "arguments": '{"q":1}'}
    assert body["tools"] == TOOLS
    usage = json.loads(one.response_body or b"")["usage"]
    assert usage["prompt_tokens"] == 3_200
    output = {"usage": {"input_tokens": 5_000, "input_tokens_cache_read": 3_000}}
    (beside,) = calls(log(event(0, call=None, input=[asked], output=output)))
    assert json.loads(beside.response_body or b"")["usage"]["prompt_tokens"] == 8_000


def test_what_inspect_answered_from_its_cache_was_not_sent() -> None:
    assert len(calls(log(event(0), event(1, cache="read"), event(2, cache="write")))) == 2


def test_samples_at_the_same_time_are_in_the_order_of_the_calls() -> None:
    both = log(event(1), event(3))
    both["samples"] += log(event(0, uuid="f0"), event(2, uuid="f2"))["samples"]
    assert [one.started for one in calls(both)] == [1_780_000_000 + 60 * index for index in range(4)]


def test_damage_and_nothing_to_read_are_told() -> None:
    with pytest.raises(NoRequestsError, match="1 sample, none of them"):
        calls(log())
    with pytest.raises(UnreadableJsonError):
        list(read_records(json.dumps(log(event(0))).encode()[:-4]))
    call = {"request": {"model": "m"}, "call_refs": [[5, 1], [-1, 9], "x"]}
    odd = log(event(0, call=call, input=[]), events_data={"calls": [{"role": "user", "content": "q"}]})
    assert calls(odd) == []

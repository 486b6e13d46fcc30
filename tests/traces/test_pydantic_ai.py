"""Messages of a run of pydantic-ai: each response is a call, with the instructions that stood then."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.reference.prefix.model import Fidelity, Zone
from coldturn.traces.errors import (
    InputTooLargeError,
    NoRequestsError,
    UnreadableJsonError,
    UnrecognisedInputError,
)
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.formats import pydantic_ai
from coldturn.traces.readers import read_exchanges, read_records
from traces.conversations import BOTH, CALLS, T0, answer, found, moment, prompt, system, tokens


def request(index: int, *parts: dict[str, Any], moved: bool = False, **more: object) -> dict[str, Any]:
    told = {"kind": "request", "parts": list(parts), "instructions": system(index, moved)}
    return {**told, "timestamp": moment(index), **more}


def response(index: int, *parts: dict[str, Any], moved: bool = False, **more: object) -> dict[str, Any]:
    whole, read = tokens(index, moved)
    usage = {"input_tokens": whole, "cache_read_tokens": read, "cache_write_tokens": 0, "output_tokens": 9}
    told = {"kind": "response", "parts": list(parts), "model_name": "gpt-4.1", "provider_name": "openai"}
    return {**told, "usage": usage, **more}


def asked(content: object = "Where is it?") -> dict[str, Any]:
    return {"part_kind": "user-prompt", "content": content}


def said(step: int) -> list[dict[str, Any]]:
    function = answer(step)["tool_calls"][0]["function"]
    called = {
        "part_kind": "tool-call",
        "tool_name": "find",
        "args": function["arguments"],
        "tool_call_id": f"c{step}",
    }
    return [{"part_kind": "text", "content": "Let me look."}, called]


def given(step: int, content: object | None = None) -> dict[str, Any]:
    text = f"not in {step}.py" if content is None else content
    return {"part_kind": "tool-return", "tool_name": "find", "content": text, "tool_call_id": f"c{step}"}


def run(calls: int, moved: bool = False) -> list[dict[str, Any]]:
    told = []
    for index in range(calls):
        told.append(request(index, given(index - 1) if index else asked(), moved=moved))
        told.append(response(index, *said(index), moved=moved))
    return told


def calls(messages: object) -> list[Exchange]:
    return [
        one
        for one in read_exchanges(json.dumps(messages).encode(), name="input")
        if isinstance(one, Exchange)
    ]


@pytest.mark.parametrize(("moved", "causes"), BOTH)
@pytest.mark.parametrize("indent", [None, 2])
def test_the_break_of_a_conversation_is_found(moved: bool, causes: list[object], indent: int | None) -> None:
    assert found(json.dumps(run(CALLS, moved), indent=indent).encode()) == causes


def test_a_response_is_a_call_behind_the_messages_in_front_of_it() -> None:
    one = calls(run(3))[2]
    assert json.loads(one.request_body) == {"model": "gpt-4.1", "messages": prompt(2, False)}
    assert (one.fidelity, one.started, set(one.parts_missing)) == (Fidelity.MESSAGES, T0 + 120, {Zone.TOOLS})
    usage = json.loads(one.response_body or b"")["usage"]
    assert (usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]) == (3_280, 3_072)


def test_system_prompts_stand_in_front_of_the_instructions() -> None:
    first = request(0, {"part_kind": "system-prompt", "content": "Be brief."}, asked())
    (one,) = calls([first, response(0)])
    texts = [message["content"][:9] for message in json.loads(one.request_body)["messages"]]
    assert texts == ["Be brief.", "It is 09:", "Where is "]


def test_claude_is_asked_in_its_own_format() -> None:
    thinking = {"part_kind": "thinking", "content": "Hm."}
    call = {"part_kind": "tool-call", "tool_name": "find", "args": {"q": 1}, "tool_call_id": "c0"}
    claude: dict[str, Any] = {"model_name": "claude-opus-4-5", "provider_name": "anthropic"}
    told = [request(0, asked()), response(0, thinking, call, **claude), request(1, given(0, {"found": 1}))]
    one = calls([*told, response(1, **claude)])[1]
    body = json.loads(one.request_body)
    assert one.url == "/v1/messages"
    assert body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "tool_use", "id": "c0", "name": "find", "input": {"q": 1}},
    ]
    assert body["messages"][2]["content"][0]["content"] == '{"found":1}'


def test_other_parts_are_kept_as_they_are() -> None:
    image = {"kind": "image-url", "url": "https://example.org/a.png"}
    retry = {"part_kind": "retry-prompt", "content": "Again.", "tool_name": "find", "tool_call_id": "c0"}
    loose = {"part_kind": "retry-prompt", "content": "Plain text is not permitted.", "tool_name": None}
    told = [
        request(0, asked(["See", image])),
        response(0, {"part_kind": "file", "x": 1}),
        request(1, retry, loose),
    ]
    body = json.loads(calls([*told, response(1)])[1].request_body)["messages"][1:]
    assert body[0]["content"] == [{"type": "text", "text": "See"}, image]
    assert body[1]["content"] == [{"part_kind": "file", "x": 1}]
    assert body[2] == {"role": "tool", "tool_call_id": "c0", "content": "Again."}
    assert body[3] == {"role": "user", "content": "Plain text is not permitted."}


def test_older_versions_name_counts_and_times_in_another_way() -> None:
    usage = {"request_tokens": 3_200, "response_tokens": 9}
    part = {**asked(), "timestamp": moment(1)}
    (one,) = calls([request(0, part, timestamp=None), response(0, usage=usage)])
    assert one.started == T0 + 60
    assert json.loads(one.response_body or b"")["usage"]["prompt_tokens"] == 3_200


def test_messages_of_another_protocol_are_not_taken_for_these() -> None:
    with pytest.raises(UnrecognisedInputError):
        calls([{"kind": "message", "role": "user", "parts": [{"kind": "text", "text": "q"}]}])


def test_damage_and_too_much_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = [*run(1), 7, *run(1)]
    assert [type(one) for one in read_records(json.dumps(odd).encode())] == [Exchange, EntryError, Exchange]
    with pytest.raises(UnreadableJsonError):
        list(read_records(json.dumps(run(1)).encode()[:-1]))
    with pytest.raises(NoRequestsError, match="1 message, none of them a model's"):
        calls(run(1)[:1])
    monkeypatch.setattr(pydantic_ai, "MAX_DOCUMENT", 1_000)
    with pytest.raises(InputTooLargeError):
        calls(run(1))

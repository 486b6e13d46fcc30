"""Helicone's requests: the API's answer and exports, in no order, with bodies or with counts alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.reference.prefix.model import Fidelity
from coldturn.traces.errors import NoRequestsError, UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.formats.model import Record
from coldturn.traces.readers import read_records
from coldturn.traces.usage_record import UsageRecord
from traces.conversations import BOTH, CALLS, TOOLS, found, lines, moment, prompt, tokens


def request(index: int, moved: bool = False, **more: object) -> dict[str, Any]:
    whole, read = tokens(index, moved)
    usage = {"prompt_tokens": whole, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": read}}
    return {
        "request_id": f"r{index}",
        "request_created_at": moment(index),
        "request_path": "https://api.openai.com/v1/chat/completions",
        "request_model": "gpt-4.1",
        "provider": "OPENAI",
        "request_body": {"model": "gpt-4.1", "messages": prompt(index, moved), "tools": TOOLS},
        "response_status": 200,
        "response_body": {"object": "chat.completion", "choices": [], "usage": usage},
        "request_properties": {"Helicone-Session-Id": "s"},
        **more,
    }


def only(value: object) -> Record:
    (one,) = read_records(lines(value), name="input")
    return one


@pytest.mark.parametrize(("moved", "causes"), BOTH)
@pytest.mark.parametrize("layout", ["answer", "list", "lines"])
def test_the_break_of_a_conversation_is_found(moved: bool, causes: list[object], layout: str) -> None:
    told = [request(index, moved) for index in reversed(range(CALLS))]
    content = {
        "answer": json.dumps({"data": told, "error": None}, indent=1).encode(),
        "list": json.dumps(told).encode(),
        "lines": lines(*told),
    }[layout]
    assert found(content) == causes


def test_a_request_is_the_body_that_went_through() -> None:
    one = only(request(1, time_to_first_token=250))
    assert isinstance(one, Exchange)
    assert json.loads(one.request_body) == request(1)["request_body"]
    assert (one.fidelity, one.status, one.url) == (
        Fidelity.CANONICAL,
        200,
        "https://api.openai.com/v1/chat/completions",
    )
    assert (one.started, one.answered) == (1_780_000_060.0, 1_780_000_060.25)
    text = only(request(1, request_body=json.dumps(request(1)["request_body"])))
    assert isinstance(text, Exchange)
    assert text.request_body == one.request_body


def test_counts_beside_an_answer_without_usage_are_its() -> None:
    asked = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}]}
    told: dict[str, Any] = {"prompt_tokens": 10, "prompt_cache_read_tokens": 900}
    told["prompt_cache_write_tokens"] = 80
    path = "https://api.anthropic.com/v1/messages"
    one = only(
        request(0, request_body=asked, response_body="", provider="ANTHROPIC", request_path=path, **told)
    )
    assert isinstance(one, Exchange)
    assert json.loads(one.response_body or b"")["usage"] == {
        "input_tokens": 10,
        "cache_read_input_tokens": 900,
        "cache_creation_input_tokens": 80,
    }
    told["prompt_tokens"] = 1_000  # as much as was read, and still counted beside it
    more = only(
        request(0, request_body=asked, response_body="", provider="ANTHROPIC", request_path=path, **told)
    )
    assert isinstance(more, Exchange)
    assert json.loads(more.response_body or b"")["usage"]["input_tokens"] == 1_000
    bare = only(request(0, response_body=None))
    assert isinstance(bare, Exchange)
    assert bare.response_body is None


def test_what_helicone_answered_itself_went_to_no_provider() -> None:
    one = only(request(0, cache_reference_id="6b1c"))
    assert isinstance(one, Exchange)
    assert one.kind is ExchangeKind.OTHER
    none = only(request(0, cache_reference_id="00000000-0000-0000-0000-000000000000"))
    assert isinstance(none, Exchange)
    assert none.kind is ExchangeKind.MODEL


def test_without_a_body_there_are_numbers() -> None:
    one = only(
        request(0, request_body=None, prompt_tokens=70, prompt_cache_read_tokens=64, completion_tokens=3)
    )
    assert isinstance(one, UsageRecord)
    assert (one.input_tokens, one.cached_tokens, one.conversation, one.model) == (70, 64, "s", "gpt-4.1")


def test_a_time_that_is_none_is_told() -> None:
    one = only(request(0, request_created_at="yesterday"))
    assert isinstance(one, Exchange)
    assert one.undated


def test_damage_and_nothing_to_read_are_told() -> None:
    content = lines(request(0)) + b'{"request_body": \n' + lines(request(1))
    assert [type(one) for one in read_records(content)] == [EntryError, Exchange, Exchange]
    with pytest.raises(UnreadableJsonError):
        list(read_records(json.dumps({"data": [request(0)]}).encode()[:-3]))
    with pytest.raises(NoRequestsError, match="1 request, none of them a call"):
        list(read_records(lines(request(0, request_body=None))))

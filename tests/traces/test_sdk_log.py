"""Debug logs of the Python libraries of Anthropic and OpenAI: bodies as Python writes a dict."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.reference.prefix.model import Fidelity
from coldturn.traces.errors import NoRequestsError
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.formats.model import Record
from coldturn.traces.readers import read_records
from traces.conversations import BOTH, CALLS, T0, TOOLS, found, prompt

URL = "https://api.openai.com/v1/chat/completions"
AT = "[2026-05-28 22:26:40 - openai._base_client:486 - DEBUG]"


def options(
    body: str, *, url: str = "/chat/completions", before: str = "'headers': {}", more: str = ""
) -> str:
    told = f"'method': 'post', 'url': {url!r}, {before}, 'idempotency_key': 'k', 'json_data': {body}{more}"
    return f"{AT} Request options: {{{told}}}"


def sending(url: str = URL) -> str:
    return f"{AT} Sending HTTP Request: POST {url}"


def answer(minute: int = 26, status: str = "200 OK") -> str:
    headers = f"Headers({{'date': 'Thu, 28 May 2026 20:{minute}:40 GMT', 'x': 'y'}})"
    return f'{AT} HTTP Response: POST {URL} "{status}" {headers}'


def body(index: int, moved: bool = False) -> dict[str, Any]:
    return {"model": "gpt-4.1", "messages": prompt(index, moved), "tools": TOOLS}


def read(*told: str) -> list[Record]:
    return list(read_records("\n".join((*told, "")).encode(), name="input"))


def only(*told: str) -> Exchange:
    (one,) = read(*told)
    assert isinstance(one, Exchange), one
    return one


@pytest.mark.parametrize(("moved", "causes"), BOTH)
def test_the_break_of_a_conversation_is_found(moved: bool, causes: list[object]) -> None:
    told = [
        one
        for index in range(CALLS)
        for one in (options(repr(body(index, moved))), sending(), answer(26 + index))
    ]
    assert found("\n".join(told).encode()) == causes


def test_a_request_is_its_body_with_the_address_and_date_of_its_answer() -> None:
    one = only(options(repr(body(1))), sending(), f"{AT} other words", answer(27))
    assert json.loads(one.request_body) == body(1)
    assert list(json.loads(one.request_body)) == ["model", "messages", "tools"]
    assert (one.url, one.status, one.started, one.fidelity) == (URL, 200, T0 + 60, Fidelity.CANONICAL)
    assert one.response_body is None


@pytest.mark.parametrize(
    "text", ["it's {'json_data': {", "a \"quote\" and 'another'", "back\\slash' \n\u00fc\U0001f600", "}", "'"]
)
def test_whatever_a_text_says_it_is_read_as_it_was(text: str) -> None:
    said = {"model": "m", "messages": [{"role": "user", "content": text}]}
    headers = f"'headers': {{'note': {text!r}}}, 'post': <function make.<locals>.x at 0x7f>"
    assert json.loads(only(options(repr(said), before=headers)).request_body) == said


def test_keys_of_the_same_name_inside_others_are_not_the_bodys() -> None:
    headers = "'headers': {'json_data': {'model': 'other'}, 'url': '/other'}"
    one = only(options(repr(body(0)), before=headers))
    assert json.loads(one.request_body) == body(0)
    assert one.url == "/chat/completions"


def test_what_a_caller_adds_is_a_part_of_the_body() -> None:
    one = only(options("{'model': 'm', 'messages': []}", more=", 'extra_json': {'top_k': 3}"))
    assert json.loads(one.request_body) == {"model": "m", "messages": [], "top_k": 3}


def test_requests_at_the_same_time_have_no_answers_of_their_own() -> None:
    first, second = options(repr(body(0))), options(repr(body(1)))
    told = read(first, sending(), second, sending(), answer(), answer(), options(repr(body(2))), answer(28))
    calls = [one for one in told if isinstance(one, Exchange)]
    assert [one.started for one in calls] == [None, None, T0 + 120]
    assert [len(json.loads(one.request_body)["messages"]) for one in calls] == [2, 4, 6]
    assert [one.entry for one in calls] == [0, 1, 2]


def test_a_refused_request_has_its_status_and_one_without_an_answer_none() -> None:
    refused, cut = read(
        options(repr(body(0))), answer(status="429 Too Many Requests"), options(repr(body(1)))
    )
    assert isinstance(refused, Exchange)
    assert isinstance(cut, Exchange)
    assert (refused.status, cut.status) == (429, None)


def test_requests_without_a_body_are_none_and_others_are_passed_over() -> None:
    assert only(options("None", url="/models"), options(repr(body(0)))).kind is ExchangeKind.MODEL
    other = only(options("{'input': 'x', 'model': 'text-embedding-3-small', 'y': 1}", url="/embeddings"))
    assert other.kind is not ExchangeKind.MCP


@pytest.mark.parametrize(
    ("damaged", "reason"),
    [
        ("{'model': 'm', 'messages': [<object at 0x7f>]}", "as no value"),
        ("{'model': b'm'}", "what JSON has not"),
        ("{'a': " + "[" * 200 + "]" * 200 + "}", "nested too deeply"),
        ("{'model': 'm", "as no value"),
        ("{'model': [", "breaks off"),
    ],
)
def test_what_cannot_be_read_is_told_and_the_rest_is_read(damaged: str, reason: str) -> None:
    error, good = read(options(damaged), answer(), options(repr(body(0))), answer())
    assert isinstance(error, EntryError)
    assert error.message.startswith("line 1: ")
    assert reason in error.message
    assert isinstance(good, Exchange)
    assert good.started == T0


def test_a_log_without_bodies_says_since_when() -> None:
    with pytest.raises(NoRequestsError, match=r"1 line of a library's log without the body .* version 3"):
        read("[2026-11-30 15:50:57 - openai._base_client:606 - DEBUG] Building HTTP request: method=POST")

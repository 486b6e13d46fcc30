"""Lines of HTTP logs and of logged calls as exchanges."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.reference.prefix.model import Fidelity
from coldturn.traces.errors import UnrecognisedInputError
from coldturn.traces.exchange import Exchange, ExchangeKind
from coldturn.traces.readers import read_exchanges

URL = "https://api.anthropic.com/v1/messages"
BODY = '{ "model":"m",  "max_tokens": 9, "messages": [{"role": "user", "content": "\\u00e9"}]}'
TEXT = json.dumps(BODY)


def only(line: str) -> Exchange:
    (found,) = read_exchanges(line.encode(), name="input")
    assert isinstance(found, Exchange), found
    return found


@pytest.mark.parametrize("value", [BODY, TEXT], ids=["object", "text"])
@pytest.mark.parametrize("key", ["body", "request"])
def test_a_body_counts_as_sent_as_an_object_and_as_text(key: str, value: str) -> None:
    found = only(f'{{"method": "PUT", "url": "{URL}", "headers": {{}}, "{key}": {value}}}')
    assert found.request_body == BODY.encode()
    assert (found.kind, found.fidelity) == (ExchangeKind.MODEL, Fidelity.WIRE)
    assert (found.method, found.url) == ("PUT", URL)


@pytest.mark.parametrize("value", [BODY, TEXT], ids=["object", "text"])
def test_arguments_of_a_call_are_values_whose_bytes_are_not_those_sent(value: str) -> None:
    found = only(f'{{"ts": "2026-11-30T09:00:10Z", "kwargs": {value}, "response": {{"id": "a"}}}}')
    assert found.request_body == BODY.encode()
    assert (found.kind, found.fidelity) == (ExchangeKind.MODEL, Fidelity.CANONICAL)
    assert (found.started, found.response_body) == (1_796_029_210.0, b'{"id": "a"}')


@pytest.mark.parametrize("key", ["started", "timestamp", "time", "ts"])
@pytest.mark.parametrize("value", ["1796029210.5", '"2026-11-30T09:00:10.5Z"'])
def test_a_time_beside_the_body_is_when_it_was_sent(key: str, value: str) -> None:
    found = only(f'{{"{key}": {value}, "body": {BODY}}}')
    assert (found.started, found.undated) == (1_796_029_210.5, False)


def test_milliseconds_since_1970_are_told_by_their_size() -> None:
    assert only(f'{{"timestamp": 1796029210500, "body": {BODY}}}').started == 1_796_029_210.5


@pytest.mark.parametrize("value", ["1" + "0" * 400, "1e999", "NaN", "[]"])
def test_a_number_of_no_clock_is_no_time(value: str) -> None:
    found = only(f'{{"timestamp": {value}, "method": 5, "headers": 3, "status": "ok", "body": {BODY}}}')
    assert (found.started, found.method, found.status, found.request_headers) == (None, "POST", None, ())


@pytest.mark.parametrize(("value", "undated"), [("1.25", False), ("null", False), ('"9 o\'clock"', True)])
def test_a_duration_is_no_time(value: str, undated: bool) -> None:
    found = only(f'{{"time": {value}, "body": {BODY}}}')
    assert (found.started, found.undated) == (None, undated)


@pytest.mark.parametrize("value", [BODY, TEXT], ids=["object", "text"])
@pytest.mark.parametrize("count", [1, 2])
def test_an_http_exchange_is_read_out_of_its_two_objects(value: str, count: int) -> None:
    headers = '{"Anthropic-Beta": "b", "X-Key": "s"}'
    request = f'{{"method": "POST", "url": "{URL}", "headers": {headers}, "body": {value}}}'
    response = '{"status": 529, "headers": {}, "body": {"type": "error"}}'
    line = f'{{"time": "2026-11-30T09:00:10Z", "request": {request}, "response": {response}}}\n'
    found, *others = read_exchanges(line.encode() * count, name="input")
    assert len(others) == count - 1
    assert isinstance(found, Exchange)
    assert (found.request_body, found.url, found.status) == (BODY.encode(), URL, 529)
    assert found.response_body == b'{"type": "error"}'
    assert found.request_headers == (("anthropic-beta", "b"),)
    assert found.started == 1_796_029_210.0


@pytest.mark.parametrize("headers", ['[["Session-Id", "a"], ["x"]]', '{"session-id": "a", "n": 1}'])
def test_headers_may_be_an_object_or_pairs(headers: str) -> None:
    found = only(f'{{"headers": {headers}, "body": {BODY}}}')
    assert found.request_headers == (("session-id", "a"),)


def test_a_line_of_another_request_is_not_one_to_a_model() -> None:
    lines = f'{{"method": "GET", "url": "https://a.example/v1/models", "body": null}}\n{{"body": {BODY}}}\n'
    first, second = read_exchanges(lines.encode(), name="input")
    assert isinstance(first, Exchange)
    assert isinstance(second, Exchange)
    assert (first.kind, first.request_body) == (ExchangeKind.OTHER, b"")
    assert second.kind is ExchangeKind.MODEL


def test_a_body_beside_the_line_of_a_request_is_the_body() -> None:
    assert only(f'{{"request": "POST /v1/messages", "body": {TEXT}}}').request_body == BODY.encode()


@pytest.mark.parametrize(
    "line", ['{"title": "a", "body": "it says \\"hello\\""}', '{"body": {"x": 1}}', '{"kwargs": {}}']
)
def test_a_body_that_is_no_request_is_not_recognised(line: str) -> None:
    with pytest.raises(
        UnrecognisedInputError, match=r"with the keys .*under request, request_raw, body or kwargs"
    ):
        list(read_exchanges(line.encode(), name="input"))


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("# Notes\n\nWhat was done\n\nTo do: nothing\n", "plain text;"),
        ("Usage: this\n```\nmodel: x\n```\n", "plain text;"),
        ("Note: a line\nand another", "plain text;"),
        (
            "# a comment\n---\nversion: 1\nservices:\n  web:\n    - a\n- b\n",
            "YAML with the keys version, services;",
        ),
        ("a: 1\n" * 20_000 + "and so on", "YAML with the keys a, a"),
    ],
)
def test_markdown_is_plain_text_and_yaml_is_yaml(text: str, seen: str) -> None:
    with pytest.raises(UnrecognisedInputError) as caught:
        list(read_exchanges(text.encode(), name="input"))
    assert f"not recognised: {seen}" in str(caught.value)


def test_a_request_of_a_body_key_is_not_taken_apart() -> None:
    request: dict[str, Any] = {"model": "m", "input": "q", "metadata": {"body": "x"}, "body": "y"}
    assert json.loads(only(json.dumps({"request": request})).request_body) == request

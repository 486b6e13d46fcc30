"""Cassettes are read strictly: as vcrpy wrote them, in every dialect, and never as empty when broken."""

from __future__ import annotations

import base64
import gzip
import json
import logging
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from vcr.request import Request
from vcr.serialize import serialize
from vcr.serializers import jsonserializer, yamlserializer

from coldturn.reference.prefix.model import Fidelity
from coldturn.traces.cassette import iter_cassette
from coldturn.traces.errors import BrokenCassetteError, UnrecognisedInputError, UnsupportedFormatError
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.readers import read_exchanges

BODY = b'{"model":"m",  "input":"\xc3\xa9 \\u00e9 \\"x\\" ' + b"long " * 40 + b'\\n"}'
URI = "https://api.openai.com/v1/responses"
ANSWER = b'{"id":"r1"}'


def response(body: bytes = ANSWER, **headers: str) -> dict[str, Any]:
    return {
        "status": {"code": 200, "message": "OK"},
        "headers": {name.replace("_", "-"): [value] for name, value in headers.items()},
        "body": {"string": body},
    }


def written(serializer: ModuleType, *bodies: bytes, answer: dict[str, Any] | None = None) -> bytes:
    requests = [Request("POST", URI, body, {"Content-Type": "application/json"}) for body in bodies]
    cassette = {"requests": requests, "responses": [answer or response() for _ in bodies]}
    text = serialize(cassette, serializer)
    return text if isinstance(text, bytes) else text.encode()


def exchanges(content: bytes) -> list[Exchange]:
    items = list(read_exchanges(content, name="c"))
    assert all(isinstance(item, Exchange) for item in items), items
    return [item for item in items if isinstance(item, Exchange)]


@pytest.mark.parametrize("serializer", [yamlserializer, jsonserializer])
@pytest.mark.requirement("REC-9")
def test_what_vcrpy_wrote_comes_back_byte_for_byte(serializer: ModuleType) -> None:
    content = written(serializer, BODY, b'{"model":"m","input":"2"}')
    first, second = iter_cassette(content)
    assert first.request_body == BODY
    assert second.request_body == b'{"model":"m","input":"2"}'
    assert first.response_body == ANSWER
    assert (first.method, first.uri, first.status, first.entry) == ("POST", URI, 200, 0)
    assert first.fidelity is Fidelity.WIRE
    assert ("content-type", "application/json") in first.request_headers


def test_binary_bodies_come_back(  # YAML only: vcrpy's JSON cannot hold them
) -> None:
    binary = bytes(range(256)) * 3
    (only,) = iter_cassette(written(yamlserializer, binary))
    assert only.request_body == binary


@pytest.mark.requirement("REC-9")
def test_a_parsed_body_is_canonical_and_keeps_its_values() -> None:
    content = b"""\
interactions:
- request:
    headers: {}
    method: POST
    parsed_body:
      input: 'on'
      max_output_tokens: 5
      model: gpt-5
      service: 2025-11-25
      stream: false
      temperature: 0.10
      user: null
    uri: https://api.openai.com/v1/responses
  response:
    headers: {date: ['Tue, 26 May 2026 04:39:04 GMT'], content-type: [application/json]}
    parsed_body: {id: r1}
    status: {code: 200, message: OK}
version: 1
"""
    (only,) = exchanges(content)
    assert only.fidelity is Fidelity.CANONICAL
    assert json.loads(only.request_body) == {
        "input": "on",
        "max_output_tokens": 5,
        "model": "gpt-5",
        "service": "2025-11-25",
        "stream": False,
        "temperature": 0.1,
        "user": None,
    }
    assert only.response_body == b'{"id":"r1"}'
    assert only.started == 1779770344.0
    assert only.kind is ExchangeKind.MODEL


@pytest.mark.parametrize("body", [{"model": "gpt-5", "input": "q"}, [{"model": "gpt-5"}]])
def test_a_body_that_was_given_as_json_is_canonical(body: object) -> None:
    """vcrpy's aiohttp stub keeps what was passed as ``json=``."""
    request = {"method": "POST", "uri": "https://api.openai.com/v1/responses", "headers": {}, "body": body}
    answer = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": "{}"}}
    cassette = {"interactions": [{"request": request, "response": answer}], "version": 1}
    (found,) = exchanges(json.dumps(cassette).encode())
    assert json.loads(found.request_body) == body
    assert found.fidelity is Fidelity.CANONICAL


def test_the_older_layout_of_two_lists_is_read() -> None:
    encoded = base64.b64encode(BODY).decode()
    answer = base64.b64encode(gzip.compress(ANSWER)).decode()
    content = f"""\
requests:
- body: !!binary {encoded}
  headers: {{}}
  method: POST
  uri: '**REDACTED**'
responses:
- body:
    string: !!binary {answer}
  headers: {{Date: '**REDACTED**'}}
  status: {{code: 200, message: OK}}
"""
    (only,) = exchanges(content.encode())
    assert only.request_body == BODY
    assert only.response_body == ANSWER
    assert only.started is None


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [("gzip", gzip.compress(ANSWER)), ("deflate", zlib.compress(ANSWER)), ("gzip", ANSWER)],
    ids=["gzip", "deflate", "said-to-be-gzip"],
)
def test_packed_responses_are_unpacked_when_they_are_packed(encoding: str, packed: bytes) -> None:
    content = written(yamlserializer, BODY, answer=response(packed, content_encoding=encoding))
    (only,) = exchanges(content)
    assert only.response_body == ANSWER


def test_a_packed_body_that_is_cut_off_is_an_error_of_its_entry() -> None:
    content = written(
        yamlserializer, BODY, answer=response(gzip.compress(ANSWER)[:-9], content_encoding="gzip")
    )
    (only,) = read_exchanges(content, name="c")
    assert isinstance(only, EntryError)
    assert only.entry == 0
    assert "cut off" in only.message


@pytest.mark.requirement("REC-3")
def test_our_jsonl_is_read_with_its_times_and_binary_bodies() -> None:
    header = {"version": 1, "metadata": {"coldturn": {"format": 1, "servers": {}}}}
    entry = {
        "request": {"method": "POST", "uri": URI, "body": BODY.decode(), "headers": {"a": ["b"]}},
        "response": {
            "status": {"code": 200, "message": "OK"},
            "headers": {"content-type": ["application/json"]},
            "body": {"string": {"b64": base64.b64encode(b"\xff\x00").decode()}},
            "x-coldturn": {"seq": 4, "start": 12.5, "end": 13.0, "chunks": [[0.1, 2]]},
        },
    }
    content = "\n".join(json.dumps(line) for line in (header, entry, entry)).encode() + b"\n"
    first, second = iter_cassette(content)
    assert first.response_body == b"\xff\x00"
    assert first.timing["seq"] == 4
    assert second.entry == 1
    assert [item.started for item in exchanges(content)] == [12.5, 12.5]


@pytest.mark.requirement("REC-3")
def test_a_torn_last_line_is_dropped_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    entry = {"request": {"method": "POST", "uri": URI, "body": "{}"}, "response": {"status": {"code": 200}}}
    whole = json.dumps(entry).encode() + b"\n"
    with caplog.at_level(logging.WARNING):
        kept = list(iter_cassette(whole + whole + whole[:30], name="session.jsonl"))
    assert [item.entry for item in kept] == [0, 1]
    assert "session.jsonl" in caplog.text
    items = list(read_exchanges(whole + whole + whole[:30], name="c"))
    assert isinstance(items[-1], EntryError)
    assert items[-1].torn


@pytest.mark.requirement("REC-3")
def test_a_damaged_line_in_the_middle_is_an_error_that_names_the_entry() -> None:
    entry = {"request": {"method": "POST", "uri": URI, "body": "{}"}, "response": {"status": {"code": 200}}}
    whole = json.dumps(entry).encode() + b"\n"
    with pytest.raises(BrokenCassetteError, match="entry 1") as caught:
        list(iter_cassette(whole + whole[:30] + b"\n" + whole))
    assert caught.value.entry == 1


def test_a_recording_of_a_newer_release_is_refused() -> None:
    header = {"version": 1, "metadata": {"coldturn": {"format": 99}}}
    with pytest.raises(UnsupportedFormatError, match="99"):
        list(iter_cassette(json.dumps(header).encode() + b"\n"))


@pytest.mark.requirement("REC-3")
@pytest.mark.parametrize("cut", [0.97, 0.8, 0.6, 0.55])
def test_a_cassette_that_was_cut_off_is_never_taken_for_a_shorter_one(cut: float) -> None:
    content = written(yamlserializer, BODY, BODY, BODY)
    torn = content[: int(len(content) * cut)]
    with pytest.raises(BrokenCassetteError) as caught:
        list(iter_cassette(torn, name="c"))
    assert caught.value.entry is not None


def test_a_cassette_that_ends_between_two_entries_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    content = written(yamlserializer, BODY, BODY)
    cut = content[: content.rindex(b"version:")]
    with caplog.at_level(logging.WARNING):
        assert len(list(iter_cassette(cut, name="short.yaml"))) == 2
    assert "short.yaml" in caplog.text
    last = list(read_exchanges(cut, name="c"))[-1]
    assert isinstance(last, EntryError)
    assert (last.entry, last.torn) == (2, True)


@pytest.mark.requirement("REC-3")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"interactions:\n- request: {method: GET\n", "entry 0"),
        (b"interactions:\n- request: {method: GET}\n  response: {}\nversion: 1\n", "entry 0.*no uri"),
        (b"interactions:\n- 3\nversion: 1\n", "entry 0"),
        (b"interactions: 3\nversion: 1\n", "no list"),
        (b"interactions: null\nversion: 1\n", "no list"),
        (b"interactions:\n- {request: {uri: u}, response: {}}\n- *x\nversion: 1\n", "entry 1"),
        (b'{"interactions": [{"request": {"uri": "u"}, "response": {}}, {}], "version": 1}', "entry 1"),
        (b"interactions:\n- request: {uri: u}\n  response: {}\n- request:\n   - \x01", "entry 1"),
        (b"requests: []\nresponses:\n- {}\n", "more responses"),
    ],
)
def test_a_broken_cassette_names_the_entry(content: bytes, said: str) -> None:
    with pytest.raises(BrokenCassetteError, match=said):
        list(iter_cassette(content, name="c"))


def test_tags_are_never_executed(tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    content = f"""\
interactions:
- request:
    body: !!python/object/apply:os.system ['touch {marker}']
    method: POST
    uri: u
  response: {{}}
- request:
    body: '{{}}'
    headers: !!python/object/apply:os.system ['touch {marker}']
    method: POST
    uri: u
  response: {{}}
version: 1
"""
    items = list(read_exchanges(content.encode(), name="c"))
    assert not marker.exists()
    assert isinstance(items[0], EntryError)
    assert "never executed" in items[0].message
    assert isinstance(items[1], Exchange)


def test_aliases_are_read_and_alias_bombs_are_refused() -> None:
    shared = b"""\
interactions:
- request: {uri: u, method: POST, body: &b '{"model":"m","input":"q"}'}
  response: {}
- request: {uri: u, method: POST, body: *b}
  response: {}
version: 1
"""
    first, second = iter_cassette(shared)
    assert first.request_body == second.request_body == b'{"model":"m","input":"q"}'
    rows = [b"  l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [b"  l%d: &l%d [%s]" % (n, n, b", ".join([b"*l%d" % (n - 1)] * 10)) for n in range(1, 9)]
    bomb = b"interactions:\n-\n" + b"\n".join(rows) + b"\nversion: 1\n"
    with pytest.raises(BrokenCassetteError, match="unfolds"):
        list(iter_cassette(bomb, name="c"))


def test_nesting_has_a_bound() -> None:
    deep = b"interactions:\n- request: {uri: u, parsed_body: " + b"[" * 5000 + b"]" * 5000 + b"}\n"
    with pytest.raises(BrokenCassetteError, match="entry 0"):
        list(iter_cassette(deep, name="c"))


def test_something_else_is_no_cassette() -> None:
    with pytest.raises(UnrecognisedInputError):
        list(iter_cassette(b'{"model": "m", "input": "q"}', name="c"))

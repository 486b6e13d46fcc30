"""Request bodies, arrays and JSONL as exchanges."""

from __future__ import annotations

import base64
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from coldturn.reference.prefix.model import Fidelity
from coldturn.traces.errors import (
    DamagedArchiveError,
    EmptyInputError,
    InputError,
    InputTooLargeError,
    MissingInputError,
    NumbersOnlyError,
    UnreadableJsonError,
    UnrecognisedInputError,
)
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.readers import read_exchanges
from coldturn.traces.sniff import InputKind

CHAT: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "q"}],
}
MESSAGES: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}]}
RESPONSES: dict[str, Any] = {"model": "m", "input": "q", "instructions": "S"}
RPC: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def dumped(value: object) -> bytes:
    return json.dumps(value).encode()


def read(content: bytes, kind: InputKind | None = None) -> list[Exchange | EntryError]:
    return list(read_exchanges(content, name="input", kind=kind))


def exchanges(content: bytes, kind: InputKind | None = None) -> list[Exchange]:
    items = read(content, kind)
    assert all(isinstance(item, Exchange) for item in items), items
    return [item for item in items if isinstance(item, Exchange)]


@pytest.mark.parametrize("body", [CHAT, MESSAGES, RESPONSES])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_body_is_read_as_its_own_bytes(body: dict[str, Any], indent: int | None) -> None:
    text = json.dumps(body, indent=indent).encode()
    (only,) = exchanges(text)
    assert only.kind is ExchangeKind.MODEL
    assert only.request_body == text
    assert only.fidelity is Fidelity.WIRE
    assert (only.source, only.entry, only.url, only.started) == ("input", 0, "", None)


def test_an_array_of_bodies_keeps_each_body_as_it_stands() -> None:
    first = b'{"model": "m",   "input":"a"}'
    second = dumped(RESPONSES)
    items = exchanges(b"[\n " + first + b" ,\n" + second + b"\n]\n")
    assert [item.request_body for item in items] == [first, second]
    assert [item.entry for item in items] == [0, 1]


def test_jsonl_of_bare_bodies_keeps_each_line() -> None:
    lines = [dumped(CHAT), b'{"model":"m" ,"input":"\\u00e9"}', dumped(MESSAGES)]
    items = exchanges(b"\n".join(lines) + b"\n\n")
    assert [item.request_body for item in items] == lines


def test_a_wrapped_line_gives_the_request_as_it_stands_with_url_response_and_time() -> None:
    request = b'{ "model":"m","input" : "q" }'
    line = (
        b'{"url": "https://api.example/v1/responses", "request": '
        + request
        + b', "response": {"id": "r1"}, "started": 1700000000.5}'
    )
    (only,) = exchanges(line)
    assert only.request_body == request
    assert only.fidelity is Fidelity.WIRE
    assert only.url == "https://api.example/v1/responses"
    assert only.response_body == b'{"id": "r1"}'
    assert only.started == 1700000000.5


@pytest.mark.parametrize("key", ["request_raw", "request_base64"])
def test_a_request_may_stand_as_text_or_base64(key: str) -> None:
    body = b'{"model":"m","input":"\xc3\xa9\\ud83d\\ude00"}'
    value = body.decode() if key == "request_raw" else base64.b64encode(body).decode()
    lines = dumped({key: value, "response": None, "started": None})
    (only,) = exchanges(lines + b"\n" + lines[:-1] + b" }\n")[:1]
    assert only.request_body == body
    assert only.kind is ExchangeKind.MODEL
    assert only.response_body is None


def test_a_streamed_response_is_the_text_that_was_received() -> None:
    stream = 'event: message_start\ndata: {"type": "message_start"}\n\n'
    (only,) = exchanges(dumped({"request": MESSAGES, "response": stream}))
    assert only.response_body == stream.encode()
    assert only.content_type == "text/event-stream"


@pytest.mark.parametrize(
    ("started", "seconds"),
    [
        (1700000000, 1700000000.0),
        ("2026-05-26T04:39:04Z", 1779770344.0),
        ("2026-05-26T04:39:04", 1779770344.0),
        ("2026-05-26T06:39:04+02:00", 1779770344.0),
        (None, None),
        ("yesterday", None),
    ],
)
def test_times_are_epoch_seconds_or_rfc_3339(started: object, seconds: float | None) -> None:
    (only,) = exchanges(dumped({"request": CHAT, "response": None, "started": started}))
    assert only.started == seconds


def test_logged_calls_are_paired_with_the_answers_behind_them() -> None:
    lines = [
        {"timestamp": "2026-01-01T00:00:00", "type": "request", "request_params": CHAT},
        {"timestamp": "2026-01-01T00:00:01", "type": "response", "response": {"id": "a"}},
        {"timestamp": "2026-01-01T00:00:02", "type": "request", "request_params": CHAT},
        {"timestamp": "2026-01-01T00:00:03", "type": "request", "request_params": CHAT},
    ]
    items = exchanges(b"\n".join(dumped(line) for line in lines))
    assert [item.response_body for item in items] == [b'{"id": "a"}', None, None]
    assert [item.entry for item in items] == [0, 2, 3]
    assert items[0].request_body == dumped(CHAT)
    assert {item.fidelity for item in items} == {Fidelity.CANONICAL}


def test_json_rpc_is_mcp_and_anything_else_is_other() -> None:
    batch = {"model": "m", "prompt": "q"}
    items = exchanges(b"\n".join([dumped(CHAT), dumped(RPC), dumped(batch)]))
    assert [item.kind for item in items] == [ExchangeKind.MODEL, ExchangeKind.MCP, ExchangeKind.OTHER]


def test_a_damaged_line_is_named_and_the_others_are_read() -> None:
    items = read(dumped(CHAT) + b'\n{"model": \n' + dumped(CHAT) + b"\n")
    assert [type(item) for item in items] == [Exchange, EntryError, Exchange]
    error = items[1]
    assert isinstance(error, EntryError)
    assert error.entry == 1
    assert "line 2" in error.message


def test_a_truncated_last_line_is_named() -> None:
    items = read(dumped(CHAT) + b"\n" + dumped(CHAT)[:20])
    assert isinstance(items[0], Exchange)
    assert isinstance(items[1], EntryError)
    assert "ends there" in items[1].message


def test_a_first_line_that_is_damaged_does_not_hide_the_second() -> None:
    items = read(b'{"model": nope}\n' + dumped(CHAT) + b"\n")
    assert [type(item) for item in items] == [EntryError, Exchange]


def test_lone_surrogates_and_nan_do_not_stop_a_wrapped_line() -> None:
    body = b'{"model":"m","input":"\\ud800","temperature":NaN}'
    (only,) = exchanges(b'{"url": null, "request": ' + body + b', "response": null}')
    assert only.request_body == body


def test_a_byte_order_mark_in_front_of_jsonl_is_no_part_of_the_first_body() -> None:
    items = exchanges(b"\xef\xbb\xbf" + dumped(CHAT) + b"\r\n" + dumped(CHAT) + b"\r\n")
    assert [item.request_body for item in items] == [dumped(CHAT), dumped(CHAT)]


def test_gzip_is_unpacked() -> None:
    packed = gzip.compress(dumped(CHAT) + b"\n" + dumped(MESSAGES))
    assert [item.request_body for item in exchanges(packed)] == [dumped(CHAT), dumped(MESSAGES)]


def test_a_stream_is_read_like_a_file() -> None:
    (only,) = read_exchanges(io.BytesIO(dumped(CHAT)), name="<stdin>")
    assert isinstance(only, Exchange)
    assert only.source == "<stdin>"


def test_the_format_can_be_said() -> None:
    (only,) = exchanges(dumped(CHAT), kind=InputKind.JSONL)
    assert only.kind is ExchangeKind.MODEL


def test_a_line_beyond_the_bound_is_skipped_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coldturn.traces.opening.MAX_LINE", 200)
    long = dumped({"model": "m", "input": "x" * 500})
    items = read(dumped(CHAT) + b"\n" + long + b"\n" + dumped(CHAT) + b"\n")
    assert [type(item) for item in items] == [Exchange, EntryError, Exchange]
    assert isinstance(items[1], EntryError)
    assert "too long" in items[1].message


def test_a_document_beyond_the_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coldturn.traces.opening.MAX_DOCUMENT", 100)
    with pytest.raises(InputTooLargeError):
        read(json.dumps({"model": "m", "input": "x" * 200}, indent=1).encode())


def test_a_file_that_unpacks_beyond_the_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coldturn.traces.opening.MAX_UNPACKED", 10_000)
    bomb = gzip.compress(dumped(CHAT) + b"\n" + b" " * 1_000_000)
    with pytest.raises(InputTooLargeError):
        read(bomb)


DEEP = b"[" * 5000 + b"]" * 5000


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", EmptyInputError),
        (b" \n\t\n", EmptyInputError),
        (b"hello there", UnrecognisedInputError),
        (b"name: x\nvalue: 2\n", UnrecognisedInputError),
        (bytes(range(256)), UnrecognisedInputError),
        (b'{"name": "x", "version": "1.0.0"}', UnrecognisedInputError),
        (json.dumps(CHAT, indent=1).encode()[:-4], UnreadableJsonError),
        (b"[1, 2", UnreadableJsonError),
        (gzip.compress(dumped(CHAT) * 50)[:-20], DamagedArchiveError),
        (b'{"timestamp": 0, "input_length": 6, "hash_ids": [0]}\n' * 2, NumbersOnlyError),
    ],
)
def test_what_cannot_be_read_is_one_sentence(content: bytes, error: type[InputError]) -> None:
    with pytest.raises(error) as caught:
        read(content)
    sentence = str(caught.value)
    assert sentence.startswith("input: ")
    assert "\n" not in sentence
    assert len(sentence) < 300


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match=r"nothing\.json"):
        list(read_exchanges(tmp_path / "nothing.json"))
    with pytest.raises(MissingInputError):
        list(read_exchanges(tmp_path))


def test_an_array_of_something_else_names_its_entry() -> None:
    (only,) = read(DEEP)
    assert isinstance(only, EntryError)
    assert only.entry == 0


def test_a_body_that_is_too_deep_for_a_recursive_reader_is_read() -> None:
    deep = b'{"model":"m","input":' + DEEP + b"}"
    items = exchanges(dumped(CHAT) + b"\n" + b'{"url":"","request":' + deep + b"}\n" + dumped(CHAT) + b"\n")
    assert items[1].request_body == deep
    assert {item.kind for item in items} == {ExchangeKind.MODEL}


@pytest.mark.parametrize(
    ("body", "url", "kind"),
    [
        ({"model": "m", "input": "x" * 20_000}, "", ExchangeKind.MODEL),
        ({"model": "m", "input": "x" * 20_000}, "https://a/v1/responses?x=1", ExchangeKind.MODEL),
        ({"model": "m", "input": "x" * 20_000}, "https://a/v1/embeddings", ExchangeKind.OTHER),
        ({"contents": [{"parts": [{"text": "x" * 20_000}]}]}, "", ExchangeKind.MODEL),
        ({"contents": [{"parts": [{"text": "x" * 20_000}]}]}, "https://a/cachedContents", ExchangeKind.OTHER),
        ({"contents": [{"text": "x" * 20_000}], "ttl": "60s"}, "", ExchangeKind.OTHER),
        ({"messages": "x" * 20_000, "seed": 1}, "https://a/model/m/converse", ExchangeKind.MODEL),
        ({"messages": "x" * 20_000}, "https://a/model/m/converse-stream", ExchangeKind.MODEL),
        ({"id": 1, "params": {"x": "x" * 20_000}, "jsonrpc": "2.0", "method": "m"}, "", ExchangeKind.MCP),
        ({"model": "x" * 20_000, "jsonrpc": "2.0", "method": "m"}, "", ExchangeKind.MCP),
    ],
)
def test_long_bodies_are_told_apart_like_short_ones(body: object, url: str, kind: ExchangeKind) -> None:
    (only,) = exchanges(dumped({"url": url, "request": body, "response": None}))
    assert only.kind is kind


@pytest.mark.parametrize(
    "path", ["models/g:generateContent", "models/g:streamGenerateContent", "model/m/converse"]
)
def test_a_damaged_body_that_went_to_a_model_counts_as_a_request(path: str) -> None:
    (only,) = exchanges(
        dumped({"url": f"https://a/{path}", "request_raw": '{"contents": [', "response": None})
    )
    assert only.kind is ExchangeKind.MODEL

"""Inputs are told apart by what stands in them; what is not recognised says what was seen."""

from __future__ import annotations

import io
import json

import pytest

from coldturn.traces import sniff as sniffing
from coldturn.traces.errors import NumbersOnlyError, UnrecognisedInputError
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.formats.model import Layout
from coldturn.traces.formats.table import FORMATS, format_of
from coldturn.traces.kinds import InputKind
from coldturn.traces.readers import read_exchanges, read_records
from coldturn.traces.sniff import sniff
from coldturn.traces.usage_record import UsageRecord
from fuzz.readers_examples import CHAT, CONVENTIONS, EXAMPLES, Example, har, har_entry, otlp, otlp_span


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.kind} {example.name}")
def test_the_kind_is_told_from_the_content(example: Example) -> None:
    stream = io.BytesIO(example.content)
    assert sniff(stream, "input") is example.kind
    assert stream.tell() == 0


def test_every_kind_has_one_format() -> None:
    assert sorted(one.kind for one in FORMATS) == sorted(InputKind)
    assert all(format_of(kind).kind is kind for kind in InputKind)


@pytest.mark.parametrize("layout", ["line", "lines", "laid out", "list"])
def test_what_is_not_recognised_names_its_keys_and_what_would_be(layout: str) -> None:
    value = {"timestamp": 1, "body": {"x": 1}}
    content = {
        "line": json.dumps(value),
        "lines": f"{json.dumps(value)}\n{json.dumps(value)}\n",
        "laid out": json.dumps(value, indent=2),
        "list": json.dumps([value]),
    }[layout]
    with pytest.raises(UnrecognisedInputError, match="timestamp, body") as caught:
        list(read_records(content.encode(), name="input"))
    for accepted in ("model", "messages", "input", "request", "--format"):
        assert accepted in str(caught.value)


def test_keys_that_do_not_fit_into_a_sentence_are_shortened() -> None:
    content = json.dumps({"a\nb": 1, "x" * 500: 2}).encode()
    with pytest.raises(UnrecognisedInputError) as caught:
        list(read_records(content, name="input"))
    assert "a·b" in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_format_that_is_said_goes_before_what_is_recognised() -> None:
    (only,) = read_records(json.dumps(CHAT).encode(), kind=InputKind.JSONL)
    assert isinstance(only, Exchange)
    with pytest.raises(UnrecognisedInputError):
        list(read_records(json.dumps(CHAT).encode(), kind=InputKind.CASSETTE_YAML))


def test_an_endless_first_line_is_read_in_pieces_where_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coldturn.traces.opening.MAX_LINE", 100_000)
    monkeypatch.setattr(sniffing, "MAX_LINE", 100_000)
    many = json.dumps(har(*[har_entry()] * 200)).encode()
    assert len(list(read_records(many))) == 200
    spans = json.dumps(otlp(*[otlp_span(CONVENTIONS, number=n) for n in range(200)])).encode()
    assert len(list(read_records(spans))) == 200


def test_numbers_beside_content_are_told_once() -> None:
    bare = {key: value for key, value in CONVENTIONS.items() if ".usage." in key or "operation" in key}
    bare |= {"gen_ai.request.model": "gpt-5.5", "gen_ai.usage.input_tokens": 77}
    spans = [otlp_span(bare, number=1), otlp_span(CONVENTIONS, number=2), otlp_span(bare, number=3)]
    content = json.dumps(otlp(*spans)).encode()
    assert [type(one) for one in read_records(content)] == [UsageRecord, Exchange, UsageRecord]
    first, last = read_exchanges(content)
    assert isinstance(first, Exchange)
    assert isinstance(last, EntryError)
    assert last.message.startswith("2 calls have numbers and no content")
    with pytest.raises(NumbersOnlyError):
        list(read_exchanges(json.dumps(otlp(spans[0], spans[2])).encode()))


@pytest.mark.parametrize(
    ("content", "seen", "way"),
    [
        (
            b"[2026-11-30 10:00:00] DEBUG anthropic: Request options: {}\n",
            "plain text",
            "coldturn record proxy",
        ),
        (b"[build-system]\nrequires = []\n", "plain text", "coldturn docs inputs"),
        (
            b"\x1b[92m10:00:00 - LiteLLM:DEBUG\x1b[0m: POST Request Sent\n",
            "plain text",
            "coldturn docs inputs",
        ),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "binary data", "coldturn docs inputs"),
        (b"SQLite format 3\x00\x10\x00", "an SQLite database", "opencode export"),
        (b"13835:9:websocket;0:~8:response;1983:", "flows of mitmproxy", "mitmdump -nr FILE"),
    ],
)
def test_what_people_have_and_is_not_read_is_told_a_way(content: bytes, seen: str, way: str) -> None:
    with pytest.raises(UnrecognisedInputError) as caught:
        list(read_records(content, name="input"))
    assert str(caught.value).startswith(f"input: not recognised: {seen}; ")
    assert way in str(caught.value)
    assert "a key such as" not in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"[1, 2]", b' [\n"a"]', b"[null]", b"[[]]", b"[-1.5e3, 2]", b"[true]", b"["]
)
def test_a_list_of_anything_is_a_list(content: bytes) -> None:
    assert sniffing.head_of(io.BytesIO(content), "input").layout is Layout.LIST


def test_another_programs_document_with_a_version_is_no_recording() -> None:
    content = json.dumps({"version": 2, "metadata": {"a": 1}, "samples": []}, indent=2).encode()
    with pytest.raises(UnrecognisedInputError, match="version, metadata, samples"):
        list(read_records(content, name="input"))

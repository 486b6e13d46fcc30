"""Inputs that are damaged, far too large, or cannot be read."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import yaml

from coldturn.analysis.breaks.explain import explain
from coldturn.traces import opening, sniff
from coldturn.traces.cassette import iter_cassette
from coldturn.traces.errors import (
    InputTooLargeError,
    MissingInputError,
    ReadFailedError,
    UnrecognisedInputError,
)
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.readers import read_exchanges

BODY = json.dumps({"model": "m", "input": "question"})
URLS = (
    "https://api.anthropic.com/v1/messages?beta=true",
    "https://api.openai.com/v1/chat/completions",
    "http://127.0.0.1:8000/v1/responses/",
)


def cassette(*entries: tuple[str, str]) -> bytes:
    interactions = [
        {
            "request": {"body": body, "headers": {}, "method": "POST", "uri": url},
            "response": {"status": {"code": 200}, "headers": {}, "body": {"string": "{}"}},
        }
        for url, body in entries
    ]
    return yaml.safe_dump({"interactions": interactions, "version": 1}).encode()


def jsonl(*entries: tuple[str, str]) -> bytes:
    return b"\n".join(
        json.dumps({"url": url, "request_raw": body, "response": None, "started": None}).encode()
        for url, body in entries
    )


@pytest.mark.parametrize("file", [cassette, jsonl])
@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("damaged", [BODY[:-9], "<html>", "null", "[1]"])
def test_a_damaged_body_to_a_model_is_an_error_of_its_entry(file: object, url: str, damaged: str) -> None:
    assert callable(file)
    content = file((URLS[2], BODY), (url, damaged))
    report = explain(read_exchanges(content, name="input"))
    assert [error.entry for error in report.errors] == [1]
    assert report.requests == 1


@pytest.mark.parametrize(
    ("url", "body"),
    [
        ("https://api.openai.com/v1/threads/t1/messages", "role=user"),
        ("https://api.example/v1/embeddings", "{"),
        ("https://api.anthropic.com/v1/messages", '{"role": "user", "text": "chat of another service"}'),
        ("https://api.anthropic.com/v1/messages", ""),
    ],
)
def test_what_was_sent_elsewhere_is_no_error(url: str, body: str) -> None:
    (only,) = read_exchanges(cassette((url, body)), name="input")
    assert isinstance(only, Exchange)
    assert only.kind is ExchangeKind.OTHER


def test_a_first_line_beyond_the_bound_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = 1_048_576
    monkeypatch.setattr(opening, "MAX_LINE", bound)
    monkeypatch.setattr(sniff, "MAX_LINE", bound)
    packed = tmp_path / "bomb.jsonl.gz"
    packed.write_bytes(gzip.compress(b'{"input": "' + b"a" * 80 * bound + b'"}\n'))
    read = 0
    unpack = gzip.GzipFile.read1

    def counted(file: gzip.GzipFile, size: int = -1) -> bytes:
        nonlocal read
        piece = unpack(file, size)
        read += len(piece)
        return piece

    monkeypatch.setattr(gzip.GzipFile, "read1", counted)
    with pytest.raises(InputTooLargeError):
        list(read_exchanges(packed))
    assert read <= 4 * bound


def test_a_later_line_beyond_the_bound_is_an_error_of_its_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MAX_LINE", 1000)
    lines = [BODY, json.dumps({"input": "a" * 5000}), BODY]
    read = list(read_exchanges("\n".join(lines).encode(), name="input"))
    assert [isinstance(item, EntryError) for item in read] == [False, True, False]


@pytest.mark.parametrize("started", [str(10**400), "1e18", "-1e300", "NaN", "-Infinity"])
def test_a_time_that_no_clock_shows_is_unknown(started: str) -> None:
    line = f'{{"request": {BODY}, "started": {started}}}'
    (only,) = read_exchanges(line.encode(), name="input")
    assert isinstance(only, Exchange)
    assert only.started is None


@pytest.mark.parametrize("name", ["x" * 5000, "nul\0byte"])
def test_an_impossible_name_is_a_missing_input(name: str) -> None:
    with pytest.raises(MissingInputError):
        list(read_exchanges(name))


def test_a_file_that_opens_and_cannot_be_read_is_told() -> None:
    with pytest.raises(ReadFailedError, match="input/output error"):
        list(read_exchanges(Path("/proc/self/mem")))


@pytest.mark.parametrize(
    ("content", "what"),
    [(BODY, "one request body"), (f"[{BODY}]", "a list of request bodies"), (f"{BODY}\n{BODY}", "JSONL")],
)
def test_requests_are_no_recording_to_play(tmp_path: Path, content: str, what: str) -> None:
    path = tmp_path / "requests.json"
    path.write_text(content)
    with pytest.raises(UnrecognisedInputError, match=what) as refused:
        list(iter_cassette(path))
    assert "--format" not in str(refused.value)


@pytest.mark.parametrize(
    ("item", "what"),
    [("null", "null"), ("1", "a number"), ('"x"', "a text"), ("[1]", "a list"), ("true", "a boolean")],
)
@pytest.mark.parametrize("file", ["[{body}, {item}]", "{body}\n{item}\n"])
def test_an_entry_that_is_no_object_says_what_it_is(item: str, what: str, file: str) -> None:
    content = file.replace("{body}", BODY).replace("{item}", item).encode()
    _, error = read_exchanges(content, name="input")
    assert isinstance(error, EntryError)
    assert f"it is {what}, not an object" in error.message


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("null", "it is null"),
        ("{request: !!python/name:os.system '', response: {}}", "which is never executed"),
    ],
)
def test_a_cassette_entry_that_is_none_says_what_it_is(entry: str, words: str) -> None:
    content = f"interactions:\n- {entry}\nversion: 1\n".encode()
    (error,) = read_exchanges(content, name="input")
    assert isinstance(error, EntryError)
    assert words in error.message


def test_times_that_are_none_are_told_once_with_their_number() -> None:
    lines = [f'{{"request": {BODY}, "started": {time}}}' for time in ("1.5", '"yesterday"', "true", "null")]
    report = explain(read_exchanges("\n".join(lines).encode(), name="input"))
    assert report.requests == 4
    assert [error.entry for error in report.errors] == [1]
    assert "the times of 2 entries" in report.errors[0].message


def test_bytes_that_are_no_utf_8_are_told_and_compared() -> None:
    odd = BODY.encode().replace(b"question", b"quest\xff\xfeion")
    report = explain(read_exchanges(odd + b"\n" + BODY.encode(), name="input"))
    assert report.requests == 2
    assert [error.entry for error in report.errors] == [0]
    assert "no UTF-8" in report.errors[0].message


def test_a_file_that_swells_beyond_any_recording_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MAX_SWOLLEN", 1_048_576)
    monkeypatch.setattr(opening, "MAX_RATIO", 50)
    line = BODY.encode() + b" " * 1000 + b"\n"
    with pytest.raises(InputTooLargeError, match="times its size"):
        list(read_exchanges(gzip.compress(line * 8000), name="input"))
    assert len(list(read_exchanges(gzip.compress(line * 500), name="input"))) == 500
    monkeypatch.setattr(opening, "MAX_RATIO", 1000)
    assert len(list(read_exchanges(gzip.compress(line * 8000), name="input"))) == 8000

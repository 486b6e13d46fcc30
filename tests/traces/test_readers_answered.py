"""When an answer began: from our own timing, and from JSONL."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.traces.exchange import Exchange
from coldturn.traces.readers import read_exchanges

BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def _cassette(timing: object) -> bytes:
    request = {
        "method": "POST",
        "uri": "https://a.example/v1/messages",
        "headers": {},
        "body": json.dumps(BODY),
    }
    response = {
        "status": {"code": 200, "message": "OK"},
        "headers": {},
        "body": {"string": "{}"},
        "x-coldturn": timing,
    }
    return json.dumps({"version": 1, "interactions": [{"request": request, "response": response}]}).encode()


def _only(content: bytes) -> Exchange:
    (only,) = read_exchanges(content)
    assert isinstance(only, Exchange)
    return only


@pytest.mark.parametrize(
    ("timing", "answered"),
    [
        ({"seq": 0, "start": 100.0, "end": 109.0, "chunks": [[1.5, 10], [9.0, 20]]}, 101.5),
        ({"seq": 0, "start": 100, "end": 109, "chunks": [[2, 10]]}, 102.0),
        ({"seq": 0, "start": 100.0, "end": 109.0, "chunks": []}, None),
        ({"seq": 0, "start": 100.0, "end": 109.0, "chunks": "soon"}, None),
        ({"seq": 0, "chunks": [[1.5, 10]]}, None),
        ({}, None),
        (7, None),
    ],
)
def test_the_first_chunk_of_our_own_timing(timing: Any, answered: float | None) -> None:  # noqa: ANN401 - any JSON
    assert _only(_cassette(timing)).answered == answered


@pytest.mark.parametrize(
    ("value", "answered"), [(12.5, 12.5), ("1970-01-01T00:00:09Z", 9.0), (None, None), ([], None)]
)
def test_answered_in_jsonl(value: object, answered: float | None) -> None:
    line = json.dumps({"url": "", "request": BODY, "response": None, "started": 1, "answered": value})
    assert _only(line.encode()).answered == answered

"""Usage figures of servers that report something else than counts."""

from __future__ import annotations

import json

import pytest

from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire import decode_reply


@pytest.mark.parametrize(
    ("reported", "total", "read"),
    [
        ({"input_tokens": 7, "input_tokens_details": {"cached_tokens": 0}}, 7, 0),
        ({"input_tokens": 7.0, "input_tokens_details": {"cached_tokens": 3.0}}, 7, 3),
        ({"input_tokens": "7", "input_tokens_details": {"cached_tokens": "3"}}, None, None),
        ({"input_tokens": True, "input_tokens_details": "none"}, None, None),
        ({}, None, None),
    ],
)
def test_only_whole_numbers_are_counts(reported: object, total: int | None, read: int | None) -> None:
    body = {"id": "r", "object": "response", "model": "m", "output": [], "usage": reported}
    usage = decode_reply(Surface.RESPONSES, json.dumps(body).encode()).usage
    assert usage is not None
    assert usage.input_tokens == total
    assert usage.cache_read_tokens == read

"""A JSON document is cut into the bytes that stood there, wherever the stream's chunks end."""

from __future__ import annotations

import io
import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldturn.traces import pieces as module
from coldturn.traces.pieces import Path, Piece, opening_members, pieces
from coldturn.traces.slices import NotJsonError

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
)


def cut(content: bytes, depth: int, *, hold: int = 1 << 20, strict: bool = True) -> list[Piece]:
    return list(pieces(io.BytesIO(content), lambda path: len(path) < depth, hold=hold, strict=strict))


def flattened(value: object, depth: int, path: Path = ()) -> list[tuple[Path, object]]:
    if len(path) < depth and isinstance(value, dict):
        return [found for key, inner in value.items() for found in flattened(inner, depth, (*path, key))]
    if len(path) < depth and isinstance(value, list):
        return [
            found for place, inner in enumerate(value) for found in flattened(inner, depth, (*path, place))
        ]
    return [(path, value)]


@given(value=DOCUMENTS, depth=st.integers(0, 3), indent=st.sampled_from([None, 1]), chunk=st.integers(1, 9))
def test_pieces_are_the_values_in_order(value: object, depth: int, indent: int | None, chunk: int) -> None:
    content = json.dumps(value, indent=indent).encode()
    whole = module._CHUNK
    module._CHUNK = chunk
    try:
        found = cut(content, depth)
    finally:
        module._CHUNK = whole
    assert [(one.path, json.loads(one.content)) for one in found] == flattened(value, depth)
    for one in found:
        assert content[one.offset : one.offset + one.length] == one.content


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"a": [1, 2', "cut off"),
        (b'{"a": "text', "cut off"),
        (b'{"a": 1} {"b": 2}', "more stands behind"),
        (b'{"a" 1}', ": is missing"),
        (b"{1: 2}", "a key is missing"),
        (b'{"a": 1; "b": 2}', ", or } is missing"),
        (b'{"a": ,}', "a value is missing"),
        (b"", "cut off"),
    ],
)
def test_damage_is_named_with_its_place(content: bytes, reason: str) -> None:
    with pytest.raises(NotJsonError, match=reason):
        cut(content, 1)


def test_numbers_keep_how_they_were_written() -> None:
    assert [one.content for one in cut(b'{"a":1.0, "b": 1e2 ,"c":"\\ud800"}', 1)] == [
        b"1.0",
        b"1e2",
        b'"\\ud800"',
    ]


def test_a_piece_beyond_the_bound_is_refused_or_cut() -> None:
    content = b'{"a":"' + b"x" * 5000 + b'","b":1}'
    with pytest.raises(NotJsonError, match="larger than"):
        cut(content, 1, hold=1000)
    first, second = cut(content, 1, hold=1000, strict=False)
    assert (len(first.content), first.length, first.cut) == (1000, 5002, True)
    assert (second.content, second.cut) == (b"1", False)


def test_opening_members_hold_what_stands_before_the_damage() -> None:
    found = opening_members(b'\xef\xbb\xbf{"log": {"version": "1.2", "entries": [1, 2', 100)
    assert found == {"log": b'{"version": "1.2", "entries": [1, 2'}
    assert opening_members(b'{"a": 1, "b"', 100) == {"a": b"1"}


def test_memory_does_not_follow_the_document() -> None:
    """Two documents, the second twenty times as long: what is held at most stays the same."""

    def most(count: int) -> int:
        content = io.BytesIO(b"[" + b",".join([b'{"text":"' + b"x" * 900 + b'"}'] * count) + b"]")
        tracemalloc.start()
        for _ in pieces(content, lambda path: not path):
            pass
        held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return held

    most(2000)
    assert most(40_000) < 1.5 * most(2000)

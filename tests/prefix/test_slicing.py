"""Slices are exact offsets into the bytes given, whatever the spelling."""

from __future__ import annotations

import json

import pytest

from coldturn.reference.prefix import slicing
from coldturn.reference.prefix.errors import UnreadableBodyError
from coldturn.reference.prefix.strings import Flag


def test_members_are_where_they_say() -> None:
    data = b' { "a\\u0062" : "\\u00e9\\"}" ,\n"c":[ 1.0 , {"d":"]"} ]\t} '
    found = slicing.members(data)
    assert [one.key for one in found.members] == ["ab", "c"]
    assert found.raw("ab") == b'"\\u00e9\\"}"'
    assert found.raw("c") == b'[ 1.0 , {"d":"]"} ]'
    assert data[found.members[0].start :].startswith(b'"a\\u0062"')
    assert found.text("ab") == 'é"}'
    assert found.text("c") is None
    assert found.text("absent") is None
    assert not found.flags


def test_a_part_of_the_data_is_sliced_at_positions_of_the_whole() -> None:
    data = b'{"a": {"b": 1}, "c": [2, 3]}'
    top = slicing.members(data)
    inner, listed = top.get("a"), top.get("c")
    assert inner is not None
    assert listed is not None
    assert slicing.members(data, inner.value, inner.end).raw("b") == b"1"
    spans, _ = slicing.items(data, listed.value, listed.end)
    assert [data[start:end] for start, end in spans] == [b"2", b"3"]


def test_number_lexemes_and_key_order_are_kept() -> None:
    assert slicing.compact(b'{ "b" : 1.0, "a" : 1E+5, "c": -0 }')[0] == b'{"b":1.0,"a":1E+5,"c":-0}'


def test_escapes_do_not_matter_to_content() -> None:
    assert slicing.compact(b'["\\u00e9\\/"]') == slicing.compact('["é/"]'.encode())


@pytest.mark.parametrize("data", [b"[]", b'"text"', b"1", b"null", b"", b"{", b'{"a":1}{"b":2}'])
def test_no_object_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableBodyError):
        slicing.members(data)


@pytest.mark.parametrize("data", [b"{}", b'"text"', b"1", b"null", b"", b"["])
def test_no_array_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableBodyError):
        slicing.items(data)


def test_what_msgspec_does_not_look_at_is_flagged_when_it_is_read() -> None:
    data = b'{"a": "\xff"}'
    found = slicing.members(data)
    assert not found.flags
    assert slicing.compact(found.raw("a") or b"")[1] == {Flag.INVALID_UTF8}


def test_a_large_body_is_sliced_exactly() -> None:
    value = {"items": [{"n": number, "text": "é\n" * number} for number in range(300)]}
    data = json.dumps(value, indent=2).encode()
    listed = slicing.members(data).get("items")
    assert listed
    spans, _ = slicing.items(data, listed.value, listed.end)
    assert [json.loads(data[start:end]) for start, end in spans] == value["items"]

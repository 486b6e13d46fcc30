"""The fallback scanner takes what msgspec refuses, and agrees with it wherever both read."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldturn.reference.prefix import scanner, slicing, strings
from coldturn.reference.prefix.errors import UnreadableBodyError
from coldturn.reference.prefix.strings import Flag

Style = dict[str, Any]

TEXT = st.text(st.sampled_from('ab é€😀"\\/\n\t\x01\x7f#<'), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)
STYLES = st.fixed_dictionaries(
    {
        "separators": st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t: ")]),
        "indent": st.sampled_from([None, 1]),
        "ensure_ascii": st.booleans(),
    }
)


@given(st.dictionaries(TEXT, VALUES, max_size=5), STYLES)
def test_members_agree_with_msgspec(value: object, style: Style) -> None:
    data = json.dumps(value, **style).encode()
    found = scanner.scan(data)
    raw = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    assert {one.key: data[one.value : one.end] for one in found.members} == {
        k: bytes(v) for k, v in raw.items()
    }
    assert found.flags == {Flag.FALLBACK_SCANNER}
    assert slicing.members(data).members == found.members


@given(st.lists(VALUES, max_size=5), STYLES)
def test_items_agree_with_msgspec(value: object, style: Style) -> None:
    data = json.dumps(value, **style).encode()
    found = scanner.scan(data)
    raw = msgspec.json.decode(data, type=list[msgspec.Raw])
    assert [data[start:end] for start, end in found.items] == [bytes(one) for one in raw]
    assert slicing.items(data)[0] == found.items


@given(VALUES, STYLES)
def test_compact_json_agrees_with_msgspec_and_with_the_standard_library(value: object, style: Style) -> None:
    data = json.dumps(value, **style).encode()
    expected = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    assert scanner.compact(data) == (expected, frozenset())
    assert slicing.compact(data) == (expected, frozenset())


@given(TEXT, st.booleans())
def test_strings_agree_with_msgspec(text: str, ascii_only: bool) -> None:
    token = json.dumps(text, ensure_ascii=ascii_only).encode()
    assert strings.decode_string(token) == (text.encode(), frozenset())
    assert slicing.decode_text(token) == (text.encode(), frozenset())


@given(st.binary(max_size=30) | st.text('{}[]",:\\u01 eE+-.tnfalsr', max_size=30).map(str.encode))
def test_what_msgspec_reads_the_scanner_reads_and_not_much_more(data: bytes) -> None:
    try:
        msgspec.json.decode(b"[" + data + b"]", type=list[msgspec.Raw])
        readable = True
    except (msgspec.DecodeError, UnicodeDecodeError):
        readable = False
    try:
        flags = scanner.scan(b"[" + data + b"]").flags
    except UnreadableBodyError:
        assert not readable
        return
    assert readable or flags - {Flag.FALLBACK_SCANNER}


@pytest.mark.parametrize(
    ("data", "flag"),
    [
        (b'{"a": "\\ud800"}', Flag.LONE_SURROGATE),
        (b'{"a": "\\ude00\\ud83d"}', Flag.LONE_SURROGATE),
        (b'{"a": "\xed\xa0\x80"}', Flag.LONE_SURROGATE),
        (b'{"a": [NaN]}', Flag.NAN),
        (b'{"a": {"b": -Infinity}}', Flag.NAN),
        (b'\xef\xbb\xbf{"a": 1}', Flag.BOM),
        (b'{"a": 1, "a": 2}', Flag.DUPLICATE_KEY),
        (b'{"a": {"b": 1, "\\u0062": 2}}', Flag.DUPLICATE_KEY),
        (b'{"a": "\xff"}', Flag.INVALID_UTF8),
    ],
)
def test_flags_say_what_was_met(data: bytes, flag: Flag) -> None:
    found = scanner.scan(data)
    assert found.flags == {Flag.FALLBACK_SCANNER, flag}
    assert found.members[-1].key == "a"


def test_the_last_of_duplicate_keys_counts() -> None:
    found = slicing.members(b'{"a": 1, "b": 2, "a": 3}')
    assert found.raw("a") == b"3"
    assert found.flags == {Flag.FALLBACK_SCANNER, Flag.DUPLICATE_KEY}


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_depth_does_not_matter(opening: bytes, closing: bytes) -> None:
    deep = opening * 5000 + b'"\\u00e9"' + closing * 5000
    data = b'{"deep": ' + deep + b"}"
    with pytest.raises(RecursionError):
        msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    assert slicing.members(data).raw("deep") == deep
    assert slicing.compact(deep)[0] == deep.replace(b"\\u00e9", "é".encode())


def test_lone_surrogates_are_kept_as_wtf8() -> None:
    assert strings.decode_string(b'"a\\ud800b"') == (b"a\xed\xa0\x80b", frozenset({Flag.LONE_SURROGATE}))
    assert strings.decode_string(b'"\\ud83d\\ude00"') == ("😀".encode(), frozenset())


@pytest.mark.parametrize(
    ("token", "minimal"),
    [
        (b'"\\u0041\\/\\u00e9"', '"A/é"'.encode()),
        (b'"\\u0022\\u005c\\u000a\\u0008"', b'"\\"\\\\\\n\\b"'),
        (b'"\\u0001\\u001F"', b'"\\u0001\\u001f"'),
        (b'"\\\\u0041"', b'"\\\\u0041"'),
        (b'"\\ud83d\\ude00"', '"😀"'.encode()),
    ],
)
def test_minimal_escapes(token: bytes, minimal: bytes) -> None:
    assert strings.minimal_string(token) == minimal


@pytest.mark.parametrize(
    ("data", "offset", "reason"),
    [
        (b'{"a": 1', 7, "ends inside"),
        (b'{"a": "x', 6, "string with no end"),
        (b'{"a": 1} x', 9, "behind the JSON value"),
        (b'{"a" 1}', 5, "unexpected"),
        (b'{"a": 1,}', 8, "unexpected"),
        (b"[1,]", 3, "unexpected"),
        (b"[1}", 2, "unexpected"),
        (b"{1: 2}", 1, "unexpected"),
        (b'{"a": nope}', 6, "no JSON value starts"),
        (b'{"a": 01}', 7, "unexpected"),
        (b'"a"', 0, "neither an object nor an array"),
        (b"", 0, "ends inside"),
    ],
)
def test_refusals_name_the_place(data: bytes, offset: int, reason: str) -> None:
    with pytest.raises(UnreadableBodyError, match=reason) as refused:
        scanner.scan(data)
    assert refused.value.offset == offset
    assert f"at byte {offset}" in str(refused.value)

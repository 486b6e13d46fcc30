"""Ways to damage the bytes of an input: cut, repeat, swap, replace by what parsers trip over."""

from __future__ import annotations

from hypothesis import strategies as st

TRAPS = (
    b"",
    b"null",
    b"-1",
    b"1e999",
    b"NaN",
    b"9" * 5000,
    b'"\\ud800"',
    b"\xff\xfe",
    b"[" * 3000,
    b'{"a":' * 3000,
    b"{}",
    b"[]",
    b'""',
    b"true",
    b"\x00",
    b"\n",
    b"\\",
    b'"',
)
"""What takes the place of a piece; the deep ones are never closed."""

_JSON_MARKS = b'{}[],:"\n'


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """`content` with one to four changes, most of them at the marks of JSON's structure."""
    marks = [place for place, byte in enumerate(content) if byte in _JSON_MARKS] or [0]
    places = st.one_of(st.sampled_from(marks), st.integers(0, len(content)))
    for _ in range(draw(st.integers(1, 4))):
        start, end = sorted((draw(places), draw(places)))
        match draw(st.sampled_from(("replace", "replace", "cut", "repeat", "value"))):
            case "cut":
                content = content[:start]
            case "repeat":
                content = content[:end] + content[start:end] + content[end:]
            case "value":
                content = _value_replaced(content, start, draw(st.sampled_from(TRAPS)))
            case _:
                content = content[:start] + draw(st.sampled_from(TRAPS)) + content[end:]
    return content


def _value_replaced(content: bytes, start: int, trap: bytes) -> bytes:
    """The value behind the next colon, up to the next mark, is another."""
    colon = content.find(b":", start)
    if colon < 0:
        return content
    ends = (place for place in range(colon + 1, len(content)) if content[place] in b",}]\n")
    return content[: colon + 1] + trap + content[next(ends, len(content)) :]

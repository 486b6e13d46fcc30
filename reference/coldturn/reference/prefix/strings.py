"""JSON strings as bytes: decoded to UTF-8, lone surrogates kept, or spelled with the fewest escapes."""

from __future__ import annotations

import re
from enum import StrEnum


class Flag(StrEnum):
    """What a body holds that strict JSON readers refuse or hide."""

    FALLBACK_SCANNER = "fallback_scanner"
    LONE_SURROGATE = "lone_surrogate"
    DUPLICATE_KEY = "duplicate_key"
    NAN = "nan"
    BOM = "bom"
    INVALID_UTF8 = "invalid_utf8"


ESCAPE = re.compile(
    rb"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))"
)
_ENCODED_SURROGATE = re.compile(rb"\xed[\xa0-\xbf]")
_PLAIN = {
    b'"': b'"',
    b"\\": b"\\",
    b"/": b"/",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
}
_MINIMAL = {value: b"\\" + key for key, value in _PLAIN.items() if key != b"/"}


def decode_string(token: bytes) -> tuple[bytes, frozenset[Flag]]:
    """Decode a quoted JSON string to UTF-8; a lone surrogate becomes its three bytes (WTF-8)."""
    inner = token[1:-1]
    text = ESCAPE.sub(character, inner) if b"\\" in inner else inner
    return text, utf8_flags(text)


def minimal_string(token: bytes) -> bytes:
    """A quoted JSON string with the fewest escapes that JSON allows."""
    return ESCAPE.sub(minimal, token) if b"\\" in token else token


def string_flags(token: bytes) -> frozenset[Flag]:
    """What is odd about a quoted JSON string."""
    return decode_string(token)[1]


def utf8_flags(text: bytes) -> frozenset[Flag]:
    """Whether bytes are UTF-8, WTF-8 (surrogates) or neither."""
    if text.isascii():
        return frozenset()
    try:
        text.decode()
    except UnicodeDecodeError:
        pass
    else:
        return frozenset()
    flags = {Flag.LONE_SURROGATE} if _ENCODED_SURROGATE.search(text) else set()
    try:
        text.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        flags.add(Flag.INVALID_UTF8)
    return frozenset(flags)


def without_lone_surrogates(text: bytes) -> bytes:
    """JSON that strict parsers take: lone surrogates, and bytes that are no UTF-8, become U+FFFD."""
    whole = text.decode("utf-8", "replace").encode()
    return ESCAPE.sub(_replaced, whole) if b"\\u" in whole else whole


def _replaced(match: re.Match[bytes]) -> bytes:
    single = match[3]
    return b"\\ufffd" if single is not None and 0xD800 <= int(single, 16) <= 0xDFFF else match[0]


def character(match: re.Match[bytes]) -> bytes:
    """What an escape found by `ESCAPE` stands for, in UTF-8."""
    high, low, single, plain = match.groups()
    if plain is not None:
        return _PLAIN[plain]
    if high is not None:
        code = 0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00)
    else:
        code = int(single, 16)
    return chr(code).encode("utf-8", "surrogatepass")


def minimal(match: re.Match[bytes]) -> bytes:
    """An escape found by `ESCAPE` in its shortest form: the character itself where JSON allows it."""
    text = character(match)
    if text in _MINIMAL:
        return _MINIMAL[text]
    if len(text) == 1 and text < b" ":
        return b"\\u%04x" % text[0]
    return text

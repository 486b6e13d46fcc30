"""Slices of JSON bytes: msgspec finds where values end, our scanner takes what msgspec refuses.

Nothing is turned into Python values except short strings: a slice is a pair of offsets into the bytes given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from coldturn.reference.prefix import scanner, strings
from coldturn.reference.prefix.errors import UnreadableBodyError
from coldturn.reference.prefix.scanner import Member
from coldturn.reference.prefix.strings import Flag

NO_FLAGS: frozenset[Flag] = frozenset()
REFUSED = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)

_QUOTE, _COMMA, _SPACE = b'", '
_SHORT = 96

_decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode
_KEY = re.compile(rb'[ \t\n\r]*+[{,]?[ \t\n\r]*+("[^"\\]*+(?:\\.[^"\\]*+)*+")[ \t\n\r]*+:[ \t\n\r]*+')
_NEXT = re.compile(rb"[ \t\n\r]*+[\[,]?[ \t\n\r]*+")
_NEEDS_REWRITE = re.compile(rb"\\[u/]")


@dataclass(frozen=True, slots=True)
class Members:
    """A sliced object: `data` and the members found in it, in sent order, at positions of `data`.

    Where a key stands twice both are listed and the last counts.
    """

    data: bytes
    members: tuple[Member, ...]
    flags: frozenset[Flag]
    by_key: Mapping[str, Member]

    def get(self, key: str) -> Member | None:
        """The member of that name, or None."""
        return self.by_key.get(key)

    def raw(self, key: str) -> bytes | None:
        """The bytes of a member's value, or None."""
        member = self.get(key)
        return None if member is None else self.data[member.value : member.end]

    def text(self, key: str) -> str | None:
        """A member's string for display; None when it is absent or no string."""
        member = self.by_key.get(key)
        if member is None or self.data[member.value] != _QUOTE:
            return None
        return decode_text(self.data[member.value : member.end])[0].decode("utf-8", "replace")


def members(data: bytes, start: int = 0, end: int | None = None) -> Members:
    """Slice the object that `data` holds between `start` and `end` at its first level.

    Raises:
        UnreadableBodyError: when no JSON object stands there.
    """
    part = data if not start and end is None else data[start:end]
    try:
        found = _decode_members(part)
    except REFUSED:
        walked = None
    else:
        walked = _walk(part, found)
    flags = NO_FLAGS
    if walked is None:
        scanned = scanner.scan(part)
        if scanned.opener != "{":
            raise UnreadableBodyError("it is no JSON object")
        walked, flags = scanned.members, scanned.flags
    if start:
        walked = tuple(Member(m.key, m.start + start, m.value + start, m.end + start) for m in walked)
    return Members(data, walked, flags, {member.key: member for member in walked})


def _walk(data: bytes, found: dict[str, msgspec.Raw]) -> tuple[Member, ...] | None:
    """Where each value stands; None when the object hides something (duplicate keys)."""
    position = 0
    walked: list[Member] = []
    for key, raw in found.items():
        match = _KEY.match(data, position)
        if match is None:
            return None
        start, end = match.span(1)
        name, token = key.encode(), data[start:end]
        if token[1:-1] != name and decode_text(token)[0] != name:
            return None
        value = match.end()
        position = value + memoryview(raw).nbytes
        walked.append(Member(key, start, value, position))
    closed = data[position:].strip(b" \t\n\r") == b"}" if walked else True
    return tuple(walked) if closed else None


def items(
    data: bytes, start: int = 0, end: int | None = None
) -> tuple[tuple[tuple[int, int], ...], frozenset[Flag]]:
    """Slice the array that `data` holds between `start` and `end`: the span of each value in `data`.

    Raises:
        UnreadableBodyError: when no JSON array stands there.
    """
    part = data if not start and end is None else data[start:end]
    try:
        found = _decode_items(part)
    except REFUSED:
        scanned = scanner.scan(part)
        if scanned.opener != "[":
            raise UnreadableBodyError("it is no JSON array") from None
        return tuple((a + start, b + start) for a, b in scanned.items), scanned.flags
    spans = []
    position = 0
    for size in [memoryview(raw).nbytes for raw in found]:
        if position and part[position] == _COMMA and part[position + 1] > _SPACE:
            begin = position + 1
        else:
            match = _NEXT.match(part, position)
            begin = position if match is None else match.end()
        position = begin + size
        spans.append((begin + start, position + start))
    return tuple(spans), NO_FLAGS


def decode_text(token: bytes) -> tuple[bytes, frozenset[Flag]]:
    """Decode a quoted JSON string to UTF-8 (WTF-8 where it holds lone surrogates)."""
    if b"\\" in token:
        try:
            return _decode_text(token).encode(), NO_FLAGS
        except REFUSED:
            return strings.decode_string(token)
    return token[1:-1], strings.utf8_flags(token)


def compact(data: bytes) -> tuple[bytes, frozenset[Flag]]:
    """Compact JSON: sent key order, number lexemes kept, minimal escapes.

    Raises:
        UnreadableBodyError: when the data are no JSON.
    """
    return _compact_short(data) if len(data) <= _SHORT else _compact(data)


def _compact(data: bytes) -> tuple[bytes, frozenset[Flag]]:
    try:
        text = msgspec.json.format(data, indent=-1)
    except REFUSED:
        return scanner.compact(data)
    if _NEEDS_REWRITE.search(text):
        text = strings.minimal_string(text)
    return text, strings.utf8_flags(text)


_compact_short = lru_cache(maxsize=1024)(_compact)

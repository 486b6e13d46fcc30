"""A JSON scanner of ours for what msgspec refuses: slower, never recursive, and it says what it met.

It takes RFC 8259 and besides: a byte order mark, ``NaN`` and ``Infinity``, escapes of lone surrogates, bytes
that are no UTF-8, duplicate keys (the last one counts) and any depth. Positions are bytes of the data given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from coldturn.reference.prefix.errors import UnreadableBodyError
from coldturn.reference.prefix.strings import Flag, decode_string, minimal_string, string_flags, utf8_flags

BOM = b"\xef\xbb\xbf"


class Member(NamedTuple):
    """One key of an object with its value; `start` is where its quoted key begins."""

    key: str
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class Scanned:
    """The members of an object, or the value spans of an array, with what was met anywhere inside.

    A key that stands twice is listed twice. `opener` is ``{`` or ``[``.
    """

    opener: str
    members: tuple[Member, ...]
    items: tuple[tuple[int, int], ...]
    flags: frozenset[Flag]


_TOKEN = re.compile(
    rb"""[ \t\n\r]*+(?:
      (?P<punct>[{}\[\],:])
    | (?P<string>"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+")
    | (?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)
    | (?P<word>true|false|null)
    | (?P<odd>NaN|-?Infinity)
    )""",
    re.VERBOSE,
)
_SPACE = re.compile(rb"[ \t\n\r]*+")


@dataclass(frozen=True, slots=True)
class Token:
    """A lexeme: `kind` is its punctuation character, ``string``, ``number``, ``word`` or ``odd``."""

    kind: str
    start: int
    end: int


def tokens(data: bytes, start: int = 0) -> Iterator[Token]:
    """Yield the lexemes of one JSON value and check their grammar on the way.

    Raises:
        UnreadableBodyError: where the data stops being a JSON value, or goes on behind it.
    """
    grammar = _Grammar()
    position = start
    while not grammar.done:
        match = _TOKEN.match(data, position)
        if match is None:
            raise _refusal(data, position)
        group = str(match.lastgroup)
        begin, position = match.span(group)
        kind = chr(data[begin]) if group == "punct" else group
        if not grammar.accept(kind):
            raise UnreadableBodyError(
                f"unexpected {data[begin:position][:20].decode('utf-8', 'replace')!r}", offset=begin
            )
        yield Token(kind, begin, position)
    rest = _end_of_space(data, position)
    if rest != len(data):
        raise UnreadableBodyError("something stands behind the JSON value", offset=rest)


class _Grammar:
    """The push-down part of JSON: which kind of token may come next."""

    __slots__ = ("_expect", "_stack", "done")

    def __init__(self) -> None:
        self._stack: list[str] = []
        self._expect = "value"
        self.done = False

    def accept(self, kind: str) -> bool:
        """Take a token; False when it cannot stand here."""
        expect = self._expect
        if expect in {"value", "value_or_end"}:
            if kind == "]":
                return expect == "value_or_end" and self._close("[")
            return self._value(kind)
        if expect in {"key", "key_or_end"}:
            if kind == "}":
                return expect == "key_or_end" and self._close("{")
            self._expect = "colon"
            return kind == "string"
        if expect == "colon":
            self._expect = "value"
            return kind == ":"
        return self._behind_value(kind)

    def _value(self, kind: str) -> bool:
        if kind in "{[":
            self._stack.append(kind)
            self._expect = "key_or_end" if kind == "{" else "value_or_end"
            return True
        if len(kind) == 1:
            return False
        self._settle()
        return True

    def _behind_value(self, kind: str) -> bool:
        if kind == ",":
            self._expect = "key" if self._stack[-1] == "{" else "value"
            return True
        return kind in {"]", "}"} and self._close("[" if kind == "]" else "{")

    def _close(self, opener: str) -> bool:
        if self._stack[-1] != opener:
            return False
        self._stack.pop()
        self._settle()
        return True

    def _settle(self) -> None:
        self._expect = "behind"
        self.done = not self._stack


def _end_of_space(data: bytes, position: int) -> int:
    match = _SPACE.match(data, position)
    return position if match is None else match.end()


def _refusal(data: bytes, position: int) -> UnreadableBodyError:
    at = _end_of_space(data, position)
    if at >= len(data):
        return UnreadableBodyError("it ends inside a JSON value", offset=at)
    if data[at : at + 1] == b'"':
        return UnreadableBodyError(
            "a string with no end, or with a raw control character or a bad escape", offset=at
        )
    return UnreadableBodyError(f"no JSON value starts with {chr(data[at])!r}", offset=at)


def scan(data: bytes) -> Scanned:
    """Slice one object or array at its first level and collect flags from all levels.

    Raises:
        UnreadableBodyError: when the data are no JSON, or neither object nor array.
    """
    start = len(BOM) if data.startswith(BOM) else 0
    reader = _Reader(data)
    for token in tokens(data, start):
        reader.take(token)
    if reader.opener not in {"{", "["}:
        raise UnreadableBodyError("it is neither an object nor an array", offset=start)
    flags = {Flag.FALLBACK_SCANNER, *reader.flags, *([Flag.BOM] if start else [])}
    return Scanned(reader.opener, tuple(reader.members), tuple(reader.items), frozenset(flags))


class _Reader:
    """Collects first-level members or items from a stream of tokens, and flags from all of it."""

    __slots__ = ("_data", "_keys", "_levels", "_member", "_start", "flags", "items", "members", "opener")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._levels: list[str] = []
        self._keys: list[set[str]] = []
        self._member: tuple[str, int] | None = None
        self._start: int | None = None
        self.opener = ""
        self.flags: set[Flag] = set()
        self.members: list[Member] = []
        self.items: list[tuple[int, int]] = []

    def take(self, token: Token) -> None:
        """Take the next token of a checked stream."""
        kind = token.kind
        if kind in {"]", "}"}:
            self._levels.pop()
            self._keys.pop()
            self._ended(token)
            return
        if kind in {",", ":"}:
            return
        if kind == "string" and self._levels and self._levels[-1] == "{":
            self._levels[-1] = "{:"
            self._key(token)
            return
        self.opener = self.opener or kind
        self._value(token)

    def _key(self, token: Token) -> None:
        text, flags = decode_string(self._data[token.start : token.end])
        self.flags |= flags
        key = text.decode("utf-8", "surrogatepass" if Flag.INVALID_UTF8 not in flags else "replace")
        if key in self._keys[-1]:
            self.flags.add(Flag.DUPLICATE_KEY)
        self._keys[-1].add(key)
        if len(self._levels) == 1:
            self._member = (key, token.start)

    def _value(self, token: Token) -> None:
        if len(self._levels) == 1:
            self._start = token.start
        if token.kind in {"{", "["}:
            self._levels.append(token.kind)
            self._keys.append(set())
            return
        if token.kind == "odd":
            self.flags.add(Flag.NAN)
        if token.kind == "string":
            self.flags |= string_flags(self._data[token.start : token.end])
        self._ended(token)

    def _ended(self, token: Token) -> None:
        if not self._levels:
            return
        if self._levels[-1] == "{:":
            self._levels[-1] = "{"
        if len(self._levels) != 1 or self._start is None:
            return
        if self._member is None:
            self.items.append((self._start, token.end))
        else:
            self.members.append(Member(*self._member, self._start, token.end))
        self._start = self._member = None


def compact(data: bytes) -> tuple[bytes, frozenset[Flag]]:
    """One JSON value without white space, with minimal escapes; key order and number lexemes as they are."""
    pieces = []
    odd = False
    for token in tokens(data):
        piece = data[token.start : token.end]
        pieces.append(minimal_string(piece) if token.kind == "string" else piece)
        odd |= token.kind == "odd"
    text = b"".join(pieces)
    flags = utf8_flags(text)
    return text, (flags | {Flag.NAN} if odd else flags)

"""Secrets in text: what looks like the key of a well-known service, or stands under a credential's name."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import re2

from coldturn.reference.prefix.key_shapes import BEFORE, KEY_SHAPES, KeyShape
from coldturn.reference.prefix.shown_shapes import HARMLESS, KEY_END, NAMED, SHOWN_SHAPES

_HAS_DIGIT = re.compile(rb"[0-9]")
_NEXT_PARAMETER = re.compile(rb"&[A-Za-z_][\w.\-]*=")
_QUOTED_VALUE = re.compile(rb"[:=>]\s*\\*[\"'`]\Z")
_KEY_END_SIGN = b" PRIVATE KEY"
_WORD = 256
_WORD_SIGNS = (string.ascii_letters + string.digits + "_-+/.~%").encode()
_PART = 8
"""Bytes of a secret by which it is found again in the text of the other request."""


def keys_in(data: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of everything in `data` that looks like a key."""
    return _recorded().found_in(data)


def blotted(data: bytes) -> str:
    """`data` to be shown: of secrets as many asterisks as they have characters."""
    return _Marked(data, secrets_in(data)).shown(0, len(data))


def blotted_text(text: str) -> str:
    """The same of a text."""
    data = text.encode("utf-8", "surrogatepass")
    found = secrets_in(data)
    return _Marked(data, found).shown(0, len(data)) if found else text


def blotted_sides(front: bytes, was: bytes, now: bytes) -> tuple[str, str, str]:
    """Two texts with the text in front of both, to be shown.

    What is a secret on one side is hidden on the other one too, wherever `_PART` bytes of it stand: a change
    may have made it look like something else, or taken its name away.
    """
    old, new = (_Marked(front + text, secrets_in(front + text)) for text in (was, now))
    if not old.spans and not new.spans:
        return _text(front), _text(was), _text(now)
    gone, came = old.secrets() - new.secrets(), new.secrets() - old.secrets()
    old, new = old.with_parts_of(came), new.with_parts_of(gone)
    size = len(front)
    both = _Marked(front, [*old.spans, *new.spans])
    return both.shown(0, size), old.shown(size, size + len(was)), new.shown(size, size + len(now))


def secrets_in(data: bytes) -> list[tuple[int, int]]:
    """Start and end of every secret in `data` that is to be shown; they may overlap."""
    found = [(start, end) for _, start, end in _shown().found_in(data)]
    found += _names().found_in(data)
    if _KEY_END_SIGN in data:
        found += [match.span(1) for match in _names().key_end.finditer(data)]
    return found


@dataclass(frozen=True, slots=True)
class _Shapes:
    """Shapes in one expression, and the number of each one's group."""

    pattern: Any
    numbered: Sequence[tuple[int, KeyShape]]

    @classmethod
    def of(cls, shapes: Sequence[KeyShape]) -> _Shapes:
        numbered: list[tuple[int, KeyShape]] = []
        alternatives: list[str] = []
        number = 1
        for shape in shapes:
            numbered.append((number, shape))
            alternatives.append("(" + shape.pattern.replace("(?P<key>", "(") + ")")
            number += 2 if "(?P<key>" in shape.pattern else 1
        return cls(re2.compile((BEFORE + "(?:" + "|".join(alternatives) + ")").encode()), numbered)

    def found_in(self, data: bytes) -> Iterator[tuple[str, int, int]]:
        for match in self.pattern.finditer(data):
            for number, shape in self.numbered:
                if match.group(number) is None:
                    continue
                inner = number + 1 if "(?P<key>" in shape.pattern else number
                start, end = match.span(inner)
                if not shape.mixed or _HAS_DIGIT.search(data, start, end):
                    yield shape.name, start, end
                break


@dataclass(frozen=True, slots=True)
class _Names:
    """Names with values, values that are none, and the end of a private key."""

    pattern: Any
    harmless: Any
    key_end: Any

    def found_in(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Values behind names. What is no value may itself be a name: the search goes on at its start."""
        at = 0
        while (match := self.pattern.search(data, at)) is not None:
            start, end = match.span(match.lastindex)
            if (more := _NEXT_PARAMETER.search(data, start, end)) is not None:
                end = more.start()
            quoted = _QUOTED_VALUE.search(data, max(start - 16, 0), start) is not None
            certain = quoted and match.group(2) is None
            if not certain and self.harmless.fullmatch(data[start:end]):
                at = start
                continue
            yield start, end
            at = end


@dataclass(frozen=True, slots=True)
class _Marked:
    """Text and the secrets in it."""

    data: bytes
    spans: Sequence[tuple[int, int]]

    def secrets(self) -> set[bytes]:
        return {self.data[start:end] for start, end in self.spans}

    def with_parts_of(self, secrets: Iterable[bytes]) -> _Marked:
        """The same text with more secrets: where parts of others stand."""
        parts = {one[at : at + _PART] for one in secrets for at in range(len(one) - _PART + 1)}
        if not parts:
            return self
        data = self.data
        places = (at for at in range(len(data) - _PART + 1) if data[at : at + _PART] in parts)
        found = _joined((at, at + _PART) for at in places)
        return _Marked(data, [*self.spans, *(self._word(start, end) for start, end in found)])

    def _word(self, start: int, end: int) -> tuple[int, int]:
        """The word around a part: what a change made of the rest of the secret."""
        front, behind = self.data[max(start - _WORD, 0) : start], self.data[end : end + _WORD]
        rest = len(behind) - len(behind.lstrip(_WORD_SIGNS))
        return start - len(front) + len(front.rstrip(_WORD_SIGNS)), end + rest

    def shown(self, begin: int, end: int) -> str:
        """What is shown of the bytes from `begin` to `end`."""
        shown: list[str] = []
        at = begin
        for span in _joined(self.spans):
            start, stop = max(span[0], at), min(span[1], end)
            if start < stop:
                shown += (_text(self.data[at:start]), "*" * len(_text(self.data[start:stop])))
                at = stop
        return "".join((*shown, _text(self.data[at:end])))


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order; those that overlap or touch are one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _text(data: bytes) -> str:
    return str(data, "utf-8", "replace")


@cache
def _recorded() -> _Shapes:
    return _Shapes.of(KEY_SHAPES)


@cache
def _shown() -> _Shapes:
    return _Shapes.of(KEY_SHAPES + SHOWN_SHAPES)


@cache
def _names() -> _Names:
    key_end = KEY_END.replace("(?P<key>", "(")
    return _Names(*(re2.compile(one.encode()) for one in (NAMED, HARMLESS, key_end)))

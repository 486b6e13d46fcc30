"""Secrets in text: what looks like the key of a well-known service, or stands under a credential's name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import re2

from coldturn.reference.prefix.key_shapes import BEFORE, KEY_SHAPES, KeyShape

_HAS_DIGIT = re.compile(rb"[0-9]")
_BLOT = b"*"
_NAMED = (
    r"(?i)\\*[\"'](?:(?:proxy-)?authorization|authorization_token|x-api-key|api[-_]?key|x-goog-api-key"
    r"|x-auth-token|(?:access|refresh|auth)_token|client_secret|password)\\*[\"']\s*:\s*\\*[\"']"
    r"([^\"'\\]{8,})"
)
"""A member whose name says that its value is a credential."""


def keys_in(data: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of everything in `data` that looks like a key."""
    pattern, shapes, _ = _pattern()
    for match in pattern.finditer(data):
        for number, shape in shapes:
            if match.group(number) is None:
                continue
            inner = number + 1 if "(?P<key>" in shape.pattern else number
            start, end = match.span(inner)
            if not shape.mixed or _HAS_DIGIT.search(data, start, end):
                yield shape.name, start, end
            break


def blotted(data: bytes) -> bytes:
    """`data` to be shown: keys, and what members named like credentials hold, are asterisks, as many."""
    found = [(start, end) for _, start, end in keys_in(data)]
    found += [match.span(1) for match in _pattern()[2].finditer(data)]
    if not found:
        return data
    shown = bytearray(data)
    for start, end in found:
        shown[start:end] = _BLOT * (end - start)
    return bytes(shown)


def blotted_text(text: str) -> str:
    """The same of a text."""
    return blotted(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


@cache
def _pattern() -> tuple[Any, tuple[tuple[int, KeyShape], ...], Any]:
    """All shapes in one expression, the number of each one's group, and members named like credentials."""
    numbered: list[tuple[int, KeyShape]] = []
    alternatives: list[str] = []
    number = 1
    for shape in KEY_SHAPES:
        numbered.append((number, shape))
        alternatives.append("(" + shape.pattern.replace("(?P<key>", "(") + ")")
        number += 2 if "(?P<key>" in shape.pattern else 1
    shapes = re2.compile((BEFORE + "(?:" + "|".join(alternatives) + ")").encode())
    return shapes, tuple(numbered), re2.compile(_NAMED.encode())

"""Recordings whose JSON holds, somewhere, a value of another shape than is written there."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any, TypeAlias

from hypothesis import strategies as st

Json: TypeAlias = Any
Path: TypeAlias = tuple[str | int, ...]

_DEEP = {"@lists@": b"[" * 5000 + b"]" * 5000, "@objects@": b'{"a":' * 700 + b"1" + b"}" * 700}
_SURROGATE = "\ud800"
TRAPS = ("lists", "objects", "surrogate", "surrogate key", "member", "element", "by place", "null", "text")
"""Deep values, what no UTF-8 has, a container around the value, an object for a list, and plain others."""


def read_json(content: bytes) -> list[Json] | None:
    """The documents that the lines of an input are, or its only one; None for what is no JSON."""
    for texts in ([content], content.splitlines()):
        try:
            return [json.loads(one) for one in texts]
        except ValueError:
            continue
    return None


def places(value: Json, path: Path = ()) -> Iterator[Path]:
    """The way to each value inside."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*path, key)
        yield from places(one, (*path, key))


def reshaped(documents: list[Json], path: Path, trap: str, *, escaped: bool = True) -> bytes:
    """The documents as lines, with another value at a place; a text that holds JSON is replaced by JSON too.

    Args:
        documents: What `read_json` gave.
        path: The place; its first step is the document.
        trap: One of `TRAPS`.
        escaped: Whether what no UTF-8 has is written as an escape; else as three bytes.
    """
    found = copy.deepcopy(documents)
    holder: Json = found
    for step in path[:-1]:
        holder = holder[step]
    old = holder[path[-1]]
    new = _replaced(old, trap)
    is_json = isinstance(old, str) and old[:1] in ("{", "[") and trap != "text"
    holder[path[-1]] = _filled(json.dumps(new)) if is_json else new
    lines = [json.dumps(one, ensure_ascii=escaped) for one in found]
    return "\n".join(_filled(one) for one in lines).encode("utf-8", "surrogatepass")


def _replaced(old: Json, trap: str) -> Json:
    listed = old if isinstance(old, list) else [old]
    values = {
        "surrogate": f"{old if isinstance(old, str) else ''}{_SURROGATE}",
        "surrogate key": {_SURROGATE: old},
        "member": {"a": old},
        "element": [old],
        "by place": {f"k{place}": one for place, one in enumerate(listed)},
        "null": None,
        "text": "x",
    }
    return values.get(trap, f"@{trap}@")


def _filled(text: str) -> str:
    for sign, value in _DEEP.items():
        text = text.replace(f'"{sign}"', value.decode())
    return text


@st.composite
def shapes(draw: st.DrawFn, content: bytes) -> bytes:
    """An input with one value of another shape; what is no JSON stays as it is."""
    documents = read_json(content)
    found = [] if documents is None else list(places(documents))
    if documents is None or not found:
        return content
    path, trap = draw(st.sampled_from(found)), draw(st.sampled_from(TRAPS))
    return reshaped(documents, path, trap, escaped=draw(st.booleans()))

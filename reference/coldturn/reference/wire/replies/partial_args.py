"""Arguments of a function call that Vertex streams leaf by leaf, joined to one JSON object.

Each part names a leaf by a JSON Path (RFC 9535, singular queries only) and carries its value or the next
piece of its text. Keys keep the order in which they came, numbers their lexemes. Source: the messages
FunctionCall and PartialArg of Vertex's API (google.cloud.aiplatform.v1), read 2026-11-30.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TypeAlias

import msgspec

_STEP = re.compile(
    r"""\.(?P<name>[^.\[\]\s'"]+)|\[(?P<index>0|[1-9][0-9]{0,5})\]"""
    r"""|\['(?P<single>(?:[^'\\]|\\.)*)'\]|\["(?P<double>(?:[^"\\]|\\.)*)"\]"""
)
_MOST_DEEP = 100
_DIGITS = frozenset({b"-", *(b"%d" % digit for digit in range(10))})
_TRUTHS = frozenset({b"true", b"false"})
_Step: TypeAlias = str | int


class UnjoinableError(ValueError):
    """Parts that do not make up one value."""


class _Pieces:
    """A text in pieces."""

    __slots__ = ("pieces",)

    def __init__(self, first: str) -> None:
        self.pieces = [first]


_Node: TypeAlias = "dict[str, _Node] | list[_Node] | _Pieces | bytes"


class Arguments:
    """The arguments of one call so far."""

    def __init__(self) -> None:
        self._root: dict[str, _Node] = {}

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._root)

    def add(self, part: Mapping[str, msgspec.Raw]) -> None:
        """Take the next part; one without a value only says that some is to come.

        Args:
            part: The members of a PartialArg, in either of the spellings that Google's software writes.

        Raises:
            UnjoinableError: Its path is no singular JSON Path below the root, it holds no single value, or it
                does not fit what came before.
        """
        path = _text(part, "jsonPath", "json_path")
        steps = tuple(_steps(path or ""))
        value = _value(part, path or "")
        if value is None:
            return
        holder = self._holder(steps, path or "")
        known = _at(holder, steps[-1])
        if known is None:
            _put(holder, steps[-1], value if isinstance(value, bytes) else _Pieces(value), path or "")
        elif isinstance(known, _Pieces) and isinstance(value, str):
            known.pieces.append(value)
        else:
            raise UnjoinableError(f"a second value for {path}")

    def as_json(self) -> str:
        """Compact JSON of all of them."""
        return _written(self._root)

    def _holder(self, steps: tuple[_Step, ...], path: str) -> _Node:
        """The object or list that a leaf stands in; what is missing on the way is made."""
        node: _Node = self._root
        for step, following in pairwise(steps):
            found = _at(node, step)
            if found is None:
                found = [] if isinstance(following, int) else {}
                _put(node, step, found, path)
            node = found
        return node


def _value(part: Mapping[str, msgspec.Raw], path: str) -> str | bytes | None:
    """What a part adds: text as such, any other value as JSON, None without one."""
    found: list[str | bytes] = []
    text = _text(part, "stringValue", "string_value")
    if text is not None:
        found.append(text)
    for key in ("numberValue", "number_value", "boolValue", "bool_value"):
        raw = bytes(part.get(key, b"null"))
        if raw != b"null":
            numeric = key.startswith("number")
            if (raw[:1] not in _DIGITS) if numeric else (raw not in _TRUTHS):
                raise UnjoinableError(f"{key} of {path} holds something else")
            found.append(raw)
    # An SDK writes every key, so that its null says nothing; on the wire the key alone means null.
    if not found and ("nullValue" in part or bytes(part.get("null_value", b"null")) != b"null"):
        return b"null"
    if len(found) > 1:
        raise UnjoinableError(f"several values for {path} at once")
    return found[0] if found else None


def _text(part: Mapping[str, msgspec.Raw], *keys: str) -> str | None:
    for key in keys:
        raw = bytes(part.get(key, b"null"))
        if raw != b"null":
            try:
                return msgspec.json.decode(raw, type=str)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise UnjoinableError(f"{key} is no text") from error
    return None


def _steps(path: str) -> Iterator[_Step]:
    if path[:1] != "$" or len(path) == 1:
        raise UnjoinableError(f"{path!r} names no argument")
    at = 1
    for _ in range(_MOST_DEEP):
        found = _STEP.match(path, at)
        if found is None:
            raise UnjoinableError(f"{path!r} is no path to one value")
        yield _step(found, path)
        at = found.end()
        if at == len(path):
            return
    raise UnjoinableError(f"{path[:80]!r} goes deeper than {_MOST_DEEP} levels")


def _step(found: re.Match[str], path: str) -> _Step:
    if found["index"] is not None:
        return int(found["index"])
    if found["name"] is not None:
        return found["name"]
    text = found["double"]
    if text is None:
        text = found["single"].replace("\\'", "'").replace('"', '\\"')
    try:
        return msgspec.json.decode(f'"{text}"', type=str)
    except msgspec.DecodeError as error:
        raise UnjoinableError(f"{path!r} is no path to one value") from error


def _at(node: _Node, step: _Step) -> _Node | None:
    if isinstance(node, dict) and isinstance(step, str):
        return node.get(step)
    if isinstance(node, list) and isinstance(step, int):
        return node[step] if step < len(node) else None
    return None


def _put(node: _Node, step: _Step, value: _Node, path: str) -> None:
    if isinstance(node, dict) and isinstance(step, str):
        node[step] = value
    elif isinstance(node, list) and isinstance(step, int) and step == len(node):
        node.append(value)
    else:
        raise UnjoinableError(f"{path!r} does not fit the parts before it")


def _written(node: _Node) -> str:
    if isinstance(node, bytes):
        return node.decode()
    if isinstance(node, list):
        return f"[{','.join(map(_written, node))}]"
    if isinstance(node, _Pieces):
        return msgspec.json.encode("".join(node.pieces)).decode()
    return (
        "{"
        + ",".join(f"{msgspec.json.encode(key).decode()}:{_written(value)}" for key, value in node.items())
        + "}"
    )

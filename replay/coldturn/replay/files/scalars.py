"""The texts of a YAML or JSON file, each with the place where it stands, so that one can be changed alone.

Nothing is constructed: aliases are not followed, tags are not executed, and what is not changed keeps its
bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
)

_JSON_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)
_BASE64_KEYS = frozenset({"b64", "base64_string"})
_YAML_BINARY = "tag:yaml.org,2002:binary"
_YAML_PREFIX = re.compile(r"(?:[&!]\S*\s+)*")
_YAML_UNPRINTABLE = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)

Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Scalar:
    """One text.

    Attributes:
        path: Keys and indices that lead to it; for a key of a mapping, the path of the mapping.
        key: Whether it is a key.
        value: What it says.
        base64: Whether `value` is base64 of bytes.
        start: First character of it in the file; `end` is behind the last one.
    """

    path: Path
    key: bool
    value: str
    base64: bool
    start: int
    end: int


class _Walk:
    """Where in nested lists and mappings a reader is."""

    def __init__(self) -> None:
        self._frames: list[tuple[bool, list[str | int]]] = []

    @property
    def path(self) -> Path:
        return tuple(step for _, place in self._frames for step in place)

    def open(self, *, mapping: bool) -> None:
        self._frames.append((mapping, [] if mapping else [0]))

    def close(self) -> None:
        if self._frames:
            self._frames.pop()

    @property
    def expects_key(self) -> bool:
        return bool(self._frames) and self._frames[-1][0] and not self._frames[-1][1]

    def key(self, name: str) -> None:
        self._frames[-1][1].append(name)

    def next(self) -> None:
        """A value is complete."""
        if not self._frames:
            return
        mapping, place = self._frames[-1]
        if mapping:
            place.clear()
        elif isinstance(place[0], int):
            place[0] += 1


def yaml_scalars(text: str) -> Iterator[Scalar]:
    """Yield every scalar of a YAML file.

    Raises:
        yaml.YAMLError: It is none.
    """
    walk = _Walk()
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, ScalarEvent):
            key = walk.expects_key
            base64 = event.tag == _YAML_BINARY
            start, end = event.start_mark, event.end_mark
            if start is None or end is None:
                raise yaml.YAMLError("a scalar stands nowhere")
            yield Scalar(walk.path, key, event.value, base64, start.index, end.index)
            walk.key(event.value) if key else walk.next()
        elif isinstance(event, AliasEvent):
            walk.key("") if walk.expects_key else walk.next()
        elif isinstance(event, MappingStartEvent | SequenceStartEvent):
            if walk.expects_key:
                raise yaml.YAMLError("a key is no text")
            walk.open(mapping=isinstance(event, MappingStartEvent))
        elif isinstance(event, CollectionEndEvent):
            walk.close()
            walk.next()


def json_scalars(text: str) -> Iterator[Scalar]:
    """Yield every string of a JSON text that is known to be one."""
    walk = _Walk()
    for token in _JSON_TOKEN.finditer(text):
        match token[0][0]:
            case '"':
                value = json.loads(token[0], strict=False)
                key, path = walk.expects_key, walk.path
                base64 = not key and bool(path) and path[-1] in _BASE64_KEYS
                yield Scalar(path, key, value, base64, *token.span())
                if key:
                    walk.key(value)
            case "{" | "[":
                walk.open(mapping=token[0] == "{")
            case "}" | "]":
                walk.close()
            case ",":
                walk.next()


def yaml_spelling(value: str, was: str) -> str:
    """A value in one line of YAML, behind the tag and anchor that it had."""
    prefix = _YAML_PREFIX.match(was)
    quoted = _YAML_UNPRINTABLE.sub(_yaml_escape, json.dumps(value, ensure_ascii=False))
    return (prefix[0] if prefix else "") + quoted + ("\n" if was.endswith("\n") else "")


def json_spelling(value: str, was: str) -> str:
    """A value as a JSON string, with escapes where it had them."""
    return json.dumps(value, ensure_ascii=was.isascii())


def _yaml_escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

"""What changed inside one JSON document: key order, flags, or typed leaves."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from coldturn.reference.prefix.causes.change import common_suffix, lossless, readable
from coldturn.reference.prefix.difference import common_prefix

Json: TypeAlias = "dict[str, Json] | list[Json] | str | Number | bool | None"


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it was written: 1.0 is not 1."""

    lexeme: str


@dataclass(frozen=True, slots=True)
class Leaf:
    """A place where two documents differ; None where one of them has nothing."""

    keys: tuple[str, ...]
    was: Json
    now: Json


DEFER_KEYS = frozenset({"defer_loading", "deferred", "always_load", "alwaysLoad", "anthropic/alwaysLoad"})
"""Keys that say when a tool is loaded, and nothing about what it does."""

_SCHEMAS = frozenset(
    {"input_schema", "inputSchema", "output_schema", "parameters", "parametersJsonSchema", "response"}
)
_WRAPPERS = frozenset({"functionResponse", "function_response", "toolResult"})
MAX_DEPTH = 100
"""Levels of nesting that are walked; no schema or argument needs more."""

_DECODER = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=Number)
_PATH = re.compile(r"^(?:~?/|[A-Za-z]:[\\/])[^\s]*$")
_URL = re.compile(r"^[a-z][a-z0-9+.-]*://\S+$", re.IGNORECASE)
_TOKEN_EDGE = re.compile(r"[\s\"'`<>()\[\]{},;]")


def parse(content: bytes) -> Json:
    """Decode JSON with number lexemes kept; what is no JSON, or nested too deep to walk, is a string."""
    try:
        document: Json = json.loads(content, parse_int=Number, parse_float=Number, parse_constant=Number)
    except (ValueError, RecursionError):
        return lossless(content)
    return document if _is_shallow(document) else lossless(content)


def parse_run(content: bytes) -> list[Json]:
    """Decode JSON documents that follow one another, as in a block's header: its message's and its own."""
    text = readable(content)
    parts: list[Json] = []
    at = 0
    try:
        while at < len(text):
            part, at = _DECODER.raw_decode(text, at)
            parts.append(part)
    except (ValueError, RecursionError):
        return [text]
    return parts if _is_shallow(parts) else [text]


def is_id(leaf: Leaf) -> bool:
    """Whether a place holds the id of a message, item or call."""
    key = leaf.keys[-1] if leaf.keys else ""
    return key.lower() == "id" or key.endswith(("_id", "Id", "_ID"))


def unwrapped(document: Json) -> Json:
    """A part without the one key that names it, on surfaces whose parts have no ``type``."""
    if isinstance(document, dict) and len(document) == 1:
        (key,) = document
        return document[key] if key in _WRAPPERS else document
    return document


def _is_shallow(document: Json) -> bool:
    level: list[Json] = [document]
    for _ in range(MAX_DEPTH):
        level = [inner for value in level for inner in _inner(value)]
        if not level:
            return True
    return False


def _inner(value: Json) -> Iterable[Json]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def leaves(was: Json, now: Json, keys: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """Places where two documents differ, key order apart."""
    if isinstance(was, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*was, *now]):
            if key in was and key in now:
                yield from leaves(was[key], now[key], (*keys, key))
            else:
                yield Leaf((*keys, key), was.get(key), now.get(key))
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for index, (old, new) in enumerate(zip(was, now, strict=True)):
            yield from leaves(old, new, (*keys, str(index)))
    elif was != now:
        yield Leaf(keys, was, now)


def leaf_kind(leaf: Leaf) -> str:
    """``path``, ``enum``, ``url``, ``text``, ``flag`` or, for anything else, ``schema``."""
    if "enum" in leaf.keys:
        return "enum"
    if _is_flag(leaf):
        return "flag"
    if not (isinstance(leaf.was, str) and isinstance(leaf.now, str)):
        return "schema"
    was, now = _tokens(leaf.was, leaf.now)
    if _URL.match(was) and _URL.match(now):
        return "url"
    return "path" if _PATH.match(was) and _PATH.match(now) else "text"


def _is_flag(leaf: Leaf) -> bool:
    """Whether a switch of the tool itself was turned, set or left out, such as ``strict``."""
    values = [value for value in (leaf.was, leaf.now) if value is not None]
    bools = bool(values) and all(isinstance(value, bool) for value in values)
    return bools and _SCHEMAS.isdisjoint(leaf.keys)


def _tokens(was: str, now: str) -> tuple[str, str]:
    """The differing spans, grown to whole tokens on both sides."""
    old, new = was.encode("utf-8", "replace"), now.encode("utf-8", "replace")
    head = len(readable(old[: common_prefix(old, new)]))
    tail = common_suffix(old, new, min(len(old), len(new)) - common_prefix(old, new))
    tail = len(readable(old[len(old) - tail :]))
    start = max((match.end() for match in _TOKEN_EDGE.finditer(was, 0, head)), default=0)
    edge = _TOKEN_EDGE.search(was, len(was) - tail)
    behind = len(was) - edge.start() if edge is not None else 0
    return was[start : len(was) - behind].rstrip(".:"), now[start : len(now) - behind].rstrip(".:")

"""Old tool results that became a placeholder or a preview."""

from __future__ import annotations

import re

from coldturn.reference.prefix.causes.change import readable
from coldturn.reference.prefix.causes.schema import Json, parse
from coldturn.reference.prefix.difference import common_prefix
from coldturn.reference.prefix.model import Block, BlockFacts

_PLACEHOLDER_CHARACTERS = 400
_MARKER = re.compile(
    r"\b(?:elided|truncat\w*|omitted|cleared|collapsed|shortened|compacted|trimmed|pruned|removed|redacted)\b"
    r"|old tool (?:result|output)|tool (?:result|output) (?:content )?(?:deleted|hidden)|read_tool_output"
    r"|\bsee (?:the )?(?:full|rest)\b|\[\s*(?:\.\.\.|\u2026)|^\s*(?:\.{3}|\u2026)",
    re.IGNORECASE | re.MULTILINE,
)
_BRACKET = re.compile(r"^\W*(?:[\[(<{]|\.{3}|\u2026).*\w")


def result_text(facts: BlockFacts) -> str:
    """What a tool result says: its text, whatever shape carries it."""
    if facts.is_text:
        return readable(facts.content)
    document = parse(facts.content)
    if isinstance(document, dict):
        for key in ("content", "output", "text", "result"):
            if key in document:
                return _joined(document[key])
    return _joined(document)


def _joined(value: Json) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(_joined(part) for part in value)
    if isinstance(value, dict):
        return _joined(value.get("text") or value.get("content") or "")
    return ""


def elision_kind(was: str, now: str) -> str | None:
    """How `now` stands for the longer `was`: ``placeholder``, ``preview`` or ``cut``; None if it does not."""
    if len(now) >= len(was):
        return None
    head = _head(was, now)
    rest = now[head:]
    if head and not rest.strip():
        return "cut"
    if head and _MARKER.search(rest):
        return "preview"
    return "placeholder" if len(now) <= _PLACEHOLDER_CHARACTERS and _MARKER.search(now) else None


def _head(was: str, now: str) -> int:
    old, new = was.encode("utf-8", "replace"), now.encode("utf-8", "replace")
    return len(readable(old[: common_prefix(old, new)]).rstrip("\ufffd"))


def is_elided(block: Block) -> bool:
    """Whether a result reads like a placeholder or preview: a bracketed or dotted line says what is gone."""
    lines = result_text(block.facts).splitlines()
    return any(
        len(line) <= _PLACEHOLDER_CHARACTERS and _BRACKET.match(line) and _MARKER.search(line)
        for line in lines
    )

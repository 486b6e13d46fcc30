"""Old tool results that became a placeholder or a preview."""

from __future__ import annotations

import re

from coldturn.reference.prefix.causes.change import lossless, readable
from coldturn.reference.prefix.causes.schema import Json, parse, unwrapped
from coldturn.reference.prefix.difference import common_prefix
from coldturn.reference.prefix.model import BlockFacts

_PLACEHOLDER_CHARACTERS = 400
_WORDS = (
    r"(?:elided|truncat\w*|omitted|cleared|collapsed|shortened|compacted|trimmed|pruned|removed|redacted|hidden"
    r"|deleted|not shown)"
)
_NOTE = re.compile(
    rf"[\[(<{{][^\[\](){{}}<>\n]{{0,200}}?\b{_WORDS}\b"
    rf"|(?:\.{{3}}|\u2026)[^\n]{{0,80}}?\b{_WORDS}\b"
    r"|\[\s*(?:\.{3}|\u2026)|\bold tool (?:result|output)|\bread_tool_output\b",
    re.IGNORECASE,
)
_SAID = re.compile(rf"\b{_WORDS}\b|\bold tool (?:result|output)", re.IGNORECASE)
_ELLIPSIS = re.compile(r"\.{3}|\u2026")


_TEXTS = ("text", "content", "output", "result", "error")
"""Keys under which a result, or a part of one, says something."""


def result_text(facts: BlockFacts) -> str:
    """What a tool result says: its text, whatever shape carries it."""
    if facts.is_text:
        return lossless(facts.content)
    document = unwrapped(parse(facts.content))
    if isinstance(document, dict):
        for key in (*_TEXTS, "response"):
            if key in document:
                return _joined(document[key])
    return _joined(document)


def _joined(value: Json) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(_joined(part) for part in value)
    if isinstance(value, dict):
        return _joined(next((value[key] for key in _TEXTS if value.get(key)), ""))
    return ""


def elision_kind(was: str, now: str) -> str | None:
    """How `now` stands for the longer `was`: ``placeholder``, ``preview`` or ``cut``; None if it does not."""
    if len(now) >= len(was):
        return None
    head = _head(was, now)
    rest = now[head:]
    if head and not rest.strip():
        return "cut" if was[head:].strip() else None
    if head and (_announces(_NOTE, rest, was) or _goes_on_with_the_end(rest, was)):
        return "preview"
    return "placeholder" if len(now) <= _PLACEHOLDER_CHARACTERS and _announces(_SAID, now, was) else None


def _announces(note: re.Pattern[str], text: str, was: str) -> bool:
    """Whether a text says that something is gone, in words that the older text did not have."""
    return any(match[0] not in was for match in note.finditer(text))


def _goes_on_with_the_end(rest: str, was: str) -> bool:
    """Whether an ellipsis follows, and then nothing or the end of the older text."""
    ellipsis = _ELLIPSIS.search(rest)
    return ellipsis is not None and was.rstrip().endswith(rest[ellipsis.end() :].strip())


def _head(was: str, now: str) -> int:
    old, new = was.encode("utf-8", "replace"), now.encode("utf-8", "replace")
    return len(readable(old[: common_prefix(old, new)]).rstrip("\ufffd"))


def is_elided_again(was: str, now: str) -> bool:
    """Whether two placeholders or previews stand for the same text: what surrounds their notes agrees."""
    old, new = _NOTE.search(was), _NOTE.search(now)
    if old is None or new is None:
        return False
    heads = sorted((was[: old.start()].rstrip(), now[: new.start()].rstrip()), key=len)
    tails = sorted((_behind(was, old).lstrip(), _behind(now, new).lstrip()), key=len)
    return heads[1].startswith(heads[0]) and tails[1].endswith(tails[0])


def _behind(text: str, note: re.Match[str]) -> str:
    """What stands behind the note's line, or behind its closing bracket."""
    closing = re.search(r"[\])}>]|\n", text[note.end() :])
    return text[note.end() + closing.end() :] if closing is not None else ""

"""A lint over zones 1 and 2: what stands there is billed again whenever it changes, and these things change.

It looks at one request alone. What it finds need not have broken a prefix yet; it will when the value moves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from coldturn.reference.prefix.causes.spans import SpanKind, typed_spans
from coldturn.reference.prefix.difference import section_at
from coldturn.reference.prefix.model import Block, Zone
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.prefix.secrets import blotted_text

LINTED = (Zone.SYSTEM, Zone.TAIL)

_SPEAKS_OF_NOW = re.compile(
    r"\b(?:now|today|current(?:ly)?|as of|date|time|timestamp|epoch|clock|updated|generated|started)\b"
    r"|\b(?:jetzt|heute|aktuell|datum|uhrzeit)\b",
    re.IGNORECASE,
)
_GIT = re.compile(
    r"^[^\w\n]*(?:git (?:status|branch|commit|head|state|repo)|is (?:this )?(?:directory )?a git repo"
    r"|on branch|(?:current |main )?branch|head(?: commit)?|recent commits?|working tree|your branch is)"
    r"\b[^\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
_GIT_VALUE = re.compile(r"[:=]\s*\S|^\W*(?:on branch|your branch is)\b", re.IGNORECASE)
_PRECISE = re.compile(r":\d\d:\d\d|\d(?:Z|\s?UTC|\s?GMT|[+-]\d\d:?\d\d)")
_JOIN = re.compile(r"[ \t,;|@()T\u2013\u2014-]{0,4}(?:(?:at|um)[ \t]+)?")
_CLOCKS = frozenset({"date", "time"})
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class ZoneFinding:
    """One thing in the stable part of a prompt that will not stay as it is.

    Attributes:
        kind: ``time``, ``date``, ``id``, ``temp_path`` or ``git_state``.
        path: JSON path of the block.
        offset: Content bytes into that block.
        section: Nearest Markdown heading or tag at or above it.
        text: What stands there, at most 80 characters, secrets blotted out.
        mend: Where it belongs.
    """

    kind: str
    zone: Zone
    path: str
    offset: int
    section: str | None
    text: str
    mend: str


_MEND = {
    "time": "Tell the time in the variable suffix, behind the history.",
    "date": "Tell the date in the variable suffix, behind the history.",
    "id": "Leave ids that are minted per run or session out of the prompt.",
    "temp_path": "Give folders a name that every run shares, or name them in the variable suffix.",
    "git_state": "Tell the state of the repository in the variable suffix, behind the history.",
}


def lint_zones(request: PromptRequest) -> tuple[ZoneFinding, ...]:
    """Find times, ids, temporary paths and git state in zones 1 and 2, in render order.

    Weekday, date and time of day beside each other are one finding, a ``time`` when the latter is among them.
    A time or date counts where its line speaks of the present, or where it is as precise as only a clock is:
    opening hours and the year of a law are no clocks.

    Args:
        request: Any request; in one without the runtime's labels the whole system prompt is looked at.
    """
    blocks = (block for block in request.blocks if block.zone in LINTED)
    return tuple(finding for block in blocks for finding in _lint(block))


def _lint(block: Block) -> Iterator[ZoneFinding]:
    text = block.facts.content.decode("utf-8", "replace")
    found = list(_joined(text, sorted([*_git_lines(text), *_typed(text)])))
    clean = blotted_text(text) if found else text
    taken = 0
    for start, end, kind in found:
        # A commit's digest or a date within a line of git state is told once.
        if start >= taken:
            taken = end
            offset = len(text[:start].encode())
            shown = clean[start:end][:_SHOWN]
            yield ZoneFinding(
                kind, block.zone, block.path, offset, section_at(block.facts, offset), shown, _MEND[kind]
            )


def _joined(text: str, found: list[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """The parts of one moment (weekday, date, time of day) as one."""
    last: tuple[int, int, str] | None = None
    for start, end, kind in found:
        if last and {kind, last[2]} <= _CLOCKS and _JOIN.fullmatch(text, last[1], start):
            last = last[0], end, max(kind, last[2])
            continue
        if last:
            yield last
        last = start, end, kind
    if last:
        yield last


def _git_lines(text: str) -> Iterator[tuple[int, int, str]]:
    for match in _GIT.finditer(text):
        if _GIT_VALUE.search(match[0]):
            yield match.start(), match.end(), "git_state"


def _typed(text: str) -> Iterator[tuple[int, int, str]]:
    for kind, start, end in typed_spans(text):
        name = _name(kind, text, start, end)
        if name is not None:
            yield start, end, name


def _name(kind: SpanKind, text: str, start: int, end: int) -> str | None:
    if kind is SpanKind.TEMP_PATH:
        return "temp_path"
    if kind in {SpanKind.UUID, SpanKind.ULID, SpanKind.SESSION}:
        return "id"
    if kind is SpanKind.HEX:
        # Colours, digests of pinned files and the like stand still; nothing in one request tells them apart.
        return None
    line = text[text.rfind("\n", 0, start) + 1 : start]
    present = _SPEAKS_OF_NOW.search(line) is not None
    if kind is SpanKind.DATE:
        return "date" if present else None
    precise = kind is SpanKind.CLOCK and _PRECISE.search(text[start:end]) is not None
    return "time" if present or precise else None

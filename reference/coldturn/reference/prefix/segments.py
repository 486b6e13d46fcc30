"""Cutting a block's content into segments, so that one changed line leaves the rest shared.

Text is cut at Markdown headings and at tags that stand on a line of their own, between those at blank lines.
A paragraph above 2 KB is cut at line ends. A line above 2 KB is cut behind some ends of sentences or of JSON
values: which ones, the characters in front of them decide, so that cuts fall in step again behind an edit.
"""

from __future__ import annotations

import re
from functools import lru_cache

from xxhash import xxh3_128_digest

from coldturn.reference.prefix.model import Segment
from coldturn.reference.prefix.secrets import blotted

LONG = 2048
STRIDE = 256

_STRUCTURE = re.compile(
    rb"""^(?:
      [ ]{0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)
    | (?P<heading>[ ]{0,3}\#{1,6}[ \t]+[^\n]*)
    | [ \t]*<(?P<tag>/?[A-Za-z][A-Za-z0-9_.:-]*)(?:[ \t][^<>\n]*)?>[^\n]*
    | (?P<blank>[ \t\r]*(?:\n[ \t\r]*)*)
    )$\n?""",
    re.MULTILINE | re.VERBOSE,
)
_HALF = b"[%b]" % re.escape(bytes(byte for byte in range(256) if byte.bit_count() % 2))
"""Every other byte, so to speak: those with an odd number of bits."""
_STRONG = re.compile(
    rb"[.!?;:,}\]>\\](?:(?<=%b.%b[.!?;:])\s|(?<=%b.%b\\)n|(?<=%b.%b[,}\]>]))" % ((_HALF,) * 6), re.DOTALL
)
"""Begins at the sign: tried at every place, it takes twice as long."""
_IN_FRONT = 3
_WEAK = re.compile(rb"[\s,]")
_MAX_SECTION = 120
_SEARCHED = 1024
"""Bytes of a heading that are searched for secrets: what is cut off may tell that it is one."""


def cut_text(content: bytes) -> tuple[Segment, ...]:
    """Segments of a text block; each knows its section."""
    return tuple(
        Segment(start, end, xxh3_128_digest(content[start:end]), section)
        for start, end, section in _pieces(content)
    )


def cut_json(content: bytes) -> tuple[Segment, ...]:
    """Segments of anything else: it has no lines and no sections."""
    return tuple(
        Segment(start, end, xxh3_128_digest(content[start:end]), None)
        for start, end in _cut_line(content, 0, len(content))
    )


def _pieces(content: bytes) -> list[tuple[int, int, str | None]]:
    pieces: list[tuple[int, int, str | None]] = []
    for start, end, section in _paragraphs(content):
        if end - start <= LONG:
            pieces.append((start, end, section))
            continue
        position = start
        while position < end:
            newline = content.find(b"\n", position, end)
            line_end = end if newline < 0 else newline + 1
            pieces.extend((a, b, section) for a, b in _cut_line(content, position, line_end))
            position = line_end
    return pieces


def _cut_line(content: bytes, start: int, end: int) -> list[tuple[int, int]]:
    cuts = []
    position = start
    while end - position > LONG:
        start, last = position + STRIDE, position + LONG
        found = _STRONG.search(content, start + _IN_FRONT, last) or _WEAK.search(content, start, last)
        stop = found.end() if found is not None else _character_start(content, position + LONG)
        cuts.append((position, stop))
        position = stop
    if end > position:
        cuts.append((position, end))
    return cuts


def _character_start(content: bytes, position: int) -> int:
    """The place itself, or the start of the character that it would split."""
    start = position
    while position - start < 3 and content[start] & 0xC0 == 0x80:
        start -= 1
    return start


def _paragraphs(content: bytes) -> list[tuple[int, int, str | None]]:
    """Runs between headings, tag lines and blank lines; code fences hide headings, tags and blanks."""
    sections = _Sections()
    runs: list[tuple[int, int, str | None]] = []
    start = 0
    for match in _STRUCTURE.finditer(content):
        cut = sections.cut_at(match)
        if cut is not None and cut > start:
            runs.append((start, cut, sections.shown))
            start = cut
        sections.enter(match)
    if start < len(content):
        runs.append((start, len(content), sections.shown))
    return runs


class _Sections:
    """Follows headings, tags and fences through a text."""

    __slots__ = ("_fence", "_tags", "shown")

    def __init__(self) -> None:
        self._fence: bytes | None = None
        self._tags: list[tuple[str, str | None]] = []
        self.shown: str | None = None

    def cut_at(self, match: re.Match[bytes]) -> int | None:
        """Where a run ends because of this line: before a heading or opening tag, behind the others."""
        if self._fence is not None or match["fence"]:
            return None
        if match["blank"] is not None or (match["tag"] or b"").startswith(b"/"):
            return match.end()
        return match.start()

    def enter(self, match: re.Match[bytes]) -> None:
        """Go on behind this line."""
        fence = match["fence"]
        if fence is not None:
            self._toggle(fence, match["info"])
        elif self._fence is None and match["heading"] is not None:
            self.shown = _shown(match["heading"].strip())
        elif self._fence is None and match["tag"] is not None:
            self._tag(match["tag"], match[0])

    def _toggle(self, fence: bytes, info: bytes) -> None:
        if self._fence is None:
            self._fence = fence
        elif fence.startswith(self._fence) and not info.strip():
            self._fence = None

    def _tag(self, tag: bytes, line: bytes) -> None:
        name = _shown(tag.strip(b"/"))
        if not tag.startswith(b"/"):
            if b"</" + tag + b">" in line:
                return
            self._tags.append((name, self.shown))
            self.shown = f"<{name}>"
            return
        for depth in range(len(self._tags) - 1, -1, -1):
            opened, before = self._tags[depth]
            if opened == name:
                self.shown = before
                del self._tags[depth:]
                return


def _shown(text: bytes) -> str:
    """A section's name, which reports show wherever they show no text: without secrets."""
    return _clean(text[:_SEARCHED])[:_MAX_SECTION]


@lru_cache(maxsize=4096)
def _clean(text: bytes) -> str:
    return blotted(text)

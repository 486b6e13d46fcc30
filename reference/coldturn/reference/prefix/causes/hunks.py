"""Runs of whole lines in which two versions of a text differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from coldturn.reference.prefix.causes.align import Gap, gaps
from coldturn.reference.prefix.causes.change import common_suffix, lossless
from coldturn.reference.prefix.causes.topics import Topic, enclosing, topic_at
from coldturn.reference.prefix.difference import common_prefix
from coldturn.reference.prefix.model import Zone

_HEADING = re.compile(rb" {0,3}(#{1,6})[ \t]+\S")


@dataclass(frozen=True, slots=True)
class Texts:
    """Two versions of one text block, with what is known around them.

    Attributes:
        tools: Names of tools that either request defines or knows of.
    """

    was: bytes
    now: bytes
    zone: Zone
    tools: frozenset[str]


@dataclass(frozen=True)
class Hunk:
    """Lines `was_lines` of the older text stand where `now_lines` of the newer one stand.

    Attributes:
        was_start: Byte of the older text at which its lines start; `now_start` likewise.
    """

    texts: Texts
    was_start: int
    now_start: int
    was_lines: tuple[bytes, ...]
    now_lines: tuple[bytes, ...]

    @cached_property
    def was(self) -> str:
        """The older lines as text."""
        return lossless(b"".join(self.was_lines))

    @cached_property
    def now(self) -> str:
        """The newer lines as text."""
        return lossless(b"".join(self.now_lines))

    @cached_property
    def common(self) -> int:
        """Bytes in common from the hunk's start on; may reach beyond the hunk."""
        return common_prefix(self.texts.was[self.was_start :], self.texts.now[self.now_start :])

    @property
    def offset(self) -> int:
        """First differing byte, in the newer text."""
        return self.now_start + self.common

    @property
    def was_offset(self) -> int:
        """First differing byte, in the older text."""
        return self.was_start + self.common

    @cached_property
    def spans(self) -> tuple[str, str]:
        """The older and newer text without what they share at both ends."""
        was, now = b"".join(self.was_lines), b"".join(self.now_lines)
        head = common_prefix(was, now)
        tail = common_suffix(was, now, min(len(was), len(now)) - head)
        # Views, since one line may be hundreds of megabytes.
        return lossless(memoryview(was)[head : len(was) - tail]), lossless(
            memoryview(now)[head : len(now) - tail]
        )

    @cached_property
    def topic(self) -> Topic | None:
        """What the place is about, by the headings and tags around it in the newer or else the older text."""
        now = was = None
        if self.now_lines:
            place = self._place(self.now_lines, self.now_start, self.offset)
            now = _topic(self.texts.now, place, self.now)
        if now is None and self.was_lines:
            was = _topic(
                self.texts.was, self._place(self.was_lines, self.was_start, self.was_offset), self.was
            )
        return now or was

    @cached_property
    def headings(self) -> tuple[str, ...]:
        """Headings and tags that the place stands under, nearest first."""
        if self.now_lines or not self.was_lines:
            return _headings(self.texts.now, self._place(self.now_lines, self.now_start, self.offset))
        return _headings(self.texts.was, self._place(self.was_lines, self.was_start, self.was_offset))

    @property
    def paragraph(self) -> str:
        """Lines of the newer text that stand in front of the hunk, from the last blank line on."""
        start = self.texts.now.rfind(b"\n\n", 0, self.now_start)
        return lossless(self.texts.now[max(0, start) : self.now_start])

    def _place(self, lines: Sequence[bytes], start: int, offset: int) -> int:
        """The byte that stands for the hunk: the first text of lines that came or went, or the difference."""
        if (self.was_lines and self.now_lines) or not lines:
            return offset
        blank = next((at for at, line in enumerate(lines) if line.strip()), 0)
        return start + sum(map(len, lines[:blank])) + len(lines[blank].rstrip())

    def sections(self) -> list[Hunk]:
        """Lines that came or went, a part for each section among them; any other hunk as it is."""
        if self.was_lines and self.now_lines:
            return [self]
        cuts = _section_cuts(self.was_lines or self.now_lines)
        still = [0] * len(cuts)
        return list(self._cut(cuts, still) if self.was_lines else self._cut(still, cuts))

    def parts(self) -> list[Hunk]:
        """Line by line where the lines at both ends resemble each other, the rest as one part."""
        head = _resembling(self.was_lines, self.now_lines)
        tail = _resembling(self.was_lines[head:][::-1], self.now_lines[head:][::-1])
        cuts_was = [*range(head + 1), *range(len(self.was_lines) - tail, len(self.was_lines) + 1)]
        cuts_now = [*range(head + 1), *range(len(self.now_lines) - tail, len(self.now_lines) + 1)]
        return list(self._cut(cuts_was, cuts_now))

    def _cut(self, cuts_was: Sequence[int], cuts_now: Sequence[int]) -> Iterator[Hunk]:
        bounds = list(zip(cuts_was, cuts_now, strict=True))
        for (was_from, now_from), (was_to, now_to) in pairwise(bounds):
            was, now = self.was_lines[was_from:was_to], self.now_lines[now_from:now_to]
            if was != now:
                was_start = self.was_start + sum(map(len, self.was_lines[:was_from]))
                now_start = self.now_start + sum(map(len, self.now_lines[:now_from]))
                yield Hunk(self.texts, was_start, now_start, was, now)


def hunks(texts: Texts) -> list[Hunk]:
    """All runs of lines that differ, in order."""
    was_lines, now_lines = texts.was.splitlines(keepends=True), texts.now.splitlines(keepends=True)
    found = gaps(_ended(was_lines), _ended(now_lines))
    if not found and texts.was != texts.now:
        # Nothing but the end of the last line.
        found = [Gap(len(was_lines) - 1, len(was_lines), len(now_lines) - 1, len(now_lines))]
    was_starts, now_starts = _starts(was_lines), _starts(now_lines)
    found_hunks: list[Hunk] = []
    for gap in found:
        was, now = was_lines[gap.was_start : gap.was_end], now_lines[gap.now_start : gap.now_end]
        start = was_starts[gap.was_start], now_starts[gap.now_start]
        first, *others = Hunk(texts, *start, tuple(was), tuple(now)).sections()
        first = replace(
            first,
            was_start=start[0] - _borrowed(was_lines, gap.was_start, now_lines, gap.now_start),
            now_start=start[1] - _borrowed(now_lines, gap.now_start, was_lines, gap.was_start),
        )
        found_hunks += [first, *others]
    return found_hunks


def _ended(lines: Sequence[bytes]) -> list[bytes]:
    """Lines to align by: a last line is the same with and without its line end."""
    return (
        [*lines[:-1], lines[-1] if lines[-1].endswith((b"\n", b"\r")) else lines[-1] + b"\n"] if lines else []
    )


def _borrowed(lines: Sequence[bytes], start: int, other: Sequence[bytes], other_start: int) -> int:
    """Bytes of the line end in front of a run which the other text, ending there, does not have."""
    return len(lines[start - 1]) - len(other[other_start - 1]) if start and other_start == len(other) else 0


def _section_cuts(lines: Sequence[bytes]) -> list[int]:
    """Where to cut a run of lines: at each heading that does not stand under the one its part begins with."""
    cuts = [0]
    level = 0
    for at, line in enumerate(lines):
        heading = _HEADING.match(line)
        if heading is None or 0 < level < len(heading[1]):
            continue
        level = len(heading[1])
        if any(before.strip() for before in lines[cuts[-1] : at]):
            cuts.append(at)
    return [*cuts, len(lines)]


def _starts(lines: Sequence[bytes]) -> list[int]:
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    return starts


def _resembling(was: Sequence[bytes], now: Sequence[bytes]) -> int:
    """How many lines from the start share at least half of their bytes at their ends."""
    count = 0
    for old, new in zip(was, now, strict=False):
        head = common_prefix(old, new)
        tail = common_suffix(old, new, min(len(old), len(new)) - head)
        if 2 * (head + tail) < max(len(old), len(new)):
            break
        count += 1
    return count


def _topic(content: bytes, at: int, own: str) -> Topic | None:
    return topic_at(lossless(content), len(lossless(content[:at]))) or _own_topic(own)


def _headings(content: bytes, at: int) -> tuple[str, ...]:
    return tuple(enclosing(lossless(content), len(lossless(content[:at]))))


def _own_topic(text: str) -> Topic | None:
    """The subject that the tag names with which `text` begins."""
    opening = text.find(">") + 1
    return topic_at(text, opening) if opening and text.lstrip().startswith("<") else None

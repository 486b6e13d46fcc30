"""Parts of a long text: a range of code points, or the lines that match a pattern. Pure, in linear time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import re2

LINE_CHARS = 500
"""A matching line is cut here; most results that are one line are far longer."""


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a text.

    Attributes:
        text: Exactly what stands in the range; for matches, one numbered line each.
        start: Index of the first code point, or of the first match.
        count: How many of them are here.
        total: How many there are in all.
    """

    text: str
    start: int
    count: int
    total: int

    @property
    def next_offset(self) -> int | None:
        """Where to read on; None at the end."""
        end = self.start + self.count
        return end if end < self.total else None


class PatternError(ValueError):
    """A pattern that RE2 does not take, in its own words."""


def read_range(text: str, offset: int, limit: int) -> Page:
    """Give `limit` code points from `offset` on; behind the end nothing."""
    start = min(offset, len(text))
    part = text[start : start + limit]
    return Page(part, start, len(part), len(text))


def read_matches(text: str, matches: Callable[[str], bool], offset: int, limit: int, room: int) -> Page:
    """Give matching lines with their numbers from 1.

    Args:
        text: What to search.
        matches: Tells of one line, without its end, whether it matches.
        offset: How many matches to leave out.
        limit: How many to give at most.
        room: Code points that all of them may take; at least one is given.
    """
    shown: list[str] = []
    total = taken = 0
    full = False
    for number, line in _lines(text):
        if not matches(line):
            continue
        if total >= offset and len(shown) < limit and not full:
            entry = f"{number}: {line[:LINE_CHARS]}"
            full = bool(shown) and taken + len(entry) > room
            if not full:
                shown.append(entry)
                taken += len(entry) + 1
        total += 1
    return Page("\n".join(shown), min(offset, total), len(shown), total)


def pattern_matcher(pattern: str) -> Callable[[str], bool]:
    """Compile a pattern for whole-text search in lines.

    Raises:
        PatternError: RE2 does not support a construct, or the pattern is broken; the message names it.
    """
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        detail = error.args[0] if error.args else "not a pattern"
        raise PatternError(
            detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
        ) from error
    return lambda line: compiled.search(line.encode("utf-8", "replace")) is not None


def literal_matcher(needle: str) -> Callable[[str], bool]:
    """Look for the text itself."""
    return lambda line: needle in line


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start, number = 0, 0
    while start < len(text):
        number += 1
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield number, text[start:end].removesuffix("\r")
        start = end + 1

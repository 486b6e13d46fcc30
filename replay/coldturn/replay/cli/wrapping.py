"""Long lines on a narrow terminal: what goes on stands below its beginning, not below its label."""

from __future__ import annotations

import re

from rich.console import Console
from rich.text import Text

_LABEL = re.compile(r" *(?:\S+ ){0,2}\S+ {2,}")
_WIDEST_LABEL = 16
"""Columns in front of a line's words; what begins further on is a column of a table."""
_NARROWEST = 30
"""Columns for the words themselves, below which nothing is won."""


def wrapped(text: Text, console: Console) -> Text:
    """Text of which no line is wider than the terminal, as far as its words allow."""
    lines = text.split("\n", allow_blank=True)
    if all(line.cell_len <= console.width for line in lines):
        return text
    return Text("\n").join(part for line in lines for part in _parts(line, console))


def _parts(line: Text, console: Console) -> list[Text]:
    begins, goes_on = _indents(line.plain)
    width = console.width - goes_on
    if line.cell_len <= console.width or width < _NARROWEST:
        return [line]
    first, rest = line.divide([begins]) if begins else (Text(), line)
    words = rest.wrap(console, width, overflow="fold")
    for part in words:
        part.rstrip()
    blank = Text(" " * goes_on)
    return [(blank if at else first) + part for at, part in enumerate(words)]


def _indents(line: str) -> tuple[int, int]:
    """Columns in front of a line's words, and in front of what goes on below."""
    label = _LABEL.match(line)
    if label is not None and label.end() <= _WIDEST_LABEL:
        return label.end(), label.end()
    blank = len(line) - len(line.lstrip(" "))
    return blank, blank + 2

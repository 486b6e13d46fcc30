"""Rows of tables, one at a time: JSON lines and separated values."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

from coldturn.traces.limits import MAX_LINE
from coldturn.traces.opening import BOM, lines
from coldturn.traces.slices import NotJsonError, value_of

_DELIMITERS = ("\t", ",", ";")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table, its cells by the names of their columns.

    Attributes:
        entry: Index among the rows, from 0.
        number: Line in the file, from 1.
    """

    entry: int
    number: int
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UnreadableRow:
    """A row that is none, and why."""

    entry: int
    reason: str


def json_rows(stream: IO[bytes]) -> Iterator[Row | UnreadableRow]:
    """An object on each line."""
    for entry, line in enumerate(lines(stream)):
        if line.too_long:
            yield UnreadableRow(entry, f"line {line.number} is too long to be held")
            continue
        try:
            value = value_of(line.content)
        except NotJsonError as error:
            yield UnreadableRow(entry, f"line {line.number}: {error}")
            continue
        if isinstance(value, dict):
            yield Row(entry, line.number, value)
        else:
            yield UnreadableRow(entry, f"line {line.number} is no JSON object")


def separated_rows(stream: IO[bytes], head: bytes) -> Iterator[Row | UnreadableRow]:
    """Rows of separated values; the first line, which is given too, names the columns."""
    delimiter = delimiter_of(head.decode("utf-8", "replace"))
    rows = csv.reader(_text(stream), delimiter=delimiter)
    names = [name.strip() for name in next(rows, [])]
    entry = -1
    while True:
        entry += 1
        try:
            cells = next(rows, None)
        except csv.Error as error:
            yield UnreadableRow(entry, f"line {rows.line_num}: {error}")
            continue
        if cells is None:
            return
        if len(cells) > len(names):
            yield UnreadableRow(
                entry, f"line {rows.line_num} has {len(cells)} cells for {len(names)} columns"
            )
        elif cells:
            yield Row(entry, rows.line_num, dict(zip(names, cells, strict=False)))


def _text(stream: IO[bytes]) -> Iterator[str]:
    first = True
    while piece := stream.readline(MAX_LINE):
        yield (piece.removeprefix(BOM) if first else piece).decode("utf-8", "replace")
        first = False


def delimiter_of(head: str) -> str:
    """What parts the cells of a table, by its first line."""
    return max(_DELIMITERS, key=head.count)

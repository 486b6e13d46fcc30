"""Rows of tables, one at a time: JSON lines and separated values."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

from coldturn.traces.errors import InputError
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


class NoRowsError(InputError):
    """A table without a row that can be read.

    Attributes:
        tried: How many rows there are.
    """

    slug = "no-rows"

    def __init__(self, source: str, tried: int) -> None:
        self.tried = tried
        what = "no row of it can be read" if tried else "it has a header and no rows"
        super().__init__(source, f"{what}; give a table with a row for each call")


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
    first = first_line(head)
    # Where lines end in line feeds, a carriage return alone is damage: half a row would count as a whole one.
    text = _any_ends(stream) if b"\r" in head.rstrip(b"\r\n") else _text(stream)
    rows = csv.reader(text, delimiter=delimiter_of(first))
    try:
        names = [name.strip() for name in next(rows, [])]
    except csv.Error as error:
        yield UnreadableRow(0, f"line 1, which names the columns, {_why(error)}")
        return
    entry = -1
    while True:
        entry += 1
        try:
            cells = next(rows, None)
        except csv.Error as error:
            yield UnreadableRow(entry, f"line {rows.line_num} {_why(error)}")
            continue
        if cells is None:
            return
        if len(cells) > len(names):
            yield UnreadableRow(
                entry, f"line {rows.line_num} has {len(cells)} cells for {len(names)} columns"
            )
        elif cells:
            yield Row(entry, rows.line_num, dict(zip(names, cells, strict=False)))


def _why(error: csv.Error) -> str:
    """The library's complaint in words about the row."""
    message = str(error)
    if "new-line character" in message:
        return "has a carriage return inside a cell, which only quotes may hold"
    if "field limit" in message:
        return f"has a cell of more than {csv.field_size_limit():,} signs"
    return "is no row of separated values"


def _text(stream: IO[bytes]) -> Iterator[str]:
    first = True
    while piece := stream.readline(MAX_LINE):
        yield (piece.removeprefix(BOM) if first else piece).decode("utf-8", "replace")
        first = False


def _any_ends(stream: IO[bytes]) -> Iterator[str]:
    """Lines that end as on old Macs, or as anywhere else."""
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline=None)
    try:
        while piece := text.readline(MAX_LINE):
            yield piece
    finally:
        text.detach()  # whoever opened the stream closes it


def first_line(head: bytes) -> str:
    """The first line of a text, whatever its lines end in."""
    return re.split(rb"[\r\n]", head.removeprefix(BOM), maxsplit=1)[0].decode("utf-8", "replace")


def column_names(head: bytes) -> list[str]:
    """Names of a table's columns, by its first line; none where that cannot be read."""
    first = first_line(head)
    try:
        return [name.strip() for name in next(csv.reader([first], delimiter=delimiter_of(first)), [])]
    except csv.Error:
        return []


def delimiter_of(head: str) -> str:
    """What parts the cells of a table, by its first line."""
    return max(_DELIMITERS, key=head.count)

"""Tables of usage numbers, a row per call: JSON lines, comma-, semicolon- or tab-separated values.

The whole input is what counts: where a table has Anthropic's raw names, whose input leaves out what was read
and written, the three are added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from coldturn.reference.tokens import ReportedTokens
from coldturn.traces.classify import instant
from coldturn.traces.exchange import EntryError
from coldturn.traces.formats.model import Format, Head, Layout
from coldturn.traces.formats.table_rows import (
    NoRowsError,
    Row,
    UnreadableRow,
    column_names,
    delimiter_of,
    first_line,
    json_rows,
    separated_rows,
)
from coldturn.traces.formats.usage_columns import (
    Column,
    counts_calls,
    on_one_line,
    settled,
    value_at,
)
from coldturn.traces.kinds import InputKind
from coldturn.traces.limits import MAX_LINE
from coldturn.traces.opening import BOM
from coldturn.traces.usage_record import UsageRecord

_BESIDE = ("cache_read_input_tokens", "cache_creation_input_tokens")
"""Anthropic's names, where `input_tokens` counts neither of the two."""
_CONTENT = frozenset({"messages", "request", "request_raw", "contents", "prompt", "hash_ids", "choices"})
"""Keys of lines that hold more than numbers, where their value is an object, a list or a long text."""
_LABEL = 64
"""Bytes of a value that may still be a mere label."""
_EMPTY = frozenset({"", "null", "none", "nan", "-"})


def read(stream: IO[bytes], name: str) -> Iterator[UsageRecord | EntryError]:
    """Every row of a table, its columns found by name; errors as for `read_table`."""
    return read_table(stream, name, {})


def read_table(
    stream: IO[bytes], name: str, columns: Mapping[Column, str]
) -> Iterator[UsageRecord | EntryError]:
    """Every row of a table.

    Args:
        stream: At its start.
        name: What reports call it.
        columns: Names of columns, in JSON lines with dots into objects (``usage.prompt_tokens``); of a
            conversation several joined by ``+``. Those not given are looked for under known names.

    Yields:
        A record per call; an error for a row that holds no counts, or one that is none.

    Raises:
        MissingColumnError: There is no column of the input, or none of a name that was given.
        NoRowsError: No row can be read.
    """
    head = stream.readline(MAX_LINE).removeprefix(BOM)
    stream.seek(0)
    is_json = head.lstrip()[:1] == b"{"
    rows = json_rows(stream) if is_json else separated_rows(stream, head)
    table: _Table | None = None
    unreadable = 0
    for row in rows:
        if isinstance(row, UnreadableRow):
            unreadable += 1
            yield EntryError(name, row.entry, row.reason)
            continue
        if table is None:
            table = _Table(name, settled(name, columns, row.values))
        yield table.record(row)
    if table is None:
        names = [] if is_json else column_names(head)
        if names:
            settled(name, columns, dict.fromkeys(names))
        raise NoRowsError(name, tried=unreadable)


class _NotANumberError(ValueError):
    """A cell that should hold a count; the message says what it holds."""


@dataclass(slots=True)
class _Table:
    """Rows into records.

    Attributes:
        adds: Names of columns that the whole input is to be increased by.
    """

    name: str
    columns: Mapping[Column, str]
    _calls: dict[str, int] = field(default_factory=dict)
    _told: dict[str, int] = field(default_factory=dict)
    _begun: dict[str, int] = field(default_factory=dict)

    def record(self, row: Row) -> UsageRecord | EntryError:
        try:
            counts = {column: self._count(row, column) for column in _COUNTS}
        except _NotANumberError as error:
            return EntryError(self.name, row.entry, f"line {row.number}: {error}")
        if counts[Column.INPUT] is None:
            return EntryError(self.name, row.entry, f"line {row.number} holds no count of input tokens")
        conversation, call = self._place(row)
        return UsageRecord(
            source=self.name,
            entry=row.entry,
            conversation=conversation,
            call=call,
            model=self._text(row, Column.MODEL),
            provider=self._text(row, Column.PROVIDER),
            input_tokens=self._whole(counts),
            cached_tokens=counts[Column.CACHED],
            written_tokens=counts[Column.WRITTEN],
            output_tokens=counts[Column.OUTPUT],
            started=_started(self._cell(row, Column.STARTED)),
        )

    def _whole(self, counts: Mapping[Column, ReportedTokens | None]) -> ReportedTokens:
        """The input with what Anthropic's own field leaves out."""
        whole = counts[Column.INPUT] or 0
        if self._last(Column.INPUT) == "input_tokens":
            beside = (one for one in (Column.CACHED, Column.WRITTEN) if self._last(one) in _BESIDE)
            whole += sum(counts[one] or 0 for one in beside)
        return ReportedTokens(whole)

    def _last(self, column: Column) -> str:
        return self.columns.get(column, "").rpartition(".")[2]

    def _place(self, row: Row) -> tuple[str, int]:
        """Its conversation and its number in it. A number that does not rise begins another conversation."""
        named = self.columns.get(Column.CONVERSATION)
        called = (
            "" if named is None else " ".join(str(value_at(row.values, part)) for part in named.split("+"))
        )
        told = _whole_number(self._cell(row, Column.CALL))
        if named is not None and told is not None:
            if told <= self._told.get(called, -1):
                self._begun[called] = self._begun.get(called, 0) + 1
                self._calls[called] = 0
            self._told[called] = told
        call = self._calls.get(called, 0)
        self._calls[called] = call + 1
        again = self._begun.get(called, 0)
        return (f"{called} ({again + 1})" if again else called), call

    def _cell(self, row: Row, column: Column) -> Any:  # noqa: ANN401 - any cell
        named = self.columns.get(column)
        value = None if named is None else value_at(row.values, named)
        return None if isinstance(value, str) and value.strip().lower() in _EMPTY else value

    def _text(self, row: Row, column: Column) -> str:
        value = self._cell(row, column)
        return value.strip() if isinstance(value, str) else ""

    def _count(self, row: Row, column: Column) -> ReportedTokens | None:
        value = self._cell(row, column)
        if value is None:
            return None
        number = _whole_number(value)
        if number is None or number < 0:
            what = "negative" if number is not None else "no whole number"
            raise _NotANumberError(f"{on_one_line(self.columns[column])} is {what}: {on_one_line(value)}")
        return ReportedTokens(number)


_COUNTS = (Column.INPUT, Column.CACHED, Column.WRITTEN, Column.OUTPUT)
_MOST = 10**15
"""Beyond it a count is none: no float holds all whole numbers there."""


def _whole_number(value: object) -> int | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if abs(value) < _MOST and value == int(value) else None


def _started(value: object) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return instant(value)
    return instant(value)


def _is_table(head: Head) -> bool:
    if head.layout is Layout.TEXT:
        return _is_separated(head.text)
    if head.layout is Layout.LIST or any(_holds_content(one) for one in head.objects):
        return False
    return any(counts_calls(one) for one in head.objects)


def _holds_content(members: Mapping[str, bytes]) -> bool:
    values = (members[key] for key in _CONTENT & members.keys())
    return any(value[:1] in (b"{", b"[") or len(value) > _LABEL for value in values)


def _is_separated(text: bytes) -> bool:
    first = first_line(text)
    names = {name.strip().strip('"') for name in first.split(delimiter_of(first))}
    return counts_calls(names)


FORMATS = (Format(InputKind.USAGE_TABLE, "a table of usage numbers", _is_table, read, numbers=True),)

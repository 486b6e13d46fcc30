"""The part of a conversation that has stopped moving: its rows are put together once and kept as bytes.

What can still move is left out: rows with a cache breakpoint, the variable suffix inside a user message, and
whatever stands behind. Results that a boundary shortens are those of the last turn, so rows are kept in one
chunk a turn, and a chunk whose items changed is made anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from coldturn.reference.wire.model import HistoryItem, ToolResultItem, UserItem
from coldturn.reference.wire.requests.markers import last_user

if TYPE_CHECKING:
    # Rows are made of fragments, which hold what is frozen.
    from coldturn.reference.wire.requests.rows import Rows

History = tuple[HistoryItem, ...]

_MOST_CHUNKS = 32


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Rows of items that follow one another.

    Attributes:
        start: Index of the first item.
        row: Number of the first row, counted from the history's first.
        places: Where each tool result stands: index of its item -> row, and path within the row.
    """

    start: int
    items: History
    row: int
    rows: int
    data: bytes
    places: dict[int, tuple[int, str]]

    @property
    def end(self) -> int:
        return self.start + len(self.items)

    def with_more(self, other: _Chunk) -> _Chunk:
        return _Chunk(
            self.start,
            self.items + other.items,
            self.row,
            self.rows + other.rows,
            b",".join(data for data in (self.data, other.data) if data),
            {**self.places, **other.places},
        )


class FrozenHistory:
    """One Run's rows of one surface: `resume` writes what is kept, `keep` adds what was written behind it."""

    def __init__(self) -> None:
        self._chunks: list[_Chunk] = []
        self._row = self._mark = self._first = 0
        self._places: dict[int, tuple[int, str]] = {}

    def resume(self, history: History, limit: int, planned: frozenset[int], rows: Rows) -> int:
        """Write what is kept of this history; returns the index of the first item that is not.

        Args:
            history: What to say.
            limit: Index in front of which nothing moves any more.
            planned: Indices of results whose rendering flipped; the paths of those kept are told to `rows`.
            rows: Where it is written.
        """
        kept = 0
        for chunk in self._chunks:
            if chunk.end > limit or history[chunk.start : chunk.end] != chunk.items:
                break
            kept += 1
        del self._chunks[kept:]
        self._row = rows.count
        for chunk in self._chunks:
            rows.add_all(chunk.data, chunk.rows)
            for index in planned & chunk.places.keys():
                row, inside = chunk.places[index]
                rows.plan(rows.path(self._row + row) + inside)
        self._mark, self._places = rows.mark(), {}
        self._first = self._chunks[-1].end if self._chunks else 0
        return self._first

    def note(self, index: int, rows: Rows, inside: str = "") -> str:
        """Remember where the tool result at `index` is written next; returns its path."""
        self._places[index] = (rows.count - self._row, inside)
        return rows.next_path + inside

    def keep(self, history: History, end: int, rows: Rows) -> None:
        """Keep what was written since `resume`: rows of the items before `end`."""
        if end <= self._first:
            return
        before = self._chunks[-1] if self._chunks else None
        row = before.row + before.rows if before is not None else 0
        written = _Chunk(
            self._first,
            history[self._first : end],
            row,
            rows.count - self._row - row,
            rows.written(self._mark),
            self._places,
        )
        if before is None or isinstance(history[self._first], UserItem):
            self._chunks.append(written)
        else:
            self._chunks[-1] = before.with_more(written)
        if len(self._chunks) > _MOST_CHUNKS:
            self._chunks[:2] = [self._chunks[0].with_more(self._chunks[1])]


def freezable(history: History, marked: frozenset[int]) -> int:
    """Index in front of which no row will move while the history only grows.

    Args:
        history: What is going to be said.
        marked: Indices of items that carry a cache breakpoint now.
    """
    limit = min(marked, default=len(history) - 1)
    user = last_user(history)
    item = history[user] if user is not None else None
    if user is not None and isinstance(item, UserItem) and item.suffix:
        limit = min(limit, user)
    # Rows of results may go on with the next result; every other item begins a row.
    while limit > 0 and isinstance(history[limit], ToolResultItem):
        limit -= 1
    return max(limit, 0)

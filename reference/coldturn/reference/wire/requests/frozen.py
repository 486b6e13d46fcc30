"""The part of a conversation that has stopped moving: its rows are put together once and kept as bytes.

What can still move is left out: rows with a cache breakpoint, the variable suffix inside a user message, and
whatever stands behind. Results that a boundary shortens are those of the last turn, so rows are kept in one
chunk a turn, and a chunk whose items changed is made anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coldturn.reference.wire.model import HistoryItem, Prompt, ToolResultItem, UserItem
from coldturn.reference.wire.requests.markers import last_user

if TYPE_CHECKING:
    # Rows are made of fragments, which hold what is frozen.
    from coldturn.reference.wire.requests.rows import Rows

History = tuple[HistoryItem, ...]

_MOST_CHUNKS = 32


@dataclass(slots=True)
class _Chunk:
    """Rows of items that follow one another.

    Attributes:
        start: Index of the first item.
        row: Number of the first row, counted from the history's first.
        pieces: The rows, older ones put together: a piece has twice as many rows as the next one, or more.
        counts: How many rows are in each piece.
        places: Where each tool result stands: index of its item -> row, and path within the row.
    """

    start: int
    row: int
    items: list[HistoryItem] = field(default_factory=list)
    pieces: list[bytes] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    places: dict[int, tuple[int, str]] = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.start + len(self.items)

    def extend(
        self, items: Sequence[HistoryItem], rows: list[bytes], places: dict[int, tuple[int, str]]
    ) -> None:
        self.items.extend(items)
        for row in rows:
            self._add(row, 1)
        self.places.update(places)

    def join(self, other: _Chunk) -> None:
        self.items.extend(other.items)
        for piece, count in zip(other.pieces, other.counts, strict=True):
            self._add(piece, count)
        self.places.update(other.places)

    def _add(self, piece: bytes, count: int) -> None:
        """Add rows; joining pieces of like size keeps them few, and copies a row a few times in all."""
        while self.counts and self.counts[-1] <= count:
            piece = self.pieces.pop() + b"," + piece
            count += self.counts.pop()
        self.pieces.append(piece)
        self.counts.append(count)


class FrozenHistory:
    """One Run's rows of one surface: `resume` writes what is kept, `keep` adds what was written behind it."""

    def __init__(self) -> None:
        self._chunks: list[_Chunk] = []
        self._base = self._next = self._mark = 0
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
            if chunk.end > limit or list(history[chunk.start : chunk.end]) != chunk.items:
                break
            kept += 1
        del self._chunks[kept:]
        self._base = rows.count
        for chunk in self._chunks:
            rows.add_all(chunk.pieces, sum(chunk.counts))
            for index in planned & chunk.places.keys():
                row, inside = chunk.places[index]
                rows.plan(rows.path(self._base + row) + inside)
        self._next, self._mark, self._places = rows.count, rows.mark(), {}
        return self._first

    @property
    def _first(self) -> int:
        return self._chunks[-1].end if self._chunks else 0

    def note(self, index: int, rows: Rows, inside: str = "") -> str:
        """Remember where the tool result at `index` is written next; returns its path."""
        self._places[index] = (rows.count - self._base, inside)
        return rows.next_path + inside

    def keep(self, history: History, end: int, rows: Rows) -> None:
        """Keep what was written since `resume`: rows of the items before `end`."""
        first = self._first
        if end <= first:
            return
        if not self._chunks or isinstance(history[first], UserItem):
            self._chunks.append(_Chunk(first, self._next - self._base))
        self._chunks[-1].extend(history[first:end], rows.since(self._mark), self._places)
        if len(self._chunks) > _MOST_CHUNKS:
            self._chunks[0].join(self._chunks.pop(1))


def freezable(prompt: Prompt, marked: frozenset[int]) -> int:
    """Index in front of which no row will move while the history only grows.

    Args:
        prompt: What is going to be said.
        marked: Indices of items that carry a cache breakpoint now.
    """
    history, user = prompt.history, last_user(prompt)
    limit = min(marked, default=len(history) - 1)
    item = history[user] if user is not None else None
    if user is not None and isinstance(item, UserItem) and item.suffix:
        limit = min(limit, user)
    # Rows of results may go on with the next result; every other item begins a row.
    while limit > 0 and isinstance(history[limit], ToolResultItem):
        limit -= 1
    return max(limit, 0)

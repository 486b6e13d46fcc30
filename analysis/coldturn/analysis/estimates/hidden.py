"""What reported reads tell of a hidden system message in front of the prompt, and of where a prefix broke.

With breakpoints at every `interval` tokens from the start of that message, a read is the last breakpoint less
the hidden tokens, rounded down to the granularity. So one read admits a range of hidden sizes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from coldturn.analysis.entries.prefix import Grid


@dataclass(frozen=True, slots=True)
class GridReading:
    """What a read of so many tokens means.

    Attributes:
        read: As reported.
        boundary: The breakpoint it comes from, in absolute tokens, hidden ones included.
        hidden: Fewest and most hidden tokens that give this read.
        broken_between: First and last absolute token at which the prefix can have ended.
    """

    read: int
    boundary: int
    hidden: tuple[int, int]
    broken_between: tuple[int, int]

    @property
    def sentence(self) -> str:
        """The same in words."""
        (low, high), (first, last) = self.hidden, self.broken_between
        return (
            f"a read of {self.read:,} tokens recurs: it is the breakpoint at {self.boundary:,} less {low:,} "
            f"to {high:,} hidden tokens, so the prefix breaks between absolute tokens {first:,} and {last:,}"
        )


def explain_read(read: int, *, interval: int, granularity: int) -> GridReading | None:
    """Take a read apart, for a hidden message shorter than one interval; None when none gives this read."""
    if read <= 0 or read % granularity:
        return None
    boundary = -(-read // interval) * interval
    low, high = max(boundary - read - granularity + 1, 0), boundary - read
    return GridReading(read, boundary, (low, high), (boundary, boundary + interval - 1))


def feasible_hidden(observed: Iterable[tuple[int, int]], grid: Grid) -> list[int]:
    """Sizes of the hidden message, below one interval, under which repeated prompts read what was reported.

    Args:
        observed: For each prompt that was sent again unchanged: its tokens, and those reported as read.
        grid: The rule; its own hidden size does not count.

    Returns:
        All that fit, rising; empty when none does.
    """
    pairs = list(observed)
    return [
        hidden
        for hidden in range(grid.interval or 1)
        if all(
            Grid(grid.minimum, grid.granularity, grid.interval, hidden, grid.recompute_last).read(size, size)
            == read
            for size, read in pairs
        )
    ]


@dataclass(slots=True)
class HiddenGauge:
    """Follows reported reads and narrows the hidden size down."""

    interval: int
    granularity: int
    _range: tuple[int, int] | None = None

    def add(self, read: int) -> None:
        """Take a reported read. One that does not fit the others starts anew: the message has changed."""
        found = explain_read(read, interval=self.interval, granularity=self.granularity)
        if found is None:
            return
        if self._range is None:
            self._range = found.hidden
            return
        low, high = max(self._range[0], found.hidden[0]), min(self._range[1], found.hidden[1])
        self._range = (low, high) if low <= high else found.hidden

    @property
    def hidden(self) -> int | None:
        """The middle of what fits; None before the first read."""
        return None if self._range is None else sum(self._range) // 2

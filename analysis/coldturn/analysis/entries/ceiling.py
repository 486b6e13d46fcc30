"""The ceiling: what a cache without bounds could have served."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from coldturn.analysis.entries.request import Key


class Ceiling:
    """Every key that was ever seen in one scope.

    Costs one entry of a set per unique key: about 60 to 100 bytes with whole numbers as keys.
    """

    def __init__(self) -> None:
        self._seen: set[Key] = set()

    def __len__(self) -> int:
        """Unique keys."""
        return len(self._seen)

    def observe(self, keys: Sequence[Key]) -> int:
        """How many leading keys were seen before; then they all are."""
        seen = self._seen
        shared = len(tuple(takewhile(seen.__contains__, keys)))
        seen.update(keys[shared:])
        return shared

"""Sums over a list that grows: a Fenwick tree (Fenwick, 1994)."""

from __future__ import annotations


class GrowingSums:
    """Whole numbers in a row. Appending, adding and summing cost the logarithm of their count."""

    def __init__(self) -> None:
        self._nodes = [0]
        self._total = 0

    def __len__(self) -> int:
        """How many numbers there are."""
        return len(self._nodes) - 1

    def append(self, value: int) -> None:
        """Put a number behind the others."""
        at = len(self._nodes)
        node, step = value, 1
        while at & step == 0:
            node += self._nodes[at - step]
            step <<= 1
        self._nodes.append(node)
        self._total += value

    def add(self, index: int, amount: int) -> None:
        """Add to the number at `index`, counted from 0."""
        at = index + 1
        self._total += amount
        while at < len(self._nodes):
            self._nodes[at] += amount
            at += at & -at

    def behind(self, index: int) -> int:
        """Sum of all numbers behind `index`."""
        at, front = index + 1, 0
        while at:
            front += self._nodes[at]
            at &= at - 1
        return self._total - front

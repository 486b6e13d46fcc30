"""Sets of small numbers as the bits of integers, and sums over all members at once.

One addition of such integers adds for all numbers that are set: what thousands of requests share with one is
summed in as many steps as that one has parts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence


def members(found: int) -> Iterator[int]:
    """The numbers that are set, the lowest first."""
    while found:
        lowest = found & -found
        yield lowest.bit_length() - 1
        found ^= lowest


def is_single(found: int) -> bool:
    """Whether exactly one number is set."""
    return found != 0 and not found & (found - 1)


def raise_level(levels: list[int], bit: int) -> None:
    """Count one more for the number of that bit.

    Args:
        levels: `levels[k]` holds the numbers that were counted more than k times.
        bit: Of the number.
    """
    if not levels or levels[-1] & bit:
        levels.append(bit)
    elif not levels[0] & bit:
        levels[0] |= bit
    else:
        levels[_first_without(levels, bit)] |= bit


def lower_level(levels: list[int], bit: int) -> None:
    """Count one less for a number that was counted."""
    at = 0 if len(levels) == 1 else _first_without(levels, bit) - 1
    levels[at] &= ~bit
    while levels and not levels[-1]:
        levels.pop()


def _first_without(levels: Sequence[int], bit: int) -> int:
    return bisect_left(levels, 1, key=lambda level: not level & bit)


def sums(weights: Mapping[int, int]) -> list[int]:
    """By number, the sum of the weights of the sets that it is in: bit i of all sums is the integer at i.

    Args:
        weights: By set, what its members get.
    """
    columns: list[list[int]] = []
    for found, weight in weights.items():
        for at in members(weight):
            while len(columns) <= at:
                columns.append([])
            columns[at].append(found)
    for at, column in enumerate(columns):
        carried = _add_up(column)
        if carried:
            if at + 1 == len(columns):
                columns.append([])
            columns[at + 1] += carried
    return [column[0] if column else 0 for column in columns]


def _add_up(column: list[int]) -> list[int]:
    """Leave one integer of a column; returns what is carried to the next. Three bits make one and a carry."""
    carried = []
    while len(column) > 1:
        one, other = column.pop(), column.pop()
        both = one ^ other
        carry = one & other
        if column:
            third = column.pop()
            carry |= both & third
            both ^= third
        column.append(both)
        if carry:
            carried.append(carry)
    return carried


def greatest(planes: Sequence[int]) -> tuple[int, int]:
    """The greatest of such sums, and the numbers that have it; 0 and none when all sums are 0."""
    most, found = 0, -1
    for at in reversed(range(len(planes))):
        having = planes[at] & found
        if having:
            most |= 1 << at
            found = having
    return (most, found) if most else (0, 0)


def above(planes: Sequence[int], limit: int) -> int:
    """The numbers whose sum is above `limit`, which is not negative."""
    more, same = 0, -1
    for at in reversed(range(max(len(planes), limit.bit_length()))):
        plane = planes[at] if at < len(planes) else 0
        if limit >> at & 1:
            same &= plane
        else:
            more |= same & plane
            same &= ~plane
    return more

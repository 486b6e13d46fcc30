"""Sums over sets of bits, held against sums one by one."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from coldturn.reference.prefix import lineage_bits as bits

WEIGHTS = st.dictionaries(st.integers(0, 255), st.integers(1, 5000), max_size=12)


def _one_by_one(weights: dict[int, int]) -> list[int]:
    return [sum(weight for found, weight in weights.items() if found >> at & 1) for at in range(8)]


@given(WEIGHTS, st.integers(0, 12_000))
def test_sums_are_those_of_each_number(weights: dict[int, int], limit: int) -> None:
    expected = _one_by_one(weights)
    planes = bits.sums(weights)
    assert [sum((plane >> at & 1) << bit for bit, plane in enumerate(planes)) for at in range(8)] == expected
    most, found = bits.greatest(planes)
    assert most == max(expected)
    assert list(bits.members(found)) == [at for at, one in enumerate(expected) if most and one == most]
    above = [at for at, one in enumerate(expected) if one > limit]
    assert list(bits.members(bits.above(planes, limit) & 255)) == above


def test_nothing_sums_up_to_nothing() -> None:
    assert bits.greatest(bits.sums({})) == (0, 0)
    assert bits.above(bits.sums({}), 0) == 0
    assert not bits.is_single(0)
    assert bits.is_single(4)
    assert not bits.is_single(5)


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=60))
def test_levels_count_by_number(steps: list[tuple[int, bool]]) -> None:
    levels: list[int] = []
    counts = Counter[int]()
    for number, more in steps:
        if more:
            counts[number] += 1
            bits.raise_level(levels, 1 << number)
        elif counts[number]:
            counts[number] -= 1
            bits.lower_level(levels, 1 << number)
        expected = [
            sum(1 << one for one in range(5) if counts[one] > k)
            for k in range(max(counts.values(), default=0))
        ]
        assert levels == expected

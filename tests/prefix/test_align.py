"""Which items of two sequences correspond."""

from __future__ import annotations

import pytest

from coldturn.reference.prefix.causes.align import Gap, displaced, gaps, grown_gaps


@pytest.mark.parametrize(
    ("was", "now", "found"),
    [
        ("abc", "abc", []),
        ("abc", "abcde", [Gap(3, 3, 3, 5)]),
        ("abc", "xbc", [Gap(0, 1, 0, 1)]),
        ("", "ab", [Gap(0, 0, 0, 2)]),
        ("ab", "", [Gap(0, 2, 0, 0)]),
        ("abc", "xyz", [Gap(0, 3, 0, 3)]),
        # The end is what was said there, not what is said last.
        ("qAc", "qBcXc", [Gap(1, 2, 1, 2), Gap(3, 3, 3, 5)]),
        ("qAcBc", "qXcYcZc", [Gap(1, 2, 1, 2), Gap(3, 4, 3, 4), Gap(5, 5, 5, 7)]),
        # The longest end counts, wherever it stands.
        ("qAbc", "qXcYbcZc", [Gap(1, 2, 1, 4), Gap(4, 4, 6, 8)]),
        # Of equal ends the one that leaves least in front.
        ("qRTsn", "qsnsn", [Gap(1, 3, 1, 1), Gap(5, 5, 3, 5)]),
        # Then the one that moved least: all came behind the first two items, or in front of the last.
        ("qAc", "qXYcZc", [Gap(1, 2, 1, 3), Gap(3, 3, 4, 6)]),
    ],
)
def test_a_sequence_that_was_appended_to(was: str, now: str, found: list[Gap]) -> None:
    assert grown_gaps(was, now) == found


def test_without_appending_both_ends_count() -> None:
    assert gaps("qAc", "qBcXc") == [Gap(1, 2, 1, 4)]


def test_one_item_thousands_of_times_is_not_searched_for_its_place() -> None:
    assert grown_gaps("a" * 5000, "b" + "a" * 9000) == [Gap(0, 0, 0, 4001)]
    assert grown_gaps("a" * 50, "b" + "a" * 90) == [Gap(0, 0, 0, 1), Gap(50, 50, 51, 91)]


@pytest.mark.parametrize(
    ("was", "now", "moved"),
    [
        ("abc", "abc", ""),
        ("ab", "ba", "ba"),
        ("abcd", "acdb", "b"),
        ("abcd", "dabc", "d"),
        ("abcd", "bacd", "ba"),
        ("abcdef", "fbcdea", "fa"),
        ("abcd", "dcba", "dcba"),
        ("abcde", "bcade", "a"),
    ],
)
def test_what_moved_is_what_not_every_order_in_common_has(was: str, now: str, moved: str) -> None:
    assert "".join(now[index] for index in displaced(was, now)) == moved

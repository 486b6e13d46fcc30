"""Tokens at boundaries: from bytes, from a real vocabulary, and fitted to what was reported."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldturn.analysis.entries.request import chained
from coldturn.analysis.estimates.tokens import (
    BytesWeigh,
    Measure,
    MissingTokenizerError,
    TokenizerWeigh,
    tokenizer,
)
from coldturn.reference.tokens import estimate_tokens


def test_without_reports_a_quarter_of_the_bytes_rounded_up() -> None:
    weights = [10, 3, 0, 400]
    links, _ = chained(range(4), weights)
    expected = [estimate_tokens(size) for size in accumulate(weights)]
    assert Measure().ends(links, weights, None) == expected == [3, 4, 4, 104]


def test_a_reported_input_fixes_the_end_and_scales_the_rest() -> None:
    links, _ = chained(range(3), [1, 1, 1])
    assert Measure().ends(links, [100, 100, 200], 40) == [10, 20, 40]


def test_a_request_that_continues_another_keeps_its_boundaries() -> None:
    measure = Measure()
    links, _ = chained(range(4), [1] * 4)
    assert measure.ends(links[:2], [100, 300], 80) == [20, 80]
    # The new part is denser: it gets what is left.
    assert measure.ends(links, [100, 300, 50, 50], 180) == [20, 80, 130, 180]
    # Unreported, it goes on at the rate of what it repeats.
    assert measure.ends([*links[:2], 7], [100, 300, 100], None) == [20, 80, 100]


def test_what_was_read_and_written_up_to_a_marker_is_known_from_then_on() -> None:
    measure = Measure()
    links, _ = chained(range(3), [1] * 3)
    first = measure.ends(links, [100, 100, 8], 52)
    measure.learn(links, [100, 100, 8], 1, 49)
    assert first == [25, 50, 52]
    assert measure.ends(links, [100, 100, 8], 52) == [25, 49, 52]
    # When the marker stands behind the last block, the prompt's own last tokens are not part of the prefix.
    measure.learn(links, [100, 100, 8], 2, 50)
    assert measure.ends(links, [100, 100, 8], 52) == [25, 49, 50]


def test_a_report_smaller_than_what_was_learned_wins() -> None:
    measure = Measure()
    links, _ = chained(range(2), [1] * 2)
    measure.ends(links[:1], [100], 90)
    assert measure.ends(links, [100, 100], 60) == [30, 60]


def test_only_so_many_reports_are_remembered() -> None:
    measure = Measure(most_anchors=1)
    measure.ends([1], [100], 90)
    measure.ends([2], [100], 80)
    assert measure.ends([1], [100], None) == [25]
    assert measure.ends([2], [100], None) == [80]


@given(
    weights=st.lists(st.integers(0, 500), min_size=1, max_size=12),
    earlier=st.lists(st.tuples(st.integers(1, 12), st.integers(0, 2_000)), max_size=4),
    reported=st.one_of(st.none(), st.integers(0, 3_000)),
)
def test_counts_never_fall_and_end_where_the_provider_says(
    weights: list[int], earlier: list[tuple[int, int]], reported: int | None
) -> None:
    measure = Measure()
    links, _ = chained(range(len(weights)), weights)
    for size, tokens in earlier:
        if size < len(weights):
            measure.ends(links[:size], weights[:size], tokens)
    ends = measure.ends(links, weights, reported)
    assert len(ends) == len(weights)
    assert all(one <= then for one, then in pairwise([0, *ends]))
    if reported is not None:
        assert ends[-1] == reported


def test_pieces_are_counted_once() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return len(text.split())

    weigh = TokenizerWeigh(count, most=2)
    assert [weigh(text) for text in (b"a b", b"a b", b"c", b"d", b"a b")] == [2, 2, 1, 1, 2]
    assert asked == ["a b", "c", "d", "a b"]


def test_a_real_vocabulary_counts_tokens() -> None:
    if find_spec("bpe_openai") is None:
        pytest.skip("the extra tokenizer is not installed")
    weigh = tokenizer("o200k_base")
    assert weigh(b"hello world") == 2
    assert weigh(b"<|endoftext|>") > 1
    assert weigh("\udc80x".encode("utf-8", "surrogatepass")) > 1
    assert weigh.tokens_per_unit == 1
    with pytest.raises(MissingTokenizerError, match=r"no such vocabulary; there are .*o200k_base"):
        tokenizer("klingon")


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "bpe_openai", None)
    with pytest.raises(MissingTokenizerError, match=r"coldturn\[tokenizer\]"):
        tokenizer.__wrapped__("o200k_base")


def test_bytes_weigh_what_they_are() -> None:
    assert BytesWeigh()("ä".encode()) == 2

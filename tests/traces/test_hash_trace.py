"""The size of a trace's blocks, told from lengths and numbers of blocks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldturn.traces.formats.hash_trace import BlockRequest, block_size


def request(tokens: int, blocks: int) -> BlockRequest:
    return BlockRequest(0, 0.0, tokens, list(range(blocks)))


@given(
    size=st.sampled_from([16, 64, 128, 512, 1_024]),
    lengths=st.lists(st.integers(1, 50_000), min_size=1, max_size=30),
)
def test_the_size_is_found_or_left_open_and_never_another(size: int, lengths: list[int]) -> None:
    found = block_size(request(tokens, -(-tokens // size)) for tokens in lengths)
    assert found in (None, size)
    # A long request admits one size only.
    long = [request(tokens, -(-tokens // size)) for tokens in (*lengths, 100 * size + 1)]
    assert block_size(long) == size


@pytest.mark.parametrize(
    "requests",
    [
        [],
        [request(400, 1)],
        [request(0, 0)],
        [request(1_500, 3), request(1_500, 30)],
        # 513 tokens in two blocks would be of 257 to 512 tokens, 1,025 in two of 513 to 1,024.
        [request(513, 2), request(1_025, 2)],
        # Of 500 to 511 tokens: no power of two.
        [request(1_000, 2), request(512, 2)],
    ],
)
def test_what_fits_no_size_or_several_has_none(requests: list[BlockRequest]) -> None:
    assert block_size(requests) is None

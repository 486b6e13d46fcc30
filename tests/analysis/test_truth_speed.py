"""The speed benchmark at a hundredth of its size: what it times is right, and it fits its limits."""

from __future__ import annotations

from benchmarks.estimate_speed import LIMIT_MEGABYTES, LIMIT_TIMES, REQUESTS, Trace, measure

from coldturn.analysis.curves.block_trace import BlockRequest, read_block_trace


def test_the_trace_is_the_one_that_is_described() -> None:
    trace = Trace(2_000)
    lines = [line for piece in trace.pieces() for line in piece]
    read = [one for one in read_block_trace(lines, name="generated") if isinstance(one, BlockRequest)]
    assert len(read) == 2_000
    seen: set[int] = set()
    for one in read:
        shared = next((place for place, block in enumerate(one.blocks) if block not in seen), len(one.blocks))
        assert seen.isdisjoint(one.blocks[shared:])
        seen.update(one.blocks)
    assert len(seen) <= trace.unique
    assert lines == [line for piece in Trace(2_000).pieces() for line in piece]
    assert lines != [line for piece in Trace(2_000, seed=8).pieces() for line in piece]


def test_a_hundredth_of_the_benchmark() -> None:
    figures = measure(REQUESTS // 100)
    assert 95 < figures["blocks_a_request"] < 105
    assert 5.2 < figures["unique_blocks"] / figures["requests"] < 6.2
    assert 0 < figures["hit_rate_rules"] < figures["hit_rate_ceiling"] < 1
    # Small structures stay in the processor's cache, which flatters the plain loops: a little leeway here.
    assert figures["ours_over_both"] < 1.5 * LIMIT_TIMES
    assert figures["peak_megabytes"] < LIMIT_MEGABYTES
    assert figures["ceiling_bytes_a_unique_block"] < 110

"""Curves from one pass against a simulation for every size."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldturn.analysis.curves.block_trace import BlockRequest, read_block_trace
from coldturn.analysis.curves.chart import curves_chart
from coldturn.analysis.curves.curves import Curve, NotPrefixesError, StackDistances
from coldturn.analysis.curves.inputs import block_curves, exchange_curves
from coldturn.analysis.curves.sums import GrowingSums
from coldturn.analysis.entries.prefix import BlockCache, Grid, PrefixCache
from coldturn.analysis.entries.request import CacheRequest, chained
from coldturn.analysis.entries.store import EntryStore, TouchOrder
from coldturn.traces.exchange import EntryError
from coldturn.traces.readers import read_exchanges

Sent = tuple[list[int], float, str]

traces = st.lists(
    st.tuples(
        st.lists(st.integers(0, 2), max_size=6), st.floats(0, 9, allow_subnormal=False), st.sampled_from("ab")
    ),
    max_size=25,
)


def chains(trace: Sequence[Sent]) -> list[Sent]:
    """Keys that stand for all before them, and times that rise."""
    times = accumulate(gap for _, gap, _ in trace)
    return [
        (chained(digits, digits)[0], now, scope) for (digits, _, scope), now in zip(trace, times, strict=True)
    ]


@given(trace=traces, order=st.sampled_from(TouchOrder))
def test_every_capacity_and_lifetime_reads_what_its_own_simulation_reads(
    trace: list[Sent], order: TouchOrder
) -> None:
    distances = StackDistances(order)
    sent = chains(trace)
    ceilings = [distances.observe(keys, now=now, scope=scope) for keys, now, scope in sent]
    capacity, ttl = distances.capacity_curve(), distances.ttl_curve()
    for size in range(40):
        caches = {scope: BlockCache(EntryStore(capacity=size, touch=order)) for scope in "ab"}
        assert capacity.read_estimated(size) == sum(caches[s].observe(keys, now) for keys, now, s in sent)
    for seconds in [0.0, *ttl.bounds, 4.5, 1e9]:
        caches = {scope: BlockCache(EntryStore(ttl=seconds)) for scope in "ab"}
        assert ttl.read_estimated(seconds) == sum(caches[s].observe(keys, now) for keys, now, s in sent)
    assert capacity.ceiling_estimated == ttl.ceiling_estimated == sum(ceilings)
    assert capacity.total == sum(len(keys) for keys, _, _ in sent)


@given(trace=traces, order=st.sampled_from(TouchOrder))
def test_blocks_of_different_sizes(trace: list[Sent], order: TouchOrder) -> None:
    distances = StackDistances(order)
    requests = []
    for digits, _, _ in trace:
        keys, ends = chained(digits, [1 + 3 * digit for digit in digits])
        requests.append(CacheRequest(keys, ends))
        distances.observe(keys, ends)
    curve = distances.capacity_curve()
    for size in range(0, 80, 3):
        cache = PrefixCache(Grid(), EntryStore(capacity=size, touch=order))
        assert curve.read_estimated(size) == sum(cache.observe(one).read for one in requests)


@given(values=st.lists(st.integers(0, 9), min_size=1), data=st.data())
def test_sums_of_a_list_that_grows(values: list[int], data: st.DataObject) -> None:
    sums = GrowingSums()
    for value in values:
        sums.append(value)
    at = data.draw(st.integers(0, len(values) - 1))
    sums.add(at, 5)
    values[at] += 5
    assert len(sums) == len(values)
    assert [sums.behind(index) for index in range(len(values))] == [
        sum(values[index + 1 :]) for index in range(len(values))
    ]


@pytest.mark.parametrize(
    "last", [[2, 1], [9, 1], [1, 9, 2], [2], [1, 5], [1, 5, 3], [4, 2], [1, 2, 6], [1, 3], [1, 2, 3, 4]]
)
def test_hashes_that_stand_for_single_blocks_are_refused(last: list[int]) -> None:
    distances = StackDistances()
    distances.observe([1, 2, 3])
    distances.observe([4, 5, 6])
    with pytest.raises(NotPrefixesError, match="request 2: block"):
        distances.observe(last)


def test_what_a_curve_says() -> None:
    curve = Curve([2, 10], [3, 4], 8)
    assert [curve.read_estimated(at) for at in (1, 2, 9, 10, 99)] == [0, 3, 3, 4, 4]
    assert curve.hit_rate_estimated(10) == 0.5
    assert (curve.enough_for(0.75), curve.enough_for(1.0)) == (2, 10)
    nothing = StackDistances().capacity_curve()
    assert nothing.hit_rate_estimated(5) is None
    assert nothing.enough_for(1.0) is None
    assert nothing.ceiling_estimated == 0


def test_times_that_go_back_count_as_the_latest() -> None:
    distances = StackDistances()
    for now in (10.0, 4.0, 13.0):
        distances.observe([1], now=now)
    assert distances.ttl_curve().bounds == [0.0, 3.0]


def test_a_trace_with_broken_lines_and_its_picture() -> None:
    items: list[BlockRequest | EntryError] = [
        BlockRequest(0, 0.0, 600, [1, 2]),
        EntryError("trace", 1, "broken"),
        BlockRequest(2, 5.0, 900, [1, 3]),
    ]
    curves = block_curves(items)
    assert (curves.requests, curves.left_out, curves.unit) == (2, 1, "blocks")
    assert curves.capacity.bounds == [2]
    figure = curves_chart({"a trace": curves})
    left, right = figure.axes
    assert left.get_legend_handles_labels()[1] == ["a trace (blocks)"]
    assert np.asarray(right.lines[0].get_xdata())[0] == 5.0
    with pytest.raises(ValueError, match="nothing to draw"):
        curves_chart({"empty": block_curves([])})


def test_recorded_requests_by_capacity(tmp_path: Path) -> None:
    body = '{"model":"m","messages":[{"role":"user","content":"%s"}%s]}'
    more = ',{"role":"assistant","content":"yes"},{"role":"user","content":"more"}'
    file = tmp_path / "log.jsonl"
    file.write_text("\n".join([body % ("x" * 400, ""), body % ("y" * 400, ""), body % ("x" * 400, more)]))
    curves = exchange_curves(read_exchanges(file))
    assert (curves.requests, curves.left_out, curves.ttl) == (3, 0, None)
    # The first prompt is read again, with the second one above it.
    assert curves.capacity.bounds == [200]
    assert curves.capacity.ceiling_estimated == 100


def test_recordings_share_no_cache(tmp_path: Path) -> None:
    body = '{"model":"m","messages":[{"role":"user","content":"%s"}]}' % ("x" * 400)
    files = [tmp_path / name for name in ("one.jsonl", "two.jsonl")]
    for file in files:
        file.write_text(body)
    curves = exchange_curves(item for file in files for item in read_exchanges(file))
    assert (curves.requests, curves.capacity.ceiling_estimated) == (2, 0)
    twice = exchange_curves(item for _ in range(2) for item in read_exchanges(files[0]))
    assert twice.capacity.ceiling_estimated == 100


@pytest.mark.parametrize("name", ["conversation", "synthetic"])
def test_a_published_trace_at_sampled_sizes(corpus: Path, name: str) -> None:
    with (corpus / "kv-trace" / f"mooncake_{name}_trace.jsonl").open("rb") as lines:
        requests = [one for one in read_block_trace(lines, name=name) if isinstance(one, BlockRequest)]
    curves = block_curves(requests)
    assert curves.ttl is not None
    for size in (37, 5_000, 41_414):
        cache = BlockCache(EntryStore(capacity=size))
        assert curves.capacity.read_estimated(size) == sum(cache.observe(one.blocks) for one in requests)
    for seconds in (2.0, 300.0):
        cache = BlockCache(EntryStore(ttl=seconds))
        reads = sum(cache.observe(one.blocks, one.started) for one in requests)
        assert curves.ttl.read_estimated(seconds) == reads

"""Published traces of block hashes: hit rates by capacity and lifetime, from one pass and by simulation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from coldturn.analysis.curves.block_trace import BlockRequest, read_block_trace
from coldturn.analysis.curves.inputs import Curves, block_curves
from coldturn.analysis.entries.prefix import BlockCache
from coldturn.analysis.entries.store import EntryStore, TouchOrder

TRACES = ("conversation", "synthetic")
CAPACITIES = (50_000, 30_000, 10_000, 1_000)
LIFETIMES = (60, 300, 3_600)


def requests_of(corpus: Path, name: str) -> list[BlockRequest]:
    """One of Mooncake's traces. All of its lines must be requests."""
    with (corpus / "kv-trace" / f"mooncake_{name}_trace.jsonl").open("rb") as lines:
        read = list(read_block_trace(lines, name=name))
    requests = [item for item in read if isinstance(item, BlockRequest)]
    assert len(requests) == len(read), f"{name}: {len(read) - len(requests)} broken lines"
    return requests


def simulated(requests: Sequence[BlockRequest], capacity: int | None, touch: TouchOrder) -> float:
    """Hit rate of a cache of one size, by itself."""
    cache = BlockCache(EntryStore(capacity=capacity, touch=touch))
    read = sum(cache.observe(one.blocks, one.started) for one in requests)
    return read / sum(len(one.blocks) for one in requests)


def section(corpus: Path) -> Iterator[str]:
    """Lines of the page."""
    heads = " | ".join(f"{one:,}" for one in CAPACITIES)
    yield f"| trace | touched | unlimited | {heads} |"
    yield f"|---|---|{'---:|' * (len(CAPACITIES) + 1)}"
    curves: dict[str, Curves] = {}
    for name in TRACES:
        requests = requests_of(corpus, name)
        curves[name] = block_curves(requests)
        for touch in TouchOrder:
            one = curves[name] if touch is TouchOrder.FRONT_TO_BACK else block_curves(requests, touch=touch)
            for capacity in CAPACITIES:
                assert one.capacity.hit_rate_estimated(capacity) == simulated(requests, capacity, touch)
            rates = " | ".join(
                _rate(one.capacity.hit_rate_estimated(at)) for at in (float("inf"), *CAPACITIES)
            )
            yield f"| {name} | {touch.replace('_', ' ')} | {rates} |"
    yield from ("", "The same by the lifetime of an entry, which slides with each use:", "")
    yield (f"| trace | requests | blocks | {' | '.join(f'{one:,} s' for one in LIFETIMES)} |")
    yield f"|---|---:|---:|{'---:|' * len(LIFETIMES)}"
    for name, one in curves.items():
        assert one.ttl is not None
        rates = " | ".join(_rate(one.ttl.hit_rate_estimated(at)) for at in LIFETIMES)
        yield f"| {name} | {one.requests:,} | {one.capacity.total:,} | {rates} |"


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.4f}"

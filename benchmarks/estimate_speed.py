"""What estimating costs beside parsing and plain dict loops over the same trace of block hashes.

A generated multi-tenant trace: sessions of tenants take turns at random, each turn adds five or six blocks
to what was sent before, a request has 100 blocks on average, and a million requests 5.5 million unique ones.
The lines are made piece by piece, and each piece goes by three clocks (of processor time, so that other work
on the machine counts little):

- parsing;
- two plain loops: a set of what was seen, and an LRU cache in an OrderedDict;
- ours: the ceiling and one set of rules, with a row per request and totals.

Then the trace is written to a file, and ``coldturn estimate`` reads that in processes of their own: in one
pass, and in passes of four shares. The figures are the most memory that each held, the interpreter and all.

Run it in full with ``python -m benchmarks.estimate_speed 1000000``.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import msgspec

from benchmarks.__main__ import print_figures
from coldturn.analysis.curves.block_trace import BlockEstimation, BlockRequest, read_block_trace
from coldturn.analysis.estimates.registry import shipped, with_parameters
from coldturn.analysis.estimates.report import EstimateReport

REQUESTS = 1_000_000
SHORT_RUN = 50_000
LIMIT_TIMES = 1.2
LIMIT_MEGABYTES = 2_000
SHARDS = 4
PIECE = 2_000
BLOCK_TOKENS = 512

_TENANT_BLOCKS = 56
_TURNS = 15
_SESSIONS_OF_A_TENANT = 400
_ONE_ACTIVE_IN = 500
_CAPACITY_PER_REQUEST = 0.06
"""Not enough for all sessions that are going on."""


@dataclass
class Trace:
    """Makes requests, the same ones for the same arguments.

    Attributes:
        unique: Blocks so far.
    """

    requests: int
    seed: int = 7
    unique: int = 0
    _random: Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)  # noqa: S311 - a workload, no secret

    def pieces(self) -> Iterator[list[bytes]]:
        """Lines of the trace, in pieces."""
        tenants: list[list[int]] = []
        active: list[tuple[list[int], int]] = []
        opened = 0
        piece: list[bytes] = []
        for number in range(self.requests):
            if len(active) < max(self.requests // _ONE_ACTIVE_IN, 2):
                if opened % _SESSIONS_OF_A_TENANT == 0:
                    tenants.append(self._new(_TENANT_BLOCKS))
                active.append((list(self._random.choice(tenants)), 0))
                opened += 1
            at = self._random.randrange(len(active))
            blocks, turn = active[at]
            blocks += self._new(5 + self._random.randrange(2))
            active[at] = (blocks, turn + 1)
            if turn + 1 == _TURNS:
                active[at] = active[-1]
                active.pop()
            tokens = len(blocks) * BLOCK_TOKENS
            line = {"timestamp": number, "input_length": tokens, "output_length": 1, "hash_ids": blocks}
            piece.append(msgspec.json.encode(line))
            if len(piece) == PIECE:
                yield piece
                piece = []
        yield piece

    def _new(self, count: int) -> list[int]:
        self.unique += count
        return list(range(self.unique - count, self.unique))


@dataclass
class Plain:
    """The two loops that anybody would write first: blocks seen before, and hits of an LRU cache."""

    capacity: int
    seen: set[int] = field(default_factory=set)
    cache: OrderedDict[int, None] = field(default_factory=OrderedDict)
    repeated: int = 0
    hits: int = 0

    def take(self, blocks: list[int]) -> None:
        """Take the next request."""
        seen, cache, capacity = self.seen, self.cache, self.capacity
        for block in blocks:
            if block in seen:
                self.repeated += 1
            else:
                seen.add(block)
        for block in blocks:
            if block in cache:
                self.hits += 1
                cache.move_to_end(block)
            else:
                cache[block] = None
                if len(cache) > capacity:
                    cache.popitem(last=False)


def estimation(capacity: int, report: EstimateReport) -> BlockEstimation:
    """Ours: the ceiling, and vLLM's rules with a capacity."""
    rules = shipped().named("vllm")
    settings = {"granularity": str(BLOCK_TOKENS), "capacity": str(capacity)}
    return BlockEstimation("generated", rules, with_parameters(rules.parameters, settings), report)


def measure(requests: int) -> Mapping[str, float]:
    """Figures of a trace of so many requests."""
    trace = Trace(requests)
    capacity = _capacity(requests)
    plain, report = Plain(capacity), EstimateReport(keep=False)
    ours = estimation(capacity, report)
    parsing = loops = estimating = 0.0
    blocks = 0
    for lines in trace.pieces():
        start = time.process_time()
        read = [one for one in read_block_trace(lines, name="generated") if isinstance(one, BlockRequest)]
        parsed = time.process_time()
        for one in read:
            plain.take(one.blocks)
        looped = time.process_time()
        for one in read:
            ours.add(one)
        estimated = time.process_time()
        parsing += parsed - start
        loops += looped - parsed
        estimating += estimated - looped
        blocks += sum(len(one.blocks) for one in read)
    totals = report.totals
    assert totals.requests == requests
    assert totals.ceiling_estimated == plain.repeated * BLOCK_TOKENS, "the ceiling is what the set says"
    return {
        "requests": requests,
        "blocks_a_request": blocks / requests,
        "unique_blocks": trace.unique,
        "seconds_parsing": parsing,
        "seconds_plain_loops": loops,
        "seconds_ours": estimating,
        "ours_over_both": estimating / (parsing + loops),
        "ours_over_both_limit": LIMIT_TIMES,
        "ours_with_parsing_over_both": (estimating + parsing) / (parsing + loops),
        # The ceiling is such a set.
        "ceiling_bytes_a_unique_block": (sys.getsizeof(plain.seen) + 32 * len(plain.seen)) / len(plain.seen),
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024,
        "peak_megabytes_limit": LIMIT_MEGABYTES,
        "hit_rate_ceiling": totals.hit_rate_ceiling_estimated or 0.0,
        "hit_rate_rules": totals.hit_rate_estimated or 0.0,
    }


def memory(requests: int) -> Mapping[str, float]:
    """The most memory that the program holds over a trace of so many requests, in one pass and in shares."""
    with TemporaryDirectory() as folder:
        trace = Path(folder, "generated.jsonl")
        with trace.open("wb") as file:
            for lines in Trace(requests).pieces():
                file.writelines(line + b"\n" for line in lines)
        whole, text = _peak_megabytes(trace, requests, 1)
        shared, same = _peak_megabytes(trace, requests, SHARDS)
    assert text == same, "any number of shares gives the same report"
    return {
        "program_peak_megabytes": whole,
        "program_peak_megabytes_limit": LIMIT_MEGABYTES,
        f"program_peak_{SHARDS}_shards": shared,
    }


def _peak_megabytes(trace: Path, requests: int, shards: int) -> tuple[float, bytes]:
    """Of one run, with what it printed. A small program starts it: peaks are inherited by what is forked."""
    options = f"--rules vllm --capacity {_capacity(requests)} --shards {shards}"
    command = [sys.executable, "-c", _MEASURED, str(trace), *options.split()]
    done = subprocess.run(command, capture_output=True, check=True)  # noqa: S603 # ours, no shell
    return float(done.stderr.splitlines()[-1]) / 1_024, done.stdout


_MEASURED = """
import resource, subprocess, sys
code = subprocess.run([sys.executable, "-m", "coldturn.replay.cli.app", "estimate", *sys.argv[1:]]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def _capacity(requests: int) -> int:
    return max(int(requests * _CAPACITY_PER_REQUEST), 1)


def run() -> Mapping[str, float]:
    """Figures of a short run, for every day."""
    return {**measure(SHORT_RUN), **memory(SHORT_RUN)}


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else REQUESTS
    sys.exit(min(print_figures({**measure(wanted), **memory(wanted)}), 1))

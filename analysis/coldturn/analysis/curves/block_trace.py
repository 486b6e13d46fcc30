"""Traces of block hashes, as Mooncake publishes them: a hash per block that stands for all before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from coldturn.analysis.breaks.findings import ReadError
from coldturn.analysis.entries.ceiling import Ceiling
from coldturn.analysis.entries.prefix import BlockCache
from coldturn.analysis.estimates.registry import CannotEvaluateError
from coldturn.analysis.estimates.report import EstimateReport, Flag, RequestEstimate
from coldturn.analysis.estimates.ruleset import EntryModel, Parameters, RuleSet
from coldturn.analysis.estimates.simulate import block_store, grid_of
from coldturn.reference.tokens import EstimatedTokens
from coldturn.traces.exchange import EntryError

_MILLISECONDS = 1_000


class NoBlockRulesError(CannotEvaluateError):
    """A trace of block hashes, and no rules that it can be held against."""

    def __init__(self, source: str) -> None:
        self.source = source
        super().__init__(
            f"{source} holds block hashes and names no model: name rules with --rules, such as vllm, "
            "and the trace's block size with --set granularity=TOKENS"
        )


@dataclass(frozen=True, slots=True)
class BlockRequest:
    """One request of a trace.

    Attributes:
        started: Seconds from the trace's own zero.
        tokens: Of the whole input.
        blocks: A hash per block, in order.
    """

    entry: int
    started: float
    tokens: int
    blocks: list[int]


class _Line(msgspec.Struct):
    hash_ids: list[int]
    input_length: int
    timestamp: float
    output_length: int = 0


def read_block_trace(lines: Iterable[bytes], *, name: str) -> Iterator[BlockRequest | EntryError]:
    """Read a trace line by line.

    Args:
        lines: JSON objects with ``hash_ids``, ``input_length`` and ``timestamp`` in milliseconds.
        name: What reports call it.

    Yields:
        Requests in order, and an error for each line that is none or that holds a negative length.
    """
    decoder = msgspec.json.Decoder(_Line)
    for entry, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            read = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            yield EntryError(name, entry, f"line {entry + 1} is no request of block hashes: {error}")
            continue
        if min(read.input_length, read.output_length) < 0:
            yield EntryError(name, entry, f"line {entry + 1} holds a negative length")
            continue
        yield BlockRequest(entry, read.timestamp / _MILLISECONDS, read.input_length, read.hash_ids)


class BlockEstimation:
    """Holds a trace of block hashes against rules of entry model F1.

    Args:
        name: What reports call the trace.
        rules: The rules; their granularity is the size of a block.
        parameters: As the user wants them.
        report: Is added to.

    Raises:
        NoBlockRulesError: The rules are of another entry model.
    """

    def __init__(
        self, name: str, rules: RuleSet | None, parameters: Parameters, report: EstimateReport
    ) -> None:
        if rules is None or rules.model is not EntryModel.LONGEST_PREFIX or parameters.slots is not None:
            raise NoBlockRulesError(name)
        self._name = name
        self._rules = rules
        self._block = parameters.granularity
        self._grid = grid_of(parameters)
        self._cache = BlockCache(block_store(parameters))
        self._ceiling = Ceiling()
        self._report = report
        self._latest: float | None = None
        self._count = 0

    def add(self, item: BlockRequest | EntryError) -> None:
        """Take the next request; one that cannot be read is noted."""
        if isinstance(item, EntryError):
            self._report.errors.append(ReadError(item.source, item.entry, item.message))
            return
        flags = []
        if self._latest is not None and item.started < self._latest:
            flags.append(Flag.TIME_GOES_BACK)
        else:
            self._latest = item.started
        if -(-item.tokens // self._block) != len(item.blocks):
            flags.append(Flag.LENGTH_MISMATCH)
        shared = self._ceiling.observe(item.blocks)
        known = self._cache.observe(item.blocks, self._latest)
        read = self._grid.read(min(known * self._block, item.tokens), item.tokens)
        row = RequestEstimate(
            source=self._name,
            request=self._count,
            entry=item.entry,
            lineage=None,
            model=None,
            rules=self._rules.name,
            input_reported=None,
            input_estimated=EstimatedTokens(item.tokens),
            ceiling_estimated=EstimatedTokens(min(shared * self._block, item.tokens)),
            read_estimated=EstimatedTokens(read),
            written_estimated=EstimatedTokens(0),
            read_reported=None,
            block=self._block,
            flags=tuple(flags),
        )
        self._count += 1
        self._report.add(row)

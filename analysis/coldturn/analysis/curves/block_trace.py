"""Traces of block hashes held against rules, and against a cache without bounds."""

from __future__ import annotations

from functools import partial

from coldturn.analysis.breaks.findings import ReadError
from coldturn.analysis.entries.ceiling import Ceiling
from coldturn.analysis.entries.prefix import BlockCache
from coldturn.analysis.estimates.registry import CannotEvaluateError
from coldturn.analysis.estimates.report import EstimateReport, Flag, RequestEstimate
from coldturn.analysis.estimates.ruleset import EntryModel, Parameters, RuleSet
from coldturn.analysis.estimates.shares import WHOLE, Share
from coldturn.analysis.estimates.simulate import block_store, grid_of
from coldturn.reference.tokens import EstimatedTokens
from coldturn.traces.exchange import EntryError
from coldturn.traces.formats.hash_trace import BlockRequest, read_block_trace

__all__ = ["BlockEstimation", "BlockRequest", "NoBlockRulesError", "read_block_trace"]


class NoBlockRulesError(CannotEvaluateError):
    """A trace of block hashes, and no rules that it can be held against."""

    def __init__(self, source: str) -> None:
        self.source = source
        super().__init__(
            f"{source} holds block hashes and names no model: name rules with --rules, such as vllm, "
            "and the trace's block size with --set granularity=TOKENS (coldturn curves needs neither)"
        )


class BlockEstimation:
    """Holds a trace of block hashes against rules of entry model F1; without rules only the ceiling is told.

    Args:
        name: What reports call the trace.
        rules: The rules; None for the ceiling alone.
        parameters: As the user wants them; their granularity is the size of a block.
        report: Is added to.
        share: Which blocks this pass follows. A cache with a capacity is one for all blocks, and no larger
            than that: the first share follows it whole, and the others none.

    Raises:
        NoBlockRulesError: The rules are of another entry model.
    """

    def __init__(
        self,
        name: str,
        rules: RuleSet | None,
        parameters: Parameters,
        report: EstimateReport,
        share: Share = WHOLE,
    ) -> None:
        if rules is not None and (
            rules.model is not EntryModel.LONGEST_PREFIX or parameters.slots is not None
        ):
            raise NoBlockRulesError(name)
        self._name = name
        self._rules = rules
        self._block = parameters.granularity
        self._grid = grid_of(parameters)
        self._cache = BlockCache(block_store(parameters))
        self._ceiling = Ceiling()
        self._report = report
        self._share = share
        self._bounded = parameters.capacity is not None
        self._follows = rules is not None and (share.first or not self._bounded)
        self._latest: float | None = None
        self._count = 0

    def add(self, item: BlockRequest | EntryError) -> None:
        """Take the next request into the report; one that cannot be read is noted."""
        found = self.estimate(item)
        if isinstance(found, ReadError):
            self._report.errors.append(found)
        else:
            self._report.add(found)

    def estimate(self, item: BlockRequest | EntryError) -> RequestEstimate | ReadError:
        """Take the next request; its row as far as this share's blocks tell, or why it cannot be read."""
        if isinstance(item, EntryError):
            return ReadError(item.source, item.entry, item.message)
        flags = [] if self._rules is not None else [Flag.NO_RULES]
        if self._latest is not None and item.started < self._latest:
            flags.append(Flag.TIME_GOES_BACK)
        else:
            self._latest = item.started
        if -(-item.tokens // self._block) != len(item.blocks):
            flags.append(Flag.LENGTH_MISMATCH)
        shared, read = self._leading_estimated(item, self._latest)
        row = RequestEstimate(
            source=self._name,
            request=self._count,
            entry=item.entry,
            lineage=None,
            model=None,
            rules=None if self._rules is None else self._rules.name,
            input_reported=None,
            input_estimated=EstimatedTokens(item.tokens),
            ceiling_estimated=EstimatedTokens(min(shared * self._block, item.tokens)),
            read_estimated=read,
            written_estimated=None if read is None else EstimatedTokens(0),
            read_reported=None,
            block=self._block,
            flags=tuple(flags),
        )
        self._count += 1
        return row

    def _leading_estimated(self, item: BlockRequest, now: float) -> tuple[int, EstimatedTokens | None]:
        """Leading blocks that were ever seen, and the tokens that the rules let the request read."""
        blocks, ceiling, held = item.blocks, self._ceiling.observe, partial(self._cache.observe, now=now)
        known = None
        if not self._follows:
            (shared,) = self._share.leading(blocks, ceiling)
        elif self._bounded or self._share.of == 1:
            (shared,) = self._share.leading(blocks, ceiling)
            known = held(blocks)
        else:
            shared, known = self._share.leading(blocks, ceiling, held)
        return shared, None if known is None else self._tokens_estimated(known, item.tokens)

    def _tokens_estimated(self, known: int, tokens: int) -> EstimatedTokens:
        return EstimatedTokens(self._grid.read(min(known * self._block, tokens), tokens))

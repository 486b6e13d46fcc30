"""F1: any earlier request's whole prefix can be read, rounded down to a block.

vLLM, SGLang, xAI, OpenAI up to GPT-5.5, Azure, Gemini's implicit caching.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coldturn.analysis.entries.request import CacheRequest, Key, Reading
from coldturn.analysis.entries.store import EntryStore


@dataclass(frozen=True, slots=True)
class Grid:
    """Where a match may end.

    Attributes:
        minimum: Tokens below which nothing is read.
        granularity: A read is rounded down to a multiple of it.
        interval: Breakpoints stand at multiples of it, counted from the start of a hidden system message.
        hidden: Tokens of that message.
        recompute_last: The last token of a prompt is always computed, so that there is something to sample
            from: at most all tokens but one are read.
    """

    minimum: int = 0
    granularity: int = 1
    interval: int | None = None
    hidden: int = 0
    recompute_last: bool = False

    def read(self, common: int, total: int) -> int:
        """Tokens that are read of `common` ones by a request of `total`."""
        if self.recompute_last:
            common = min(common, total - 1)
        if self.interval is not None:
            absolute = common + self.hidden
            common = absolute - absolute % self.interval - self.hidden
        read = max(common - common % self.granularity, 0)
        return read if read >= self.minimum else 0


class PrefixCache:
    """One scope of an F1 cache.

    A request's keys are readable from the moment its answer begins (`CacheRequest.readable`), and at once
    when that is not known. Their lifetime counts from its start.

    Args:
        grid: Where a match may end; may be replaced between requests.
        store: What is held. Its capacity counts tokens when `weighted`, else keys.
        weighted: Whether keys differ in size.
    """

    def __init__(self, grid: Grid, store: EntryStore, *, weighted: bool = True) -> None:
        self.grid = grid
        self._store = store
        self._weighted = weighted

    def observe(self, request: CacheRequest) -> Reading:
        """Take the next request."""
        store, keys, now = self._store, request.keys, request.started or 0.0
        store.advance(now)
        known = store.run(keys, now)
        common = request.ends[known - 1] if known else 0
        partial = request.partial
        if partial is not None and partial.tokens > common and store.alive(partial.key, now):
            common = partial.tokens
        if request.readable is None or request.readable <= now:
            self._touch(request, keys, now, known)
        else:
            self._touch(request, keys[:known], now, known)
            store.wait(request.readable, lambda: self._touch(request, keys[known:], now, 0))
        return Reading(self.grid.read(common, request.tokens))

    def _touch(self, request: CacheRequest, keys: Sequence[Key], now: float, known: int) -> None:
        if request.ttl is not None:
            self._store.lengthen(keys, now, request.ttl)
        if not self._weighted:
            self._store.touch(keys, now, known=known)
            return
        ends = request.ends
        weights = {key: end - start for key, start, end in zip(request.keys, (0, *ends), ends, strict=False)}
        self._store.touch_weighted(keys, weights, now, known=known)


class BlockCache:
    """F1 over a trace of block hashes: each hash stands for a block and all before it.

    Args:
        store: What is held; its capacity counts blocks.
    """

    def __init__(self, store: EntryStore) -> None:
        self._store = store

    def observe(self, blocks: Sequence[Key], now: float = 0.0) -> int:
        """How many leading blocks the next request reads; then all of its blocks are held."""
        self._store.advance(now)
        known = self._store.run(blocks, now)
        self._store.touch(blocks, now, known=known)
        return known

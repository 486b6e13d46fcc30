"""Estimated cache reads by one simple rule of the registry, fed from segments: for replays and frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

import xxhash

from coldturn.analysis.entries.ceiling import Ceiling
from coldturn.analysis.entries.request import CacheRequest, Key, Partial, Simulator
from coldturn.analysis.estimates.registry import shipped
from coldturn.analysis.estimates.simulate import simulator
from coldturn.analysis.rates import rate
from coldturn.reference.prefix.ledger import Ledger
from coldturn.reference.tokens import EstimatedTokens, estimate_tokens

LONGEST_PREFIX: Final = "longest-prefix-1024-128"
"""Name of the rule, as it stands in JSON and in tables."""

_DIGEST_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class StepEstimate:
    """What one request could have read from a cache, all four estimated as content bytes / 4, rounded up.

    Attributes:
        input_tokens_estimated: The whole request.
        ceiling_estimated: Its common prefix with the best earlier request, however short.
        read_estimated: What the rule lets it read of that.
        uncached_estimated: Input minus read.
    """

    input_tokens_estimated: EstimatedTokens
    ceiling_estimated: EstimatedTokens
    read_estimated: EstimatedTokens
    uncached_estimated: EstimatedTokens

    @property
    def hit_rate_estimated(self) -> float | None:
        """Read over input, as a fraction; None for an empty request."""
        return rate(self.read_estimated, self.input_tokens_estimated)


class LongestPrefix:
    """The rule ``longest-prefix-1024-128``: any earlier request's whole prefix can be read, on a grid.

    A request reads its longest common prefix with any earlier request of the same scope: nothing below 1,024
    tokens, else down to a multiple of 128. These are the published figures of OpenAI's prompt caching
    for models without written entries; engines with a prefix cache (vLLM, SGLang, llama.cpp) follow the same
    rule with other figures. A first, simple rule: lifetimes, evictions, markers and hidden system messages
    are left out, and tokens are estimated from bytes.

    Its figures and its cache are those of the registry's entry of that name.

    Feed it every request once, in the order in which they were sent.
    """

    name = LONGEST_PREFIX

    def __init__(self) -> None:
        self._rules = shipped().named(LONGEST_PREFIX)
        self._scopes: dict[str, _Scope] = {}

    def step(self, ledger: Ledger, common_bytes: int, scope: str) -> StepEstimate:
        """Estimate the next request from its ledger.

        Args:
            ledger: The request's.
            common_bytes: Content bytes in common with the request it was compared with; 0 for a first one.
            scope: What can share a cache.
        """
        digests = [segment.digest for segment in ledger.segments]
        return self.observe(digests, [segment.bytes for segment in ledger.segments], common_bytes, scope)

    def observe(
        self, digests: Sequence[bytes], sizes: Sequence[int], common_bytes: int, scope: str
    ) -> StepEstimate:
        """Estimate the next request from its segments, as a span holds them.

        Args:
            digests: Digest of each segment in render order; the first 8 bytes are looked at.
            sizes: Content bytes of each.
            common_bytes: As for `step`. It refines the place within a segment, and counts only when the scope
                has had a request before.
            scope: What can share a cache.
        """
        known = self._scopes.get(scope)
        if known is None:
            known = self._scopes[scope] = _Scope(simulator(self._rules))
        ends_estimated = [estimate_tokens(size) for size in accumulate(sizes)]
        common_estimated = estimate_tokens(min(common_bytes, sum(sizes)))
        return known.observe(_chain(digests), ends_estimated, common_estimated)


@dataclass(slots=True)
class _Scope:
    """What can share a cache: the cache by the rule, and one without bounds.

    Attributes:
        latest: Stands for all of the request before.
    """

    cache: Simulator
    ceiling: Ceiling = field(default_factory=Ceiling)
    latest: Key | None = None

    def observe(
        self, keys: list[bytes], ends_estimated: list[EstimatedTokens], common_estimated: EstimatedTokens
    ) -> StepEstimate:
        tokens = ends_estimated[-1] if ends_estimated else EstimatedTokens(0)
        partial = None if self.latest is None else Partial(self.latest, common_estimated)
        shared = self.ceiling.observe(keys)
        ceiling = max(
            ends_estimated[shared - 1] if shared else EstimatedTokens(0), partial.tokens if partial else 0
        )
        read = self.cache.observe(CacheRequest(keys, ends_estimated, partial=partial)).read
        self.latest = keys[-1] if keys else self.latest
        return StepEstimate(
            tokens, EstimatedTokens(ceiling), EstimatedTokens(read), EstimatedTokens(tokens - read)
        )


def _chain(digests: Sequence[bytes]) -> list[bytes]:
    """Roll a hash over the digests: equal links at i mean that the first i + 1 segments are equal."""
    rolling = xxhash.xxh3_128()
    links = []
    for digest in digests:
        rolling.update(digest[:_DIGEST_BYTES])
        links.append(rolling.digest())
    return links

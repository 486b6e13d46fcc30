"""What a cache sees of a request: keys at boundaries, and how many tokens stand in front of each."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol, TypeAlias

from xxhash import xxh3_64_intdigest

Key: TypeAlias = Hashable
"""Stands for all of a prompt up to a boundary: equal keys mean equal prefixes."""


@dataclass(frozen=True, slots=True)
class Write:
    """An entry that a request asks for.

    Attributes:
        boundary: Index of the boundary at which it ends.
        ttl: Seconds it lives; None for the rule's own.
    """

    boundary: int
    ttl: float | None = None


@dataclass(frozen=True, slots=True)
class Partial:
    """A prefix that ends inside a block: readable as long as the request that it was compared with is.

    Attributes:
        key: The first key of that other request which ends behind the common part.
        tokens: Tokens in common.
    """

    key: Key
    tokens: int


@dataclass(frozen=True, slots=True)
class CacheRequest:
    """One request to a cache.

    Attributes:
        keys: One per boundary, in order; `ends` are the tokens up to each, so the last is the whole input.
        started: Seconds, on any clock that the other requests share; None when no time is known.
        readable: When the answer began; None when that is not known.
        probes: Boundaries at which written entries are looked up.
        writes: Entries that it writes, by boundary, in order.
        partial: A common part that no boundary ends.
        answers: Boundaries behind which the model's own words stand: where an earlier answer may go on.
        answer_tokens: Tokens of this request's answer; None when unknown.
        resource: Name of an explicit resource that it names.
        ttl: Seconds that it asks its prefix to be kept; None for the rule's own.
    """

    keys: Sequence[Key]
    ends: Sequence[int]
    started: float | None = None
    readable: float | None = None
    probes: Sequence[int] = ()
    writes: Sequence[Write] = ()
    partial: Partial | None = None
    answers: frozenset[int] = frozenset()
    answer_tokens: int | None = None
    resource: str | None = None
    ttl: float | None = None

    @property
    def tokens(self) -> int:
        """Tokens of the whole input."""
        return self.ends[-1] if self.ends else 0


@dataclass(frozen=True, slots=True)
class Reading:
    """What the rules say of one request, in tokens.

    Attributes:
        read: From the cache.
        written: To the cache, as far as a provider counts writes at all.
        written_long: The part of `written` that is billed at the price of a long lifetime.
    """

    read: int
    written: int = 0
    written_long: int = 0


class Simulator(Protocol):
    """A cache of one scope."""

    def observe(self, request: CacheRequest) -> Reading:
        """Take the next request."""


def chained(digests: Iterable[int | bytes], sizes: Iterable[int]) -> tuple[list[int], list[int]]:
    """Keys and ends of a prompt from a digest and a size per block.

    Args:
        digests: Of each block by itself, in render order; whole numbers below 2**64, or bytes.
        sizes: Tokens of each block.

    Returns:
        Rolling keys (64 bit) and cumulative tokens, as `CacheRequest` takes them.
    """
    keys = []
    key = 0
    for digest in digests:
        own = digest if isinstance(digest, bytes) else digest.to_bytes(8, "little")
        key = xxh3_64_intdigest(own, key)
        keys.append(key)
    return keys, list(accumulate(sizes))

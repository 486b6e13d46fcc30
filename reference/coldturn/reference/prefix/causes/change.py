"""What a rule answers with: one explained change between two requests, and the pair it stands in."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from coldturn.reference.prefix.difference import common_prefix
from coldturn.reference.prefix.model import Block, Confidence, Zone
from coldturn.reference.prefix.request import PromptRequest


@dataclass(frozen=True, slots=True)
class Change:
    """One difference with its cause. `parent` and `child` are block indices; None where there is no block.

    Attributes:
        block_offset: Content bytes into the block of `side` where the change begins.
        delta: Content bytes that the change added (negative: removed).
        group: Changes of one cause and one group are one change (a section, or a whole zone).
        evidence: Figures behind the cause, in words and without prompt text.
    """

    cause: str
    zone: Zone
    parent: int | None
    child: int | None
    block_offset: int = 0
    confidence: Confidence = Confidence.OBSERVED
    delta: int = 0
    names: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    planned: bool = False
    harmless: bool = False
    alongside: tuple[str, ...] = ()
    section: str | None = None
    group: str | None = None
    evidence: str | None = None

    @property
    def side(self) -> str:
        """The request that holds the thing: the parent only when the child has none."""
        return "parent" if self.child is None else "child"


@dataclass(frozen=True)
class Pair:
    """Two requests under comparison.

    Attributes:
        stable_end: How many of the parent's blocks later requests should repeat.
        common: How many blocks from the start are the same in both.
        before: The request that the parent continues, when it is known.
    """

    parent: PromptRequest
    child: PromptRequest
    stable_end: int
    common: int
    before: PromptRequest | None = None

    @cached_property
    def was(self) -> Sequence[bytes]:
        """The digest of every block of the parent; `now` likewise, of the child."""
        return self.parent.lazy_blocks.digests()

    @cached_property
    def now(self) -> Sequence[bytes]:
        """The digest of every block of the child."""
        return self.child.lazy_blocks.digests()

    def parent_indices(self, *zones: Zone) -> list[int]:
        """Indices of the parent's stable blocks in `zones`, in render order."""
        found = self.parent.lazy_blocks.within(zones)
        return found[: bisect_left(found, self.stable_end)]

    def child_indices(self, *zones: Zone) -> list[int]:
        """Indices of the child's blocks in `zones`, in render order."""
        return self.child.lazy_blocks.within(zones)


def at(every: Sequence[bytes], indices: Sequence[int]) -> Sequence[bytes]:
    """The digests of some blocks, whose indices rise."""
    if indices and indices[-1] - indices[0] + 1 == len(indices):
        return every[indices[0] : indices[-1] + 1]
    return [every[index] for index in indices]


@dataclass(frozen=True)
class BlockPair:
    """The same block in two requests, with different content or header."""

    pair: Pair
    parent: int
    child: int

    @property
    def was(self) -> Block:
        """The parent's block."""
        return self.pair.parent.blocks[self.parent]

    @property
    def now(self) -> Block:
        """The child's block."""
        return self.pair.child.blocks[self.child]

    @property
    def delta(self) -> int:
        """Content bytes that the child's block has more."""
        return len(self.now.facts.content) - len(self.was.facts.content)

    @cached_property
    def common(self) -> int:
        """Content bytes in common from the block's start."""
        return common_prefix(self.was.facts.content, self.now.facts.content)

    def change(
        self,
        cause: str,
        *,
        confidence: Confidence = Confidence.OBSERVED,
        kinds: tuple[str, ...] = (),
        alongside: tuple[str, ...] = (),
    ) -> Change:
        """A change of this block as a whole, at its first differing byte."""
        return Change(
            cause=cause,
            zone=self.now.zone,
            parent=self.parent,
            child=self.child,
            block_offset=self.common if self.was.facts.content != self.now.facts.content else 0,
            confidence=confidence,
            delta=self.delta,
            kinds=kinds,
            alongside=alongside,
        )


BlockRule = Callable[[BlockPair], Change | None]
"""Explains a changed block, or answers None."""


def common_suffix(was: bytes, now: bytes, limit: int) -> int:
    """Bytes in common at the end, at most `limit`."""
    limit = min(limit, len(was), len(now))
    low, high = 0, limit + 1
    while high - low > 1:
        middle = (low + high) // 2
        if was[len(was) - middle :] == now[len(now) - middle :]:
            low = middle
        else:
            high = middle
    return low


def merge(changes: Iterable[Change]) -> list[Change]:
    """Join changes of one cause, zone and group into the first of them; the order of the rest stays."""
    runs: dict[tuple[object, ...], list[Change]] = {}
    for place, change in enumerate(changes):
        key = (change.cause, change.zone, change.group) if change.group is not None else (place,)
        runs.setdefault(key, []).append(change)
    return [_joined(run) if len(run) > 1 else run[0] for run in runs.values()]


def _joined(run: list[Change]) -> Change:
    """One change for all of a run. Hunks of one block all carry the block's growth: it counts once."""
    growth = {(change.parent, change.child): change.delta for change in run}
    return replace(
        run[0],
        delta=sum(growth.values()),
        names=unique(name for change in run for name in change.names),
        kinds=unique(kind for change in run for kind in change.kinds),
        alongside=unique(cause for change in run for cause in change.alongside),
        harmless=all(change.harmless for change in run),
    )


def unique(words: Iterable[str]) -> tuple[str, ...]:
    """`words` without repetitions, in order of first appearance."""
    return tuple(dict.fromkeys(words))


def lossless(content: bytes | memoryview) -> str:
    """Content as text to compare, never to show: other bytes give another text, whatever they are.

    A lone surrogate is told from another one, which `readable` would show by the same replacement sign.
    """
    return str(content, "utf-8", "surrogateescape")


def readable(content: bytes | memoryview) -> str:
    """Content as text; bytes that are no UTF-8 (lone surrogates, cut points) become replacement signs."""
    return str(content, "utf-8", "replace")

"""Runs of blocks of the history as one change: what became of them, and by how much the content grew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from coldturn.reference.prefix.causes.change import BlockPair, Change
from coldturn.reference.prefix.causes.history import History
from coldturn.reference.prefix.model import Block


def size(blocks: Iterable[Block]) -> int:
    """Content bytes of some blocks."""
    return sum(len(block.facts.content) for block in blocks)


def exchanged(history: History, was: Sequence[int], now: Sequence[int], cause: str) -> Change:
    """A change of several blocks into several others, at the first byte that differs."""
    pair = BlockPair(history.pair, was[0], now[0])
    delta = size(map(history.child_block, now)) - size(map(history.parent_block, was))
    return Change(
        cause=cause,
        zone=pair.now.zone,
        parent=was[0],
        child=now[0],
        block_offset=pair.common if pair.was.facts.header == pair.now.facts.header else 0,
        delta=delta,
    )


def gone(history: History, indices: Sequence[int], cause: str, *, harmless: bool = False) -> Change:
    """Blocks of the parent without a counterpart."""
    blocks = [history.parent_block(index) for index in indices]
    return Change(
        cause=cause,
        zone=blocks[0].zone,
        parent=indices[0],
        child=None,
        delta=-size(blocks),
        harmless=harmless,
    )


def inserted(history: History, indices: Sequence[int], cause: str) -> Change:
    """Blocks of the child that stand where the parent has none."""
    blocks = [history.child_block(index) for index in indices]
    return Change(
        cause=cause,
        zone=blocks[0].zone,
        parent=None,
        child=indices[0],
        delta=size(blocks),
    )

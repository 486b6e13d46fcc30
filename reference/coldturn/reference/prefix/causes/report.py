"""From explained changes to the `Break` that everybody reads."""

from __future__ import annotations

from collections.abc import Sequence

from coldturn.reference.prefix.causes.change import Change, Pair
from coldturn.reference.prefix.causes.excerpts import excerpt
from coldturn.reference.prefix.difference import Difference, section_at
from coldturn.reference.prefix.model import Block, Break, LaterCause
from coldturn.reference.prefix.secrets import blotted_text


def describe(pair: Pair, place: Difference, changes: Sequence[Change]) -> Break:
    """The first of `changes` as a break at `place`, the others behind it."""
    first, *later = changes
    block = _block(pair, first)
    inside = place.block_offset
    shown = excerpt(pair.parent, pair.child, place)
    return Break(
        zone=first.zone,
        segment=blotted_text(block.label),
        path=blotted_text(block.path),
        side=first.side,
        section=first.section if first.section is not None else section_at(block.facts, inside),
        offset=place.offset,
        block_offset=inside,
        wire_offset=place.wire_offset,
        cause=first.cause,
        confidence=first.confidence,
        planned=first.planned,
        harmless=first.harmless,
        lost_bytes=0 if first.harmless else _lost_bytes(pair, place),
        delta_bytes=first.delta,
        names=tuple(map(blotted_text, first.names)),
        kinds=first.kinds,
        before=shown.before,
        was=shown.was,
        now=shown.now,
        later=tuple(_later(pair, change) for change in later),
        alongside=first.alongside,
        evidence=first.evidence,
        was_changed=shown.was_changed,
        now_changed=shown.now_changed,
    )


def _block(pair: Pair, change: Change) -> Block:
    if change.child is not None:
        return pair.child.blocks[change.child]
    return pair.parent.blocks[change.parent or 0]


def _lost_bytes(pair: Pair, place: Difference) -> int:
    transient = sum(len(block.facts.content) for block in pair.parent.blocks[pair.stable_end :])
    stable = pair.parent.content_bytes - transient
    return max(0, min(stable, pair.child.content_bytes) - place.offset)


def _later(pair: Pair, change: Change) -> LaterCause:
    return LaterCause(
        cause=change.cause,
        zone=change.zone,
        path=_block(pair, change).path,
        block_offset=change.block_offset,
        planned=change.planned,
    )

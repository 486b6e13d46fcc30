"""From explained changes to the `Break` that everybody reads."""

from __future__ import annotations

from collections.abc import Sequence

from coldturn.reference.prefix.causes.change import Change, Pair, readable
from coldturn.reference.prefix.difference import Difference, section_at
from coldturn.reference.prefix.model import Block, Break, LaterCause
from coldturn.reference.prefix.request import PromptRequest

BEFORE_CHARACTERS = 40
WINDOW_CHARACTERS = 80
_CHARACTER_BYTES = 4
"""The longest character of UTF-8."""


def describe(pair: Pair, place: Difference, changes: Sequence[Change]) -> Break:
    """The first of `changes` as a break at `place`, the others behind it."""
    first, *later = changes
    block = _block(pair, first)
    inside = place.block_offset
    before, was, now = _windows(pair, place, inside)
    return Break(
        zone=first.zone,
        segment=block.label,
        path=block.path,
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
        names=first.names,
        kinds=first.kinds,
        before=before,
        was=was,
        now=now,
        later=tuple(_later(pair, change) for change in later),
        alongside=first.alongside,
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


def _windows(pair: Pair, place: Difference, inside: int) -> tuple[str, str, str]:
    """Text in front of the place, and what the older and the newer request say from there on.

    Where only a header (role, ids) differs, the headers are what is shown.
    """
    index = place.parent or 0
    before = readable(_behind(pair.parent, index, inside))[-BEFORE_CHARACTERS:]
    was, now = _ahead(pair.parent, index, inside), _ahead(pair.child, index, inside)
    if place.in_header and was == now:
        was, now = pair.parent.blocks[index].facts.header, pair.child.blocks[index].facts.header
    return before, readable(was)[:WINDOW_CHARACTERS], readable(now)[:WINDOW_CHARACTERS]


def _ahead(request: PromptRequest, index: int, inside: int) -> bytes:
    """Content from a place on, across blocks, as much as the window can show."""
    wanted = WINDOW_CHARACTERS * _CHARACTER_BYTES
    parts: list[bytes] = []
    size = 0
    blocks = request.blocks
    for at in range(index, len(blocks)):
        part = blocks[at].facts.content[inside : inside + wanted - size]
        parts.append(part)
        size += len(part)
        inside = 0
        if size >= wanted:
            break
    return b"".join(parts)


def _behind(request: PromptRequest, index: int, inside: int) -> bytes:
    """Content in front of a place, across blocks, as much as the window can show."""
    wanted = BEFORE_CHARACTERS * _CHARACTER_BYTES
    parts: list[bytes] = []
    size = 0
    for at in range(index, -1, -1):
        content = request.blocks[at].facts.content
        content = content[:inside] if at == index else content
        part = content[max(0, len(content) - wanted + size) :]
        parts.append(part)
        size += len(part)
        if size >= wanted:
            break
    return b"".join(reversed(parts))

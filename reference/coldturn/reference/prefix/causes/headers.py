"""Blocks with equal content: what their headers say of ids, empty fields, shapes and messages."""

from __future__ import annotations

from coldturn.reference.prefix.causes.change import BlockPair, Change
from coldturn.reference.prefix.causes.history import History
from coldturn.reference.prefix.causes.schema import Json, Leaf, is_id, leaves, parse_run
from coldturn.reference.prefix.model import Block


def header_only(history: History, block: BlockPair) -> list[Change] | None:
    """Content is equal; ids, empty fields or the shape around it are not."""
    if block.was.facts.content != block.now.facts.content:
        return None
    if _is_other_message(block):
        return [block.change("message_merge")]
    was, now = parse_run(block.was.facts.header), parse_run(block.now.facts.header)
    if len(was) != len(now):
        cause = "content_shape" if was[:1] == now[:1] else "history_rewritten"
        return [block.change(cause)]
    found = [leaf for old, new in zip(was, now, strict=True) for leaf in leaves(old, new)]
    if found and all(map(is_id, found)):
        cause = "history_id_regenerated" if history.ids_one_to_one else "history_rewritten"
    elif found and all(map(is_empty_field, found)):
        cause = "empty_field"
    else:
        return None
    return [block.change(cause)]


def _is_other_message(block: BlockPair) -> bool:
    """Whether a block that began a message goes on with the one in front in the other request."""
    if block.was.role != block.now.role or not block.parent or not block.child:
        return False
    was, now = block.pair.parent.blocks[block.parent - 1], block.pair.child.blocks[block.child - 1]
    joined = was.message == block.was.message, now.message == block.now.message
    return was.facts.content == now.facts.content and joined[0] != joined[1]


def is_header_shift(was: Block, now: Block) -> bool:
    """Whether two blocks differ only because one stands first in its message and so carries its header."""
    if was.facts.content != now.facts.content:
        return False
    old, new = parse_run(was.facts.header), parse_run(now.facts.header)
    short, long = sorted((old, new), key=len)
    return len(long) == len(short) + 1 and long[1:] == short


_EMPTY: tuple[Json, ...] = ("", [], None, {})


def is_empty_field(leaf: Leaf) -> bool:
    """Whether a field is empty in both requests, or empty in one and missing in the other."""
    return leaf.was in _EMPTY and leaf.now in _EMPTY

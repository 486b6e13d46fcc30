"""The same content in another order, or cut into other messages and parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import TypeAlias

from coldturn.reference.prefix.causes.align import Gap
from coldturn.reference.prefix.causes.change import Change, at
from coldturn.reference.prefix.causes.history import History
from coldturn.reference.prefix.causes.runs import exchanged
from coldturn.reference.prefix.model import Block, BlockKind

_Texts: TypeAlias = "list[tuple[BlockKind, str | None, bytes]]"


def reordered(history: History) -> Change | None:
    """The same blocks in another order; headers apart, since the first of a message carries the message's."""
    first, last = history.found[0], history.found[-1]
    was = history.was[first.was_start : last.was_end]
    now = [index for index in history.now[first.now_start : last.now_end] if index not in history.appended]
    if len(was) > len(now):
        # What the parent had last was found further ahead: what seems lost may stand behind it.
        was = history.was[first.was_start :]
        now = history.now[first.now_start : first.now_start + len(was)]
        if _is_said_elsewhere(history):
            return None
    return exchanged(history, was, now, "message_block_reorder") if _is_permuted(history, was, now) else None


def _is_said_elsewhere(history: History) -> bool:
    """Whether something that seems lost was said several times: gone once, it is there all the same."""
    said = Counter(at(history.pair.was, history.was))
    lost = (history.was[place] for gap in history.found for place in range(gap.was_start, gap.was_end))
    return any(said[history.pair.was[index]] > 1 for index in lost)


def _is_permuted(history: History, was: Sequence[int], now: Sequence[int]) -> bool:
    if len(was) != len(now):
        return False
    # Most blocks agree to the header: only the others are made.
    parent, child = history.pair.was, history.pair.now
    old = _beyond([(parent[index], index) for index in was], Counter(child[index] for index in now))
    new = _beyond([(child[index], index) for index in now], Counter(parent[index] for index in was))
    if not old and not new:
        return True
    said = Counter(_said(history.parent_block(index)) for index in old)
    if said != Counter(_said(history.child_block(index)) for index in new):
        return False
    places = zip(was, now, strict=True)
    return any(_said(history.parent_block(a)) != _said(history.child_block(b)) for a, b in places)


def _said(block: Block) -> tuple[BlockKind, bytes]:
    return block.kind, block.facts.content


def _beyond(indices: Iterable[tuple[bytes, int]], known: Counter[bytes]) -> list[int]:
    """The indices whose digest is not among the known ones, each of which stands for one."""
    left: list[int] = []
    for digest, index in indices:
        if known[digest]:
            known[digest] -= 1
        else:
            left.append(index)
    return left


def merged(history: History, gap: Gap) -> Change | None:
    """The same texts, cut into other blocks or messages; what joins them may be white space."""
    was, now = history.was[gap.was_start : gap.was_end], history.now[gap.now_start : gap.now_end]
    old = [history.parent_block(index) for index in was]
    if not was or not now or not all(block.facts.is_text for block in old):
        return None
    new = [history.child_block(index) for index in now]
    count = _cut_alike(_texts(old), _texts(new))
    at_end = gap.was_end == len(history.was)
    if not count or (count < len(new) and not at_end):
        return None
    new = new[:count]
    if _shape(old) == _shape(new):
        return None
    return exchanged(history, was, now[:count], "message_merge")


def _texts(blocks: Iterable[Block]) -> _Texts:
    """Kind, role and content of the leading blocks that are texts, without white space at the ends."""
    leading = takewhile(lambda block: block.facts.is_text, blocks)
    return [(block.kind, block.role, block.facts.content.strip()) for block in leading]


def _shape(blocks: Sequence[Block]) -> tuple[int, int]:
    """How many texts and how many messages: an empty text is a field that was sent or not."""
    return sum(bool(block.facts.content) for block in blocks), len({block.message for block in blocks})


def _cut_alike(was: _Texts, now: _Texts) -> int:
    """How many of the newer texts say what the older ones say; 0 when they say something else."""
    count, kept = 0, b""
    for kind, role, text in was:
        rest = text
        while rest:
            if not kept:
                if count == len(now):
                    return 0
                kept = now[count][2]
                count += 1
                continue
            size = min(len(rest), len(kept))
            if now[count - 1][:2] != (kind, role) or rest[:size] != kept[:size]:
                return 0
            rest, kept = rest[size:].lstrip(), kept[size:].lstrip()
    return 0 if kept else count

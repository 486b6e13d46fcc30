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
    ahead = len(was) > len(now)
    if ahead:
        # What the parent had last was found further ahead: what seems lost may stand behind it.
        was = history.was[first.was_start :]
        now = history.now[first.now_start : first.now_start + len(was)]
    if not _is_permuted(history, was, now) or (ahead and _is_said_elsewhere(history)):
        return None
    return exchanged(history, was, now, "message_block_reorder")


def _is_said_elsewhere(history: History) -> bool:
    """Whether something that seems lost was said several times: gone once, it is there all the same."""
    said = Counter(at(history.pair.was, history.was))
    lost = (history.was[place] for gap in history.found for place in range(gap.was_start, gap.was_end))
    return any(said[history.pair.was[index]] > 1 for index in lost)


def _is_permuted(history: History, was: Sequence[int], now: Sequence[int]) -> bool:
    if len(was) != len(now):
        return False
    old, new = at(history.pair.was, was), at(history.pair.now, now)
    # Most blocks agree to the header: only the others are made.
    unlike = set(old) ^ set(new)
    lost = (history.parent_block(index) for index, digest in zip(was, old, strict=True) if digest in unlike)
    came = (history.child_block(index) for index, digest in zip(now, new, strict=True) if digest in unlike)
    if Counter(map(_said, lost)) != Counter(map(_said, came)):
        return False
    if Counter(one for one in old if one not in unlike) != Counter(one for one in new if one not in unlike):
        return False
    places = zip(was, now, strict=True)
    return not unlike or any(
        _said(history.parent_block(one)) != _said(history.child_block(other)) for one, other in places
    )


def _said(block: Block) -> tuple[BlockKind, bytes]:
    return block.kind, block.facts.content


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

"""Causes of blocks that came, went, moved or were joined in the history."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from coldturn.reference.prefix.causes.align import Gap
from coldturn.reference.prefix.causes.change import BlockPair, Change, Pair
from coldturn.reference.prefix.causes.compactions import by_item, by_text, declared
from coldturn.reference.prefix.causes.headers import is_header_shift
from coldturn.reference.prefix.causes.history import History, read_history
from coldturn.reference.prefix.causes.messages import is_transient, message_changes
from coldturn.reference.prefix.causes.regrouped import merged, reordered
from coldturn.reference.prefix.causes.runs import exchanged, gone, inserted
from coldturn.reference.prefix.causes.sources import references
from coldturn.reference.prefix.causes.toggles import image_toggle
from coldturn.reference.prefix.causes.transient import is_reminder
from coldturn.reference.prefix.model import Block, BlockKind, Zone

_THOUGHT = re.compile(rb"\s*<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
"""How reasoning is written as a text for a model that takes no such items."""
_REMOVED = "transient_tail_removed"


def history_changes(pair: Pair) -> list[Change]:
    """Everything that changed in what the parent's history holds, in render order."""
    history = read_history(pair)
    if not history.found:
        return []
    single = declared(history) or _cut_short(history) or reordered(history)
    if single is not None:
        return [single]
    compacted, explained = by_item(history) or (None, 0)
    changes = [compacted] if compacted is not None else []
    for gap in history.found[explained:]:
        whole = by_text(history, gap) or merged(history, gap)
        changes += [whole] if whole is not None else _gap_changes(history, gap)
    changes = image_toggle(pair, list(_without_forced_shapes(changes)))
    alone = all(change.harmless for change in changes)
    return [replace(change, group="history", harmless=alone) for change in changes]


def _without_forced_shapes(changes: Sequence[Change]) -> Iterator[Change]:
    """A list of parts that lost its reminder is often written as a string: one change, not two."""
    skip = False
    for change, following in zip_longest(changes, changes[1:]):
        if skip:
            skip = False
        elif change.cause == "content_shape" and following is not None and following.cause == _REMOVED:
            skip = True
            yield replace(following, alongside=(*following.alongside, "content_shape"))
        else:
            yield change


def _cut_short(history: History) -> Change | None:
    """The child ends where the parent goes on: nothing that it could read is lost."""
    first = history.found[0]
    if first.now_start != len(history.now) or first.was_end != len(history.was):
        return None
    lost = history.was[first.was_start : first.was_end]
    return gone(history, lost, "block_missing", harmless=True)


def _gap_changes(history: History, gap: Gap) -> list[Change]:
    """Changed, lost and inserted blocks of one gap, in order."""
    changes: list[Change] = []
    for old, new, couple in _runs(history, gap):
        changes += _run_changes(history, old, new)
        if couple is not None and not ((old or new) and _is_shift(history, couple)):
            changes += message_changes(history, BlockPair(history.pair, *couple))
    return _rewritten(changes)


def _rewritten(changes: list[Change]) -> list[Change]:
    """Blocks missing beside rewritten ones are part of the same rewriting."""
    if all(change.cause != "history_rewritten" for change in changes):
        return changes
    return [
        replace(change, cause="history_rewritten") if change.cause == "block_missing" else change
        for change in changes
    ]


def _is_shift(history: History, couple: tuple[int, int]) -> bool:
    return is_header_shift(history.parent_block(couple[0]), history.child_block(couple[1]))


def _runs(history: History, gap: Gap) -> Iterator[tuple[list[int], list[int], tuple[int, int] | None]]:
    """Blocks without counterpart up to the next couple, then that couple."""
    was, now = history.was[gap.was_start : gap.was_end], history.now[gap.now_start : gap.now_end]
    inside = set(was)
    for parent, child in [couple for couple in history.couples if couple[0] in inside]:
        left, right = was.index(parent), now.index(child)
        yield was[:left], now[:right], (parent, child)
        was, now = was[left + 1 :], now[right + 1 :]
    yield was, [index for index in now if index not in history.appended], None


def _run_changes(history: History, was: Sequence[int], now: Sequence[int]) -> list[Change]:
    """Causes of a run of lost and a run of inserted blocks at one place."""
    parent, child = history.pair.parent.blocks, history.pair.child.blocks
    volatile = [i for i in was if is_transient(history, parent[i]) and _goes_on(parent, i, was)]
    fresh = [i for i in now if _is_volatile(child[i]) and _goes_on(child, i, now)]
    lost = [index for index in was if index not in volatile]
    new = [index for index in now if index not in fresh]
    changes = _plain_run(history, lost, new)
    if volatile and fresh:
        changes.append(BlockPair(history.pair, volatile[0], fresh[0]).change("transient_tail_changed"))
    elif volatile:
        changes.append(gone(history, volatile, "transient_tail_removed"))
    elif fresh:
        changes.append(inserted(history, fresh, "transient_tail_changed"))
    return sorted(changes, key=lambda change: _rank(change, was, now))


def _rank(change: Change, was: Sequence[int], now: Sequence[int]) -> int:
    """How far into the run a change begins."""
    places = [] if change.parent is None else [was.index(change.parent)]
    return min(places if change.child is None else [*places, now.index(change.child)])


def _goes_on(blocks: Sequence[Block], index: int, run: Sequence[int]) -> bool:
    """Whether the message of a block is not in the run but for this block."""
    message = blocks[index].message
    return all(i == index or blocks[i].message != message for i in run)


def _is_volatile(block: Block) -> bool:
    return block.zone is Zone.TRANSIENT or (block.role == "user" and is_reminder(block))


def _plain_run(history: History, lost: list[int], new: list[int]) -> list[Change]:
    if not lost:
        empty = not any(history.child_block(i).facts.content for i in new)
        return [inserted(history, new, "empty_field" if empty else "history_rewritten")] if new else []
    if not new and not any(history.parent_block(i).facts.content for i in lost):
        return [gone(history, lost, "empty_field")]
    thoughts = [i for i in lost if history.parent_block(i).kind is BlockKind.REASONING]
    others = [i for i in lost if i not in thoughts]
    if new:
        return [references(history, lost, new) or _exchanged(history, lost, new)]
    changes = [gone(history, thoughts, "thinking_stripped")] if thoughts else []
    return [*changes, gone(history, others, "block_missing")] if others else changes


def _exchanged(history: History, lost: list[int], new: list[int]) -> Change:
    pair = BlockPair(history.pair, lost[0], new[0])
    if pair.now.kind is BlockKind.TEXT and pair.was.kind is BlockKind.IMAGE:
        return exchanged(history, lost, new, "image_replaced")
    kinds = {history.parent_block(index).kind for index in lost}
    if kinds == {BlockKind.REASONING} and _THOUGHT.match(pair.now.facts.content):
        return replace(exchanged(history, lost, new, "thinking_stripped"), kinds=("as_text",))
    return exchanged(history, lost, new, "history_rewritten")

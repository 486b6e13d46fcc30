"""Causes of blocks that came, went, moved or were joined in the history."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from coldturn.reference.prefix.causes.align import Gap
from coldturn.reference.prefix.causes.change import BlockPair, Change, Pair
from coldturn.reference.prefix.causes.history import History, read_history
from coldturn.reference.prefix.causes.messages import is_header_shift, is_transient, message_changes
from coldturn.reference.prefix.causes.toggles import image_toggle
from coldturn.reference.prefix.causes.transient import is_reminder
from coldturn.reference.prefix.model import Block, BlockKind, Confidence, Zone

_SUMMARY = re.compile(
    rb"summari[sz]ed|summary (?:of|below)|<summary|#\s*summary|(?:conversation|session) summary"
    rb"|\bcompact(?:ed|ion)\b|conversation (?:so far|history)|previous (?:conversation|session)",
    re.IGNORECASE,
)
_SUMMARIES = frozenset({BlockKind.TEXT, BlockKind.OTHER, BlockKind.COMPACTION})
"""Blocks that may stand for what was taken out."""
_THOUGHT = re.compile(rb"\s*<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
"""How reasoning is written as a text for a model that takes no such items."""
_REMOVED = "transient_tail_removed"
_UNSAID_MESSAGES = 4
"""Messages that must vanish before one short text in their place is a compaction that does not say so."""


def history_changes(pair: Pair) -> list[Change]:
    """Everything that changed in what the parent's history holds, in render order."""
    history = read_history(pair)
    if not history.found:
        return []
    single = _declared(history) or _cut_short(history) or _reordered(history)
    if single is not None:
        return [single]
    changes: list[Change] = []
    for gap in history.found:
        whole = _compaction(history, gap) or _merged(history, gap)
        changes += [whole] if whole is not None else _gap_changes(history, gap)
    changes = image_toggle(pair, list(_without_forced_shapes(changes)))
    return [replace(change, group="history") for change in changes]


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


def _declared(history: History) -> Change | None:
    """A compaction that the child's labels tell of: all that the parent held from there on gave way to it."""
    first = history.found[0]
    was, now = history.was[first.was_start :], history.now[first.now_start :]
    if not history.pair.child.labels.compacted or not was or not now:
        return None
    return replace(_many(history, was, now, "compaction"), planned=True)


def _cut_short(history: History) -> Change | None:
    """The child ends where the parent goes on: nothing that it could read is lost."""
    first = history.found[0]
    if first.now_start != len(history.now) or first.was_end != len(history.was):
        return None
    gone = [history.was[place] for place in range(first.was_start, first.was_end)]
    return _gone(history, gone, "block_missing", harmless=True)


def _reordered(history: History) -> Change | None:
    """The same blocks in another order; headers apart, since the first of a message carries the message's."""
    first, last = history.found[0], history.found[-1]
    was = history.was[first.was_start : last.was_end]
    now = [index for index in history.now[first.now_start : last.now_end] if index not in history.appended]
    old = [(block.kind, block.facts.content) for block in map(history.parent_block, was)]
    new = [(block.kind, block.facts.content) for block in map(history.child_block, now)]
    if old == new or len(old) != len(new) or Counter(old) != Counter(new):
        return None
    return _many(history, was, now, "message_block_reorder")


def _compaction(history: History, gap: Gap) -> Change | None:
    """Two or more messages gave way to fewer with a new text, and the context shrank."""
    was, now = history.was[gap.was_start : gap.was_end], history.now[gap.now_start : gap.now_end]
    old = [history.parent_block(index) for index in was]
    new = [history.child_block(index) for index in now]
    texts = [block for block in new if block.kind in {BlockKind.TEXT, BlockKind.COMPACTION, BlockKind.OTHER}]
    old_messages, new_messages = {b.message for b in old}, {b.message for b in new}
    if (
        not texts
        or len(old_messages) < 2
        or len(new_messages) >= len(old_messages)
        or _size(new) >= _size(old)
    ):
        return None
    said = texts[0].kind is BlockKind.COMPACTION or _SUMMARY.search(texts[0].facts.content) is not None
    # At the end it may as well be a conversation taken up again earlier.
    inside = gap.was_end < len(history.was)
    many = len(old_messages) >= _UNSAID_MESSAGES and len(new_messages) == 1
    drastic = inside and many and 2 * _size(new) < _size(old)
    if not said and not drastic:
        return None
    change = _many(history, was, now, "compaction")
    return change if said else replace(change, confidence=Confidence.INFERRED)


def _merged(history: History, gap: Gap) -> Change | None:
    """The same text, cut into other blocks; empty ones are fields that were sent or not."""
    was, now = history.was[gap.was_start : gap.was_end], history.now[gap.now_start : gap.now_end]
    old = [history.parent_block(index).facts for index in was]
    new = [history.child_block(index).facts for index in now]
    counts = [sum(bool(facts.content) for facts in side) for side in (old, new)]
    if not all(counts) or counts[0] == counts[1] or not all(facts.is_text for facts in [*old, *new]):
        return None
    if b"".join(facts.content for facts in old) != b"".join(facts.content for facts in new):
        return None
    return _many(history, was, now, "message_merge")


def _size(blocks: Iterable[Block]) -> int:
    return sum(len(block.facts.content) for block in blocks)


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
        changes.append(_gone(history, volatile, "transient_tail_removed"))
    elif fresh:
        changes.append(_inserted(history, fresh, "transient_tail_changed"))
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
        return [_inserted(history, new, "empty_field" if empty else "history_rewritten")] if new else []
    if not new and not any(history.parent_block(i).facts.content for i in lost):
        return [_gone(history, lost, "empty_field")]
    thoughts = [i for i in lost if history.parent_block(i).kind is BlockKind.REASONING]
    others = [i for i in lost if i not in thoughts]
    if new:
        return [_exchanged(history, lost, new)]
    changes = [_gone(history, thoughts, "thinking_stripped")] if thoughts else []
    return [*changes, _gone(history, others, "block_missing")] if others else changes


def _exchanged(history: History, lost: list[int], new: list[int]) -> Change:
    pair = BlockPair(history.pair, lost[0], new[0])
    if pair.now.kind is BlockKind.TEXT and pair.was.kind is BlockKind.IMAGE:
        return _many(history, lost, new, "image_replaced")
    kinds = {history.parent_block(index).kind for index in lost}
    if kinds == {BlockKind.REASONING} and _THOUGHT.match(pair.now.facts.content):
        return replace(_many(history, lost, new, "thinking_stripped"), kinds=("as_text",))
    return _many(history, lost, new, "history_rewritten")


def _many(history: History, was: Sequence[int], now: Sequence[int], cause: str) -> Change:
    """A change of several blocks into several others, at the first byte that differs."""
    pair = BlockPair(history.pair, was[0], now[0])
    delta = _size(map(history.child_block, now)) - _size(map(history.parent_block, was))
    return Change(
        cause=cause,
        zone=pair.now.zone,
        parent=was[0],
        child=now[0],
        block_offset=pair.common if pair.was.facts.header == pair.now.facts.header else 0,
        delta=delta,
    )


def _gone(history: History, indices: Sequence[int], cause: str, *, harmless: bool = False) -> Change:
    blocks = [history.parent_block(index) for index in indices]
    return Change(
        cause=cause,
        zone=blocks[0].zone,
        parent=indices[0],
        child=None,
        delta=-_size(blocks),
        harmless=harmless,
    )


def _inserted(history: History, indices: Sequence[int], cause: str) -> Change:
    blocks = [history.child_block(index) for index in indices]
    return Change(
        cause=cause,
        zone=blocks[0].zone,
        parent=None,
        child=indices[0],
        delta=_size(blocks),
    )

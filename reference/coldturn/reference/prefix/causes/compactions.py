"""Many messages that gave way to fewer: said by a label, by an item made for it, or by a text."""

from __future__ import annotations

import re
from dataclasses import replace

from coldturn.reference.prefix.causes.align import Gap
from coldturn.reference.prefix.causes.change import Change
from coldturn.reference.prefix.causes.history import History
from coldturn.reference.prefix.causes.runs import exchanged, size
from coldturn.reference.prefix.model import BlockKind, Confidence

CAUSE = "compaction"

_SUMMARY = re.compile(
    rb"summari[sz]ed|summary (?:of|below)|<summary|#\s*summary|(?:conversation|session) summary"
    rb"|\bcompact(?:ed|ion)\b|conversation (?:so far|history)"
    rb"|(?:previous|earlier|prior) (?:conversation|session)",
    re.IGNORECASE,
)
_SUMMARIES = frozenset({BlockKind.TEXT, BlockKind.OTHER, BlockKind.COMPACTION})
"""Blocks that may stand for what was taken out."""
_UNSAID_MESSAGES = 4
"""Messages that must vanish before one short text in their place is a compaction that does not say so."""


def declared(history: History) -> Change | None:
    """A compaction that the child's labels tell of: all that the parent held from there on gave way to it."""
    first = history.found[0]
    was, now = history.was[first.was_start :], history.now[first.now_start :]
    if not history.pair.child.labels.compacted or not was or not now:
        return None
    return replace(exchanged(history, was, now, CAUSE), planned=True)


def by_item(history: History) -> tuple[Change, int] | None:
    """What an item of the kind that a provider writes for earlier messages took the place of.

    Such an item stands for the conversation in front of it, messages of people that are sent again beside it
    included. Nobody sends one by accident: it is a deliberate move.

    Returns:
        The change, and how many of `history.found` it explains; None where nothing gave way to such an item.
    """
    first = history.found[0]
    item = None if _only_edited(history) else _new_item(history, first.now_start)
    if item is None:
        return None
    explained = [gap for gap in history.found if gap.now_start <= item]
    last = explained[-1]
    inside = item < last.now_end
    was = history.was[first.was_start : last.was_end if inside else len(history.was)]
    # Behind the parent's end stands what the child goes on with.
    end = item + 1 if last.was_end == len(history.was) else max(item + 1, last.now_end)
    now = history.now[first.now_start : end]
    # One that was appended while a message in front of it changed took the place of nothing.
    if len(was) <= len(now) - 1:
        return None
    return replace(exchanged(history, was, now, CAUSE), planned=True), len(explained)


def _only_edited(history: History) -> bool:
    """Whether every block that differs has a counterpart that is no such item: then none gave way to one."""
    lost = sum(gap.was_end - gap.was_start for gap in history.found)
    if lost != len(history.couples):
        return False
    return all(history.child_block(child).kind is not BlockKind.COMPACTION for _, child in history.couples)


def _new_item(history: History, start: int) -> int | None:
    """Where in the child's history from `start` on the first such item stands that the parent lacks."""
    pieces = history.pair.child.lazy_blocks.pieces()
    now = history.pair.now
    items = [
        place
        for place in range(start, len(history.now))
        if pieces[history.now[place]].kind is BlockKind.COMPACTION
    ]
    if not items:
        return None
    known = set(history.pair.was)
    return next((place for place in items if now[history.now[place]] not in known), None)


def by_text(history: History, gap: Gap) -> Change | None:
    """Two or more messages gave way to fewer with a new text, and the context shrank."""
    was, now = history.was[gap.was_start : gap.was_end], history.now[gap.now_start : gap.now_end]
    old = [history.parent_block(index) for index in was]
    new = [history.child_block(index) for index in now]
    texts = [block for block in new if block.kind in _SUMMARIES]
    old_messages, new_messages = {b.message for b in old}, {b.message for b in new}
    if not texts or len(old_messages) < 2 or len(new_messages) >= len(old_messages) or size(new) >= size(old):
        return None
    said = texts[0].kind is BlockKind.COMPACTION or _SUMMARY.search(texts[0].facts.content) is not None
    # At the end it may as well be a conversation taken up again earlier.
    inside = gap.was_end < len(history.was)
    many = len(old_messages) >= _UNSAID_MESSAGES and len(new_messages) == 1
    drastic = inside and many and 2 * size(new) < size(old)
    if not said and not drastic:
        return None
    change = exchanged(history, was, now, CAUSE)
    return change if said else replace(change, confidence=Confidence.INFERRED)

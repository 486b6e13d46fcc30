"""Messages that end every request and are sent anew in each: a clock, what is open, what was found.

Nobody meant to repeat them, tagged or not, and behind them stands nothing that a cache could keep.
"""

from __future__ import annotations

from dataclasses import replace

from coldturn.reference.prefix.causes.change import Change, Pair, common_suffix, readable
from coldturn.reference.prefix.causes.remedies import RENEWED_SUFFIX
from coldturn.reference.prefix.causes.texts import typed_reason
from coldturn.reference.prefix.continuation import is_models
from coldturn.reference.prefix.difference import Difference, common_prefix
from coldturn.reference.prefix.model import Block, Confidence, Zone


def moves(pair: Pair, place: Difference) -> bool:
    """Whether only the parent's last text moved, behind what was put in front of it: it ends both."""
    if place.parent is None or place.parent != pair.stable_end - 1:
        return False
    was, now = pair.parent.blocks[place.parent], pair.child.blocks[len(pair.child.blocks) - 1]
    if is_models(was) or was.kind is not now.kind or now.zone is not Zone.HISTORY:
        return False
    rest = was.facts.content[place.block_offset :]
    return bool(rest) and now.facts.content.endswith(rest)


def renewed(pair: Pair, place: Difference, first: Change) -> Change | None:
    """A last message that the child has in a newer form at its own end; None where that is not all.

    At the parent's place stands what the model answered. Who edits a message, or begins another
    conversation, sends a message there.

    Args:
        pair: Both requests.
        place: Where they first differ.
        first: What was taken for the cause.
    """
    if place.parent is None or place.child is None or pair.child.by_reference or moves(pair, place):
        return None
    first_was, last_was = (pair.parent.blocks[index] for index in (place.parent, pair.stable_end - 1))
    if place.parent >= pair.stable_end or first_was.message != last_was.message:
        return None
    was = pair.parent.blocks[place.parent : pair.stable_end]
    count = len(pair.child.blocks)
    if place.child >= count - len(was) or not is_models(pair.child.blocks[place.child]):
        return None
    now = pair.child.blocks[count - len(was) :]
    if now[0].message != now[-1].message or not all(map(_is_renewed, was, now)):
        return None
    return replace(
        first,
        cause="transient_tail_changed",
        zone=Zone.TRANSIENT,
        parent=place.parent,
        child=count - len(was),
        block_offset=0,
        confidence=Confidence.INFERRED,
        delta=sum(len(block.facts.content) for block in now) - sum(len(block.facts.content) for block in was),
        kinds=(RENEWED_SUFFIX,),
        alongside=(),
        harmless=True,
    )


def _is_renewed(was: Block, now: Block) -> bool:
    """Whether one is the other with another time in it, or with as much of it as shows that."""
    if is_models(was) or (was.role, was.kind, now.zone) != (now.role, now.kind, Zone.HISTORY):
        return False
    if not (was.facts.is_text and now.facts.is_text):
        return False
    old, new = was.facts.content, now.facts.content
    if typed_reason(readable(old), readable(new), random="random_id_in_system") is not None:
        return True
    front = common_prefix(old, new)
    alike = front + common_suffix(old, new, min(len(old), len(new)) - front)
    return 0 < max(len(old), len(new)) <= 2 * alike

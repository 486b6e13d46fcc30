"""Compare two adjacent requests of one lineage: where the prefix broke, and why."""

from __future__ import annotations

from collections.abc import Sequence

from coldturn.reference.prefix.causes.branches import branch, without_another_conversations
from coldturn.reference.prefix.causes.change import Change, Pair, merge
from coldturn.reference.prefix.causes.report import describe
from coldturn.reference.prefix.causes.sequence import history_changes
from coldturn.reference.prefix.causes.system import system_changes
from coldturn.reference.prefix.causes.tools import tool_changes
from coldturn.reference.prefix.causes.transient import is_reminder, stable_end
from coldturn.reference.prefix.difference import (
    Difference,
    common_elements,
    first_difference,
    has_wire_drift,
)
from coldturn.reference.prefix.model import Comparison, Confidence, Zone
from coldturn.reference.prefix.request import PromptRequest

_TRANSIENT = frozenset({"transient_tail_removed", "transient_tail_changed"})


def compare(parent: PromptRequest, child: PromptRequest, before: PromptRequest | None = None) -> Comparison:
    """Say whether `child` repeats the stable part of `parent`, and if not, where and why it does not.

    A pair in which nothing changed costs one look per element. Labels on either request (zones, planned
    elisions, deferred tools, tiers) decide what bytes alone cannot.

    Args:
        parent: The older request.
        child: The newer request.
        before: The request that `parent` itself continues: shows what comes and goes by turns.
    """
    if (parent.unloaded or child.unloaded) and not child.goes_on_from(parent):
        parent, child = parent.whole(), child.whole()
    common = common_elements(parent, child)
    place = first_difference(parent, child, common)
    if place is None or place.parent is None:
        return Comparison(
            common_bytes=parent.content_bytes,
            parent_bytes=parent.content_bytes,
            child_bytes=child.content_bytes,
            stable=True,
            first=None,
            wire_drift=has_wire_drift(parent, child, common),
        )
    pair = Pair(parent, child, _stable_end(parent, child), common=place.parent, before=before)
    if place.parent < pair.stable_end and not _goes_on(pair, place):
        changes = _changes(pair, place)
        stable = all(change.harmless and change.cause in _TRANSIENT for change in changes)
    else:
        changes = _dropped_reminder(pair)
        stable = True
    return Comparison(
        common_bytes=place.offset,
        parent_bytes=parent.content_bytes,
        child_bytes=child.content_bytes,
        stable=stable,
        first=describe(pair, place, changes) if changes else None,
        wire_drift=has_wire_drift(parent, child, common),
    )


def _stable_end(parent: PromptRequest, child: PromptRequest) -> int:
    """How many of the parent's blocks the child should repeat.

    Behind a `previous_response_id` the provider keeps the messages; tools and instructions are sent again.
    """
    if not child.by_reference:
        return stable_end(parent.blocks)
    return sum(block.message is None for block in parent.blocks)


def _goes_on(pair: Pair, place: Difference) -> bool:
    """Whether the parent's stable part ends right at the place: the child's text there only goes on."""
    index = pair.stable_end - 1
    if place.parent != index or place.child is None or place.in_header or pair.child.by_reference:
        return False
    was, now = pair.parent.blocks[index].facts, pair.child.blocks[place.child].facts
    return was.is_text and now.is_text and place.block_offset == len(was.content)


def _changes(pair: Pair, place: Difference) -> Sequence[Change]:
    """All that changed, in render order; at least one."""
    changes = merge([*tool_changes(pair), *system_changes(pair), *history_changes(pair)])
    if not changes:
        return [_unknown(place)]
    parted = branch(pair, place, changes)
    return without_another_conversations(pair, changes) if parted is None else [parted]


def _unknown(place: Difference) -> Change:
    return Change(
        cause="unknown",
        zone=place.zone,
        parent=place.parent,
        child=place.child if place.side == "child" else None,
        block_offset=place.block_offset,
        confidence=Confidence.UNKNOWN,
    )


def _dropped_reminder(pair: Pair) -> list[Change]:
    """A tagged block at the parent's very end that the child's copy lacks or changed: harmless, and told.

    With the runtime's labels the suffix is known to be transient, and there is nothing worth telling.
    """
    if pair.parent.labels.zones or pair.child.by_reference:
        return []
    for index in range(pair.stable_end, len(pair.parent.blocks)):
        was = pair.parent.blocks[index]
        now = pair.child.blocks[index] if index < len(pair.child.blocks) else None
        if now is not None and now.facts.digest == was.facts.digest:
            continue
        same = now is not None and now.message == was.message and is_reminder(now)
        left = len(now.facts.content) if now is not None and same else 0
        return [
            Change(
                cause="transient_tail_changed" if same else "transient_tail_removed",
                zone=Zone.TRANSIENT,
                parent=index,
                child=index if same else None,
                delta=left - len(was.facts.content),
                harmless=True,
            )
        ]
    return []

"""Other conversations and forks: requests that begin alike and share nothing behind the place of parting.

What a break costs is what is sent again behind it. Where the newer request repeats nothing of the older one
there, nothing that stood in a cache is paid for a second time, and nobody rewrote anything: somebody began
another conversation under the same tools and prompt, or left an earlier one at an earlier message.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from coldturn.reference.prefix.causes.change import Change, Pair, common_suffix
from coldturn.reference.prefix.causes.transient import is_reminder
from coldturn.reference.prefix.difference import Difference
from coldturn.reference.prefix.model import Block, Confidence, Zone

NEW_CONVERSATION = "new_conversation"
FORK = "fork"

_TRIVIAL_BYTES = 32
"""Below this a repetition says nothing: ``ok``, ``Go on.``, an empty result."""
_WITH_HISTORY = frozenset({"system_replaced", "system_edited"})
"""Causes that another conversation has too, when its history is another one."""


def branch(pair: Pair, place: Difference, changes: Sequence[Change]) -> Change | None:
    """The first of `changes` as the beginning of a branch; None when it is a break.

    Causes with evidence of their own (a clock, a shortened result, a compaction) stay what they are.
    """
    first = changes[0]
    rewritten = any(change.zone is Zone.HISTORY and not change.harmless for change in changes)
    if first.cause != "history_rewritten" and not (first.cause in _WITH_HISTORY and rewritten):
        return None
    if first.harmless or _is_paid_again(pair, place):
        return None
    kind = FORK if _repeats_history(pair) else NEW_CONVERSATION
    return replace(first, confidence=Confidence.INFERRED, harmless=True, kinds=(kind,))


def _is_paid_again(pair: Pair, place: Difference) -> bool:
    """Whether the child repeats anything of the parent's stable part from the place on."""
    was = pair.parent.blocks[place.parent : pair.stable_end]
    now = pair.child.blocks[place.parent :]
    if was and now and _rest_resembles(was[0].facts.content, now[0].facts.content, place.block_offset):
        return True
    return not set(_contents(was, place.block_offset)).isdisjoint(_contents(now, place.block_offset))


def _rest_resembles(was: bytes, now: bytes, offset: int) -> bool:
    """Whether the changed block goes on with its old end, or with one of its old lines."""
    limit = min(len(was), len(now)) - offset
    if limit >= _TRIVIAL_BYTES and common_suffix(was, now, limit) >= _TRIVIAL_BYTES:
        return True
    return not set(_lines(was[offset:])).isdisjoint(_lines(now[offset:]))


def _lines(content: bytes) -> Iterator[bytes]:
    return (line for line in map(bytes.strip, content.splitlines()) if len(line) >= _TRIVIAL_BYTES)


def _contents(blocks: Sequence[Block], offset: int) -> Iterator[bytes]:
    """What stands behind byte `offset` of the first block; reminders are nobody's content.

    Whole blocks stand for themselves, since one may be made of trivial segments only.
    """
    for block in blocks:
        if not is_reminder(block):
            if not offset and len(block.facts.content) >= _TRIVIAL_BYTES:
                yield block.facts.content
            for segment in block.facts.segments:
                if segment.end > offset and segment.end - segment.start >= _TRIVIAL_BYTES:
                    yield segment.digest
        offset = 0


def _repeats_history(pair: Pair) -> bool:
    """Whether the child holds any message of the parent."""
    was, now = (
        {block.facts.digest for block in blocks if block.zone is Zone.HISTORY and not is_reminder(block)}
        for blocks in (pair.parent.blocks, pair.child.blocks)
    )
    return not was.isdisjoint(now)

"""Other conversations, forks, side calls: requests that begin alike and go on with nothing of the older one.

What a break costs is what is sent again behind it. Where the newer request does not go on with the older
one's conversation there, nothing that stood in a cache is paid for a second time, and nobody rewrote
anything: somebody began another conversation under the same tools and prompt, left an earlier one at an
earlier message, or let another agent look at a part of it. `continuation` says how the bytes tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from coldturn.reference.prefix.causes.change import Change, Pair, at, common_suffix
from coldturn.reference.prefix.causes.transient import is_reminder, is_spoken
from coldturn.reference.prefix.continuation import TRIVIAL_BYTES, is_models, says_again, says_rest_again
from coldturn.reference.prefix.difference import Difference
from coldturn.reference.prefix.model import Block, Confidence, Zone

NEW_CONVERSATION = "new_conversation"
FORK = "fork"
SIDE_CALL = "side_call"
MOVED_SUFFIX = "moved_suffix"
BRANCHES = frozenset({NEW_CONVERSATION, FORK, SIDE_CALL, MOVED_SUFFIX})
"""Kinds of a change that nothing is paid for again."""

_WITH_HISTORY = frozenset({"system_replaced", "system_edited"})
"""Causes that another conversation has too, when its history is another one."""
_SEVERAL = 2
"""Different messages of people which, said again, show a history that was rewritten."""


def branch(pair: Pair, place: Difference, changes: Sequence[Change]) -> Change | None:
    """The first of `changes` as the beginning of a branch; None when it is a break.

    Causes with evidence of their own (a clock, a shortened result, a compaction) stay what they are.
    """
    first = changes[0]
    if first.harmless:
        return None
    kind = _kind(pair, place, changes)
    if kind is None:
        return None
    return replace(first, confidence=Confidence.INFERRED, harmless=True, kinds=(kind,))


def _kind(pair: Pair, place: Difference, changes: Sequence[Change]) -> str | None:
    first = changes[0]
    if _is_another_agent(pair, changes):
        return _of_another_agent(pair)
    rewritten = any(change.zone is Zone.HISTORY and not change.harmless for change in changes)
    if first.cause != "history_rewritten" and not (first.cause in _WITH_HISTORY and rewritten):
        return None
    if first.cause == "history_rewritten" and _is_moved_suffix(pair, place):
        return MOVED_SUFFIX
    if first.cause == "system_replaced":
        paid = _goes_on(_history(pair.parent.blocks, pair.stable_end), _history(pair.child.blocks))
    else:
        paid = _is_paid_again(pair, place)
    if paid:
        return None
    return FORK if _repeats_history(pair) else NEW_CONVERSATION


def _is_another_agent(pair: Pair, changes: Sequence[Change]) -> bool:
    """Whether the system prompt was replaced and no tool stayed: one request of each of two agents."""
    if not any(change.cause == "system_replaced" for change in changes):
        return False
    was, now = pair.parent_indices(Zone.TOOLS), pair.child_indices(Zone.TOOLS)
    return set(at(pair.was, was)).isdisjoint(at(pair.now, now))


def _of_another_agent(pair: Pair) -> str | None:
    """Another agent's own conversation, or its look at less than half of the older one's history.

    None for one that takes the whole history over: that is paid for again.
    """
    was = [block.facts for block in _history(pair.parent.blocks, pair.stable_end)]
    said = {facts.content for facts in (block.facts for block in _history(pair.child.blocks))}
    again = sum(len(facts.content) for facts in was if facts.content in said)
    if not again:
        return NEW_CONVERSATION
    whole = sum(len(facts.content) for facts in was)
    other_model = pair.parent.model != pair.child.model
    return SIDE_CALL if other_model or 2 * again < whole else None


def _history(blocks: Iterable[Block], end: int | None = None) -> list[Block]:
    inside = list(blocks)[:end]
    return [block for block in inside if block.zone is Zone.HISTORY and not is_reminder(block)]


def _is_moved_suffix(pair: Pair, place: Difference) -> bool:
    """Whether only the parent's last text moved, behind what was put in front of it: it ends both."""
    if place.parent is None or place.parent != pair.stable_end - 1:
        return False
    was, now = pair.parent.blocks[place.parent], pair.child.blocks[len(pair.child.blocks) - 1]
    if is_models(was) or was.kind is not now.kind or now.zone is not Zone.HISTORY:
        return False
    rest = was.facts.content[place.block_offset :]
    return bool(rest) and now.facts.content.endswith(rest)


def _is_paid_again(pair: Pair, place: Difference) -> bool:
    """Whether the child goes on with the parent's stable part from the place on."""
    if place.parent is not None and _rest_is_repeated(pair, place.parent):
        return True
    was = pair.parent.blocks[place.parent : pair.stable_end]
    now = pair.child.blocks[place.parent :]
    if not was or not now:
        return False
    again = _said_again(was[0].facts.content, now[0].facts.content, place.block_offset)
    if was[0].zone is not Zone.HISTORY:
        return again > 0 or _shares(was, now, place.block_offset)
    # Of a message that somebody made from a template, much is said again in other conversations.
    resembles = 2 * again >= len(was[0].facts.content) - place.block_offset > 0
    own = True if says_rest_again(was[1:], now) else says_again(was, now)
    if own is None or (resembles and is_models(was[0])):
        return resembles or _shares(was[1:], now, 0)
    return own or _several_messages_again(was, now)


def _rest_is_repeated(pair: Pair, place: int) -> bool:
    """Whether all that follows the parent's block there, the model's blocks among it, stands in the child so.

    `says_rest_again` tells the same of blocks; this makes none of them.
    """
    rest = pair.was[place + 1 : pair.stable_end]
    if (
        len(rest) < _SEVERAL
        or rest[0] not in pair.now[place:]
        or pair.parent.blocks[place].zone is not Zone.HISTORY
    ):
        return False
    start = pair.now.index(rest[0], place)
    pieces = pair.parent.lazy_blocks.pieces()[place + 1 : pair.stable_end]
    return pair.now[start : start + len(rest)] == rest and any(map(is_models, pieces))


def _goes_on(was: Sequence[Block], now: Sequence[Block]) -> bool:
    again = says_again(was, now)
    return _shares(was, now, 0) if again is None else again or _several_messages_again(was, now)


def _several_messages_again(was: Iterable[Block], now: Iterable[Block]) -> bool:
    """Whether several different messages of people are said again, as after one that took the answers out."""
    old, new = (
        {block.facts.content for block in blocks if is_spoken(block) and _tells(block.facts.content)}
        for blocks in (was, now)
    )
    return len(old & new) >= _SEVERAL


def _tells(content: bytes) -> bool:
    return len(content) >= TRIVIAL_BYTES


def _shares(was: Sequence[Block], now: Sequence[Block], offset: int) -> bool:
    return not set(_contents(was, offset)).isdisjoint(_contents(now, offset))


def _said_again(was: bytes, now: bytes, offset: int) -> int:
    """Bytes of the old end of the changed block, or of its old lines, with which it goes on."""
    limit = min(len(was), len(now)) - offset
    suffix = common_suffix(was, now, limit) if limit >= TRIVIAL_BYTES else 0
    kept = set(_lines(now[offset:]))
    lines = sum(len(line) for line in _lines(was[offset:]) if line in kept)
    return max(suffix if suffix >= TRIVIAL_BYTES else 0, lines)


def _lines(content: bytes) -> Iterator[bytes]:
    return (line for line in map(bytes.strip, content.splitlines()) if len(line) >= TRIVIAL_BYTES)


def _contents(blocks: Sequence[Block], offset: int) -> Iterator[bytes]:
    """What stands behind byte `offset` of the first block; reminders are nobody's content.

    Whole blocks stand for themselves, since one may be made of trivial segments only.
    """
    for block in blocks:
        if not is_reminder(block):
            if not offset and len(block.facts.content) >= TRIVIAL_BYTES:
                yield block.facts.content
            for segment in block.facts.segments:
                if segment.end > offset and segment.end - segment.start >= TRIVIAL_BYTES:
                    yield segment.digest
        offset = 0


def _repeats_history(pair: Pair) -> bool:
    """Whether the child holds any message of the parent."""
    was, now = (
        {block.facts.digest for block in blocks if block.zone is Zone.HISTORY and not is_reminder(block)}
        for blocks in (pair.parent.blocks, pair.child.blocks)
    )
    return not was.isdisjoint(now)

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
from coldturn.reference.prefix.causes.sources import EVIDENT
from coldturn.reference.prefix.causes.suffix import moves, renewed
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
_ANOTHERS = frozenset({"history_rewritten", "block_missing"})
"""Causes in the history that another conversation has as well: nothing but that its messages are others."""
_FEWER_TOOLS = frozenset({"tool_removed", "tool_order"})
_SEVERAL = 2
"""Different messages of people which, said again, show a history that was rewritten."""


def branch(pair: Pair, place: Difference, changes: Sequence[Change]) -> Change | None:
    """The first of `changes` as the beginning of a branch; None when it is a break.

    Causes with evidence of their own (a clock, a shortened result, a compaction) stay what they are.
    """
    first = changes[0]
    if first.harmless or not EVIDENT.isdisjoint(first.kinds):
        return None
    if first.zone is Zone.HISTORY and (again := renewed(pair, place, first)) is not None:
        return again
    kind = _kind(pair, place, changes)
    if kind is None:
        return None
    return replace(first, confidence=Confidence.INFERRED, harmless=True, kinds=(kind,))


def _kind(pair: Pair, place: Difference, changes: Sequence[Change]) -> str | None:
    first = changes[0]
    if _is_another_agent(pair, changes):
        return _of_another_agent(pair)
    if first.cause == "tool_removed":
        return _with_fewer_tools(pair, changes)
    rewritten = any(change.zone is Zone.HISTORY and not change.harmless for change in changes)
    if first.cause != "history_rewritten" and not (first.cause in _WITH_HISTORY and rewritten):
        return None
    if first.cause == "history_rewritten" and moves(pair, place):
        return MOVED_SUFFIX
    if first.cause == "system_replaced":
        paid = _goes_on(*_histories(pair))
    else:
        paid = place.parent is not None and _is_paid_again(
            pair, place.parent, place.parent, place.block_offset
        )
    return None if paid else _branched(pair)


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


def _with_fewer_tools(pair: Pair, changes: Sequence[Change]) -> str | None:
    """A helper under the same prompt, with some of the tools and a conversation of its own.

    None where anything else changed, or where the helper goes on with what was said: that is paid for again.
    """
    rest = {change.cause for change in changes if change.zone is not Zone.HISTORY}
    if rest - _FEWER_TOOLS or not _is_anothers(c for c in changes if c.zone is Zone.HISTORY):
        return None
    was, now = _histories(pair)
    # A text from a template is in many conversations; a message that is sent whole again is of this one.
    said = {block.facts.content for block in was if _tells(block.facts.content)}
    whole = not said.isdisjoint(block.facts.content for block in now)
    return None if whole or _goes_on(was, now) else NEW_CONVERSATION


def _is_anothers(changes: Iterable[Change]) -> bool:
    """Whether changes in the history show no more than that other messages stand there."""
    causes = {change.cause for change in changes}
    return not causes.isdisjoint(_ANOTHERS) and causes <= {*_ANOTHERS, "thinking_stripped"}


def without_another_conversations(pair: Pair, changes: Sequence[Change]) -> Sequence[Change]:
    """The changes without those that show no more than that the child is another conversation.

    Behind a cause with evidence of its own nobody rewrote anything there: with that cause mended the rest is
    a branch, and harmless.
    """
    later = [change for change in changes[1:] if change.zone is Zone.HISTORY]
    if changes[0].zone is Zone.HISTORY or not _is_anothers(later):
        return changes
    if any(not EVIDENT.isdisjoint(change.kinds) for change in later) or _is_repeated_from(pair, later[0]):
        return changes
    return [change for change in changes if change not in later]


def _is_repeated_from(pair: Pair, change: Change) -> bool:
    """Whether the child goes on with the parent's history from a change in it on, or may do so."""
    if change.parent is None or change.child is None:
        was, now = _histories(pair)
        return _goes_on(was, now) or _may_go_on(was, now)
    if _is_paid_again(pair, change.parent, change.child, change.block_offset):
        return True
    was = list(pair.parent.blocks[change.parent + 1 : pair.stable_end])
    return _may_go_on(was, pair.child.blocks[change.child :])


def _may_go_on(was: Sequence[Block], now: Sequence[Block]) -> bool:
    """Whether anything is said again where the model wrote nothing that tells: then nobody knows."""
    said = {block.facts.content for block in was}
    return says_again(was, now) is None and not said.isdisjoint(block.facts.content for block in now)


def _histories(pair: Pair) -> tuple[list[Block], list[Block]]:
    return _history(pair.parent.blocks, pair.stable_end), _history(pair.child.blocks)


def _branched(pair: Pair) -> str:
    return FORK if _repeats_history(pair) else NEW_CONVERSATION


def _history(blocks: Iterable[Block], end: int | None = None) -> list[Block]:
    inside = list(blocks)[:end]
    return [block for block in inside if block.zone is Zone.HISTORY and not is_reminder(block)]


def _is_paid_again(pair: Pair, parent: int, child: int, offset: int) -> bool:
    """Whether the child goes on, from its block `child`, with the parent's stable part from a place on.

    Args:
        pair: Both requests.
        parent: Index of the parent's block at the place.
        child: Index of the child's.
        offset: Content bytes into the block that both have in common.
    """
    if _rest_is_repeated(pair, parent, child):
        return True
    was = pair.parent.blocks[parent : pair.stable_end]
    now = pair.child.blocks[child:]
    if not was or not now:
        return False
    again = _said_again(was[0].facts.content, now[0].facts.content, offset)
    if was[0].zone is not Zone.HISTORY:
        return again > 0 or _shares(was, now, offset)
    # Of a message that somebody made from a template, much is said again in other conversations.
    resembles = 2 * again >= len(was[0].facts.content) - offset > 0
    own = True if says_rest_again(was[1:], now) else says_again(was, now)
    if own is None or (resembles and is_models(was[0])):
        return resembles or _shares(was[1:], now, 0)
    return own or _several_messages_again(was, now)


def _rest_is_repeated(pair: Pair, parent: int, child: int) -> bool:
    """Whether all that follows the parent's block there, the model's blocks among it, stands in the child so.

    `says_rest_again` tells the same of blocks; this makes none of them.
    """
    rest = pair.was[parent + 1 : pair.stable_end]
    if (
        len(rest) < _SEVERAL
        or rest[0] not in pair.now[child:]
        or pair.parent.blocks[parent].zone is not Zone.HISTORY
    ):
        return False
    start = pair.now.index(rest[0], child)
    pieces = pair.parent.lazy_blocks.pieces()[parent + 1 : pair.stable_end]
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

"""Two histories, aligned: which old blocks were repeated, changed, lost, and what the child appended."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from coldturn.reference.prefix.causes.align import Gap, grown_gaps, matches
from coldturn.reference.prefix.causes.change import Pair, at
from coldturn.reference.prefix.causes.schema import is_id, leaves, parse_run
from coldturn.reference.prefix.causes.transient import (
    is_spoken,
    last_user_message,
    real_user_messages,
    stable_end,
)
from coldturn.reference.prefix.model import Block, BlockKind, Zone
from coldturn.reference.prefix.request import PromptRequest


@dataclass(frozen=True)
class History:
    """Both histories, aligned. Indices are those of blocks in their request.

    Attributes:
        was: The parent's blocks that should be repeated. `now`: the child's, its trailing reminders apart.
        found: Where the two differ, what the child appended apart.
        appended: The child's blocks behind everything that the parent had.
    """

    pair: Pair
    was: list[int]
    now: list[int]
    found: list[Gap]
    couples: list[tuple[int, int]] = field(default_factory=list)
    appended: frozenset[int] = frozenset()

    @cached_property
    def new_turn(self) -> bool:
        """Whether a person spoke between the two requests: by the runtime's labels, else by their count."""
        was, now = self.pair.parent.labels.turn, self.pair.child.labels.turn
        if was is not None and now is not None:
            return was != now
        return _messages(self.pair.child, self._spoken) > _messages(
            self.pair.parent, real_user_messages(self.pair.parent.blocks)
        )

    @cached_property
    def reminded(self) -> frozenset[int | None]:
        """Ordinals of the parent's messages whose tagged blocks nobody meant to repeat."""
        blocks = self.pair.parent.blocks
        spoken = next((block.message for block in reversed(blocks) if is_spoken(block)), None)
        return frozenset({last_user_message(blocks), spoken} - {None})

    @cached_property
    def ids_one_to_one(self) -> bool:
        """Whether the ids of coupled blocks map one to one."""
        ids: set[tuple[str, str]] = set()
        for parent, child in self.couples:
            was = parse_run(self.parent_block(parent).facts.header)
            now = parse_run(self.child_block(child).facts.header)
            for old, new in zip(was, now, strict=False):
                ids |= {(repr(leaf.was), repr(leaf.now)) for leaf in leaves(old, new) if is_id(leaf)}
        return len({old for old, _ in ids}) == len(ids) == len({new for _, new in ids})

    @cached_property
    def last_user(self) -> int:
        """Index of the child's last block in which a person speaks; -1 when there is none."""
        return max(self._spoken, default=-1)

    @cached_property
    def _spoken(self) -> list[int]:
        return real_user_messages(self.pair.child.blocks)

    def parent_block(self, index: int) -> Block:
        """A block of the parent."""
        return self.pair.parent.blocks[index]

    def child_block(self, index: int) -> Block:
        """A block of the child."""
        return self.pair.child.blocks[index]


def _messages(request: PromptRequest, indices: Sequence[int]) -> int:
    return len({request.blocks[index].message for index in indices})


def read_history(pair: Pair) -> History:
    """Align the two histories: by digest, and what is left by kind, call id and role."""
    was = pair.parent_indices(Zone.HISTORY, Zone.TRANSIENT)
    end = max(stable_end(pair.child.blocks), pair.common)
    every = pair.child_indices(Zone.HISTORY, Zone.TRANSIENT)
    now = every[: bisect_left(every, end)]
    old, new = at(pair.was, was), at(pair.now, now)
    found = grown_gaps(old, new)
    last = found[-1] if found else Gap(len(was), len(was), len(now), len(now))
    ended = _ends_sooner(pair, was, now, last)
    couples = [c for gap in found if not (ended and gap is last) for c in _couples(pair, was, now, gap)]
    appended = frozenset(now[last.now_start :]) if ended else _appended(was, now, last, couples)
    if found and last.was_start == last.was_end == len(was):
        found = found[:-1]
    return History(pair, was, now, found, couples, appended)


def _ends_sooner(pair: Pair, was: Sequence[int], now: Sequence[int], gap: Gap) -> bool:
    """Whether the parent's last message lost its end, and what the child has there are later messages."""
    old, new = was[gap.was_start : gap.was_end], now[gap.now_start : gap.now_end]
    if not old or not new or not gap.was_start or gap.was_end < len(was):
        return False
    parent, child = pair.parent.blocks, pair.child.blocks
    message, repeated = parent[was[gap.was_start - 1]].message, child[now[gap.now_start - 1]].message
    if any(parent[index].message != message for index in old) or child[new[0]].message == repeated:
        return False
    return parent[old[0]].facts.content != child[new[0]].facts.content


def _couples(pair: Pair, was: Sequence[int], now: Sequence[int], gap: Gap) -> list[tuple[int, int]]:
    """Blocks of a gap that are the same block with other content."""
    old, new = was[gap.was_start : gap.was_end], now[gap.now_start : gap.now_end]
    shared = {pair.parent.blocks[index].call_id for index in old} & {
        pair.child.blocks[index].call_id for index in new
    }

    def key(block: Block) -> tuple[object, ...]:
        if block.call_id and block.call_id in shared:
            return block.kind, block.call_id
        # A message without any content is an empty text in another spelling.
        kind = block.kind if block.facts.content or block.kind is not BlockKind.OTHER else BlockKind.TEXT
        return kind, block.role, block.name, block.zone is Zone.TRANSIENT

    old_keys = [key(pair.parent.blocks[index]) for index in old]
    new_keys = [key(pair.child.blocks[index]) for index in new]
    return [(old[left], new[right]) for left, right in matches(old_keys, new_keys)]


def _appended(
    was: Sequence[int], now: Sequence[int], last: Gap, couples: Sequence[tuple[int, int]]
) -> frozenset[int]:
    if last.was_end != len(was):
        return frozenset()
    old = set(was[last.was_start :])
    behind = max((child for parent, child in couples if parent in old), default=None)
    start = last.now_start if behind is None else now.index(behind) + 1
    # Blocks of the parent that have no counterpart and stand last are replaced by what the child has there.
    if old and behind is None:
        return frozenset()
    return frozenset(now[start:])

"""The same things in another order: blocks of the system prompt, and parts of one of its texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from coldturn.reference.prefix.causes.align import Gap, gaps
from coldturn.reference.prefix.causes.change import BlockPair, Change, Pair
from coldturn.reference.prefix.difference import common_length
from coldturn.reference.prefix.model import Block, BlockFacts, Zone

CAUSE = "section_reorder"

_Key: TypeAlias = tuple[Zone, str | None, bool, bytes]
_ORDINAL = re.compile(
    rb"""(?P<front> ^\s*(?:\#{1,6}[ \t]+|\*\*|[-*][ \t]+)?
                    (?:(?:document|doc|source|passage|chunk|result|example|case|context|file|item|part)
                       [ \t]*\#?|\#|[(\[])?
                  | ^\s*<[^<>]*?\s(?:index|idx|id|n|no|num|number|position|rank)=["']? )
        (?P<digits>\d{1,5})(?![\w.]*\w)""",
    re.VERBOSE | re.IGNORECASE,
)
"""The number that a part has from its place: ``Example 3``, ``[3]``, ``<document index="3">``."""


def moved_blocks(
    pair: Pair, was: Sequence[int], now: Sequence[int]
) -> tuple[Change | None, list[int], list[int]]:
    """Blocks of the system prompt that both requests have, in another order, as one change.

    Headers apart, since the first block of a message carries the message's.

    Args:
        pair: The two requests.
        was: Indices of the parent's blocks.
        now: Indices of the child's.

    Returns:
        The change, or None when no block moved; and the blocks that did not move, of parent and child.
    """
    if min(len(was), len(now)) < 2:
        return None, list(was), list(now)
    old, new = _keys(pair.parent.blocks, was), _keys(pair.child.blocks, now)
    found = gaps(old, new)
    gone = Counter(key for gap in found for key in old[gap.was_start : gap.was_end])
    came = Counter(key for gap in found for key in new[gap.now_start : gap.now_end])
    moved = gone & came
    if not moved:
        return None, list(was), list(now)
    parent, child = next(place for gap in found if (place := _first(moved, old, new, gap)) is not None)
    change = BlockPair(pair, was[parent], now[child]).change(CAUSE)
    return (
        replace(change, delta=0),
        _without(was, old, moved, ((gap.was_start, gap.was_end) for gap in found)),
        _without(now, new, moved, ((gap.now_start, gap.now_end) for gap in found)),
    )


def _keys(blocks: Sequence[Block], indices: Sequence[int]) -> list[_Key]:
    chosen = (blocks[index] for index in indices)
    return [(one.zone, one.role, one.facts.is_text, one.facts.content) for one in chosen]


def _first(
    moved: Counter[_Key], old: Sequence[_Key], new: Sequence[_Key], gap: Gap
) -> tuple[int, int] | None:
    """The places of both sides where the first block of a gap moved; None where none did."""
    was, now = range(gap.was_start, gap.was_end), range(gap.now_start, gap.now_end)
    if not any(old[place] in moved for place in was) and not any(new[place] in moved for place in now):
        return None
    edited = 0
    for left, right in zip(was, now, strict=False):
        if old[left] in moved or new[right] in moved:
            break
        edited += 1
    return min(was.start + edited, len(old) - 1), min(now.start + edited, len(new) - 1)


def _without(
    indices: Sequence[int], keys: Sequence[_Key], moved: Counter[_Key], runs: Iterable[tuple[int, int]]
) -> list[int]:
    """The indices but for those blocks within `runs` that moved, each as often as it did."""
    left = Counter(moved)
    taken: set[int] = set()
    for start, end in runs:
        for place in range(start, end):
            if left[keys[place]] > 0:
                left[keys[place]] -= 1
                taken.add(place)
    return [index for place, index in enumerate(indices) if place not in taken]


def has_moved_parts(was: BlockFacts, now: BlockFacts) -> bool:
    """Whether a text holds the same parts in another order: sections, tagged documents, paragraphs.

    Numbers that count the parts may stay where they are (``<document index="1">`` is first in both).
    """
    old, new = _parts(was), _parts(now)
    head = common_length(old, new)
    if len(old) != len(new) or head == len(old):
        return False
    old, new = old[head:], new[head:]
    return Counter(old) == Counter(new) or _same_but_counted(old, new)


def _parts(facts: BlockFacts) -> list[bytes]:
    """The segments of a text, without the white space that separates each from the next."""
    texts = (facts.content[one.start : one.end].strip() for one in facts.segments)
    return [text for text in texts if text]


def _same_but_counted(was: Sequence[bytes], now: Sequence[bytes]) -> bool:
    """Whether the parts are the same but for the numbers that count them, and these stayed in place."""
    old, new = list(map(_uncounted, was)), list(map(_uncounted, now))
    return [count for _, count in old if count] == [count for _, count in new if count] and Counter(
        text for text, _ in old
    ) == Counter(text for text, _ in new)


def _uncounted(part: bytes) -> tuple[bytes, bytes]:
    """A part without the number that counts it, and that number."""
    match = _ORDINAL.match(part)
    if match is None:
        return part, b""
    return part[: match.start("digits")] + part[match.end("digits") :], match["digits"]


def in_order(change: Change, others: Sequence[Change]) -> Iterator[Change]:
    """The changes in render order, `change` in front of all that stand at its place or behind it."""
    pending: Change | None = change
    for other in others:
        if pending is not None and not _is_before(other, pending):
            yield pending
            pending = None
        yield other
    if pending is not None:
        yield pending


def _is_before(one: Change, other: Change) -> bool:
    if one.child is not None and other.child is not None:
        return one.child < other.child
    return (one.parent or 0) < (other.parent or 0)

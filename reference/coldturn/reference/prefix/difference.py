"""Where two requests first differ: the block, the content byte, and the byte in the newer body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

from coldturn.reference.prefix.model import BlockFacts, Fidelity, Zone
from coldturn.reference.prefix.offsets import source_offset
from coldturn.reference.prefix.request import PromptRequest

_STEP = 1 << 16


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place at which a child does not repeat its parent.

    Attributes:
        parent: Index of the parent's block there; None where the parent has ended.
        child: Index of the child's block there; None where the child has ended.
        offset: Content bytes in common from the start.
        block_offset: The same within the block at `path`; 0 when the header (role, ids) differs.
        path: JSON path in the child, or in the parent when the block there is gone from the child.
        side: ``child`` or ``parent``: whose `path` it is.
        segment: Label of that block.
        section: Nearest Markdown heading or tag at or above the place, in that block.
        wire_offset: Byte of the child's body; None when its bytes are not at hand.
        in_header: Whether the headers differ (the contents may differ besides).
    """

    parent: int | None
    child: int | None
    offset: int
    block_offset: int
    path: str
    side: str
    segment: str
    section: str | None
    zone: Zone
    wire_offset: int | None
    in_header: bool


def common_prefix(was: bytes, now: bytes) -> int:
    """Bytes that both have in common from the start."""
    limit = min(len(was), len(now))
    start = 0
    while start < limit and was[start : start + _STEP] == now[start : start + _STEP]:
        start += _STEP
    if start >= limit:
        return limit
    size = min(_STEP, limit - start)
    while size > 1:
        half = size // 2
        if was[start : start + half] == now[start : start + half]:
            start += half
            size -= half
        else:
            size = half
    return start if start >= limit or was[start] != now[start] else start + 1


def common_elements(parent: PromptRequest, child: PromptRequest) -> int:
    """How many elements (tools, messages, items) say the same from the start, in render order."""
    return common_length(parent.contents, child.contents)


def common_length(was: Sequence[object], now: Sequence[object]) -> int:
    """How many items two sequences have in common from the start.

    At once where the one begins with the other, else by halves: slices of tuples compare by identity at the
    speed of C, and each item is met about once more.
    """
    if was is now:
        return len(was)
    low, high = 0, min(len(was), len(now))
    if was[:high] == now[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if was[low:middle] == now[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def extends(parent: PromptRequest, child: PromptRequest) -> bool:
    """Whether the child repeats all that the parent says and goes on from there. Costs no look at blocks."""
    return child.contents[: len(parent.contents)] == parent.contents


def has_wire_drift(parent: PromptRequest, child: PromptRequest, common: int | None = None) -> bool:
    """Whether elements that say the same from the start were sent in another spelling (markers apart).

    Args:
        parent: The older request.
        child: The newer request.
        common: `common_elements` of both, from a caller that knows it.
    """
    left = common_elements(parent, child) if common is None else common
    for was, now in zip(parent.groups, child.groups, strict=False):
        count = min(left, len(was.elements), len(now.elements))
        left -= count
        # Most of them are identical; what differs stands at the end, where markers move.
        first = min(count, common_length(was.elements, now.elements))
        if first == count:
            continue
        pairs = zip(was.elements[first:count], now.elements[first:count], strict=True)
        # Elements that are nothing but a marker (Bedrock's cachePoint) may stand in one of the two only.
        same = (pair for pair in pairs if pair[0].content is pair[1].content)
        if any(one is not other and one.bare != other.bare for one, other in same):
            return True
    return False


def first_difference(
    parent: PromptRequest, child: PromptRequest, common: int | None = None
) -> Difference | None:
    """The first place at which the child does not repeat the parent; None when it repeats all of it.

    A block that the child goes on with (``A`` became ``A`` and more) differs behind its last common byte.

    Args:
        parent: The older request.
        child: The newer request.
        common: `common_elements` of both, from a caller that knows it.
    """
    skipped = common_elements(parent, child) if common is None else common
    if skipped == len(parent.contents):
        return None
    index, offset = parent.totals.blocks[skipped], parent.totals.bytes[skipped]
    was, now = _digests(parent, skipped), _digests(child, skipped)
    run = _run(was, 0, now, 0)
    if run == len(was):
        return None
    offset += sum(len(block.facts.content) for block in parent.blocks[index : index + run])
    gone = run < len(now) and _is_gone(parent, child, index + run, was[run:], now[run:])
    return _difference(parent, child, index + run, offset, gone=gone)


def _difference(
    parent: PromptRequest, child: PromptRequest, index: int, offset: int, *, gone: bool
) -> Difference:
    was, now = parent.blocks[index], child.blocks[index] if index < len(child.blocks) else None
    in_header = now is not None and was.facts.header != now.facts.header
    inside = 0
    if now is not None and not in_header:
        inside = common_prefix(was.facts.content, now.facts.content)
    on_parent = now is None or gone
    shown = was if now is None or on_parent else now
    return Difference(
        parent=index,
        child=index if now is not None else None,
        offset=offset + inside,
        block_offset=inside,
        path=shown.path,
        side="parent" if on_parent else "child",
        segment=shown.label,
        section=section_at(shown.facts, inside),
        zone=shown.zone,
        wire_offset=wire_offset(child, index, inside, in_header=in_header),
        in_header=in_header,
    )


def _is_gone(
    parent: PromptRequest, child: PromptRequest, index: int, was: Sequence[bytes], now: Sequence[bytes]
) -> bool:
    """Whether the parent's block at `index` was taken out, not edited, moved or preceded by a new one.

    Then the child goes on with a later block of the parent, and repeats more from there than from the next.

    Args:
        parent: The older request.
        child: The newer request.
        index: Of the first block that differs.
        was: Digests of the parent's blocks from there on.
        now: Digests of the child's.
    """
    zone = parent.blocks[index].zone
    if zone is not child.blocks[index].zone:
        return max(child.lazy_blocks.within({zone}), default=-1) < index
    if _message_ended(parent, child, index):
        return True
    if now[0] not in was[1:] or was[0] in now[1:]:
        return False
    later = was.index(now[0], 1)
    return _run(was, later, now, 0) > _run(was, 1, now, 1)


def _message_ended(parent: PromptRequest, child: PromptRequest, index: int) -> bool:
    """Whether the parent's block goes on with a message that in the child has ended in front of it."""
    if not index:
        return False
    was, now = parent.blocks[index], child.blocks[index]
    goes_on = was.message is not None and was.message == parent.blocks[index - 1].message
    ended = now.message != child.blocks[index - 1].message
    return goes_on and ended and was.facts.content != now.facts.content


def _digests(request: PromptRequest, first: int) -> Sequence[bytes]:
    """The digest of each block from an element on, without making the blocks."""
    if 2 * first < len(request.contents):
        # Most of them: who looks on will ask for all.
        return request.lazy_blocks.digests()[request.totals.blocks[first] :]
    facts = chain.from_iterable(map(attrgetter("facts"), request.contents[first:]))
    return list(map(attrgetter("digest"), facts))


def _run(was: Sequence[bytes], start: int, now: Sequence[bytes], at: int) -> int:
    """How many blocks of both are the same from there."""
    limit = min(len(was) - start, len(now) - at)
    pairs = zip(was[start : start + limit], now[at : at + limit], strict=True)
    return next((count for count, (one, other) in enumerate(pairs) if one != other), limit)


def section_at(facts: BlockFacts, offset: int) -> str | None:
    """The heading or tag under which content byte `offset` stands."""
    found = None
    for segment in facts.segments:
        if segment.start > offset:
            break
        found = segment.section
    return found


def wire_offset(request: PromptRequest, block: int, offset: int, *, in_header: bool = False) -> int | None:
    """The byte of the body that holds content byte `offset` of a block; None when the body is not at hand.

    Behind the last block it is the end of that block; for a header the start of the block's object.
    """
    if not request.body or request.fidelity is not Fidelity.WIRE:
        return None
    if block >= len(request.blocks):
        return request.blocks[-1].span[1] if request.blocks else None
    if in_header:
        return request.blocks[block].span[0]
    start, element, piece = request.located(block)
    return start + source_offset(element, piece, offset)

"""Causes inside the system prompt and its dynamic tail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from coldturn.reference.prefix.causes.align import gaps
from coldturn.reference.prefix.causes.change import BlockPair, Change, Pair, at, common_suffix
from coldturn.reference.prefix.causes.hunks import Hunk, Texts, hunks
from coldturn.reference.prefix.causes.reorders import CAUSE as REORDER
from coldturn.reference.prefix.causes.reorders import has_moved_parts, in_order, moved_blocks
from coldturn.reference.prefix.causes.schema import parse_run
from coldturn.reference.prefix.causes.texts import Reason, explain, is_micro
from coldturn.reference.prefix.causes.toggles import block_toggle, section_toggle
from coldturn.reference.prefix.difference import common_prefix, section_at
from coldturn.reference.prefix.model import Block, BlockFacts, Zone

_REPLACED_SHARE = 0.5
_SAME_TEXT_SHARE = 0.3
_MIN_REPLACED = 200
"""Bytes below which a prompt is too short to call an unexplained edit of it a replacement."""


def system_changes(pair: Pair) -> list[Change]:
    """Everything that changed in the system prompt and its tail, in render order."""
    was = pair.parent_indices(Zone.SYSTEM, Zone.TAIL)
    now = pair.child_indices(Zone.SYSTEM, Zone.TAIL)
    if at(pair.was, was) == at(pair.now, now):
        return []
    moved, was, now = moved_blocks(pair, was, now)
    changes = _changes(pair, was, now)
    return changes if moved is None else list(in_order(moved, changes))


def _changes(pair: Pair, was: Sequence[int], now: Sequence[int]) -> list[Change]:
    """What changed in blocks that stand in the same order."""
    changes: list[Change] = []
    for gap in gaps(at(pair.was, was), at(pair.now, now)):
        older, newer = was[gap.was_start : gap.was_end], now[gap.now_start : gap.now_end]
        if _same_text(pair, older, newer):
            changes.append(BlockPair(pair, older[0], newer[0]).change("content_shape"))
            continue
        for old, new in _couples(pair, older, newer):
            changes += _block_changes(pair, old, new)
    return changes


def _same_text(pair: Pair, older: Sequence[int], newer: Sequence[int]) -> bool:
    """Whether the same text is cut into other blocks."""
    was = [pair.parent.blocks[index] for index in older]
    now = [pair.child.blocks[index] for index in newer]
    if not was or not now or not all(block.facts.is_text for block in (*was, *now)):
        return False
    old, new = [block.facts.content for block in was], [block.facts.content for block in now]
    return old != new and b"".join(old) == b"".join(new) and {b.role for b in was} == {b.role for b in now}


def _couples(pair: Pair, was: Sequence[int], now: Sequence[int]) -> Iterator[tuple[int | None, int | None]]:
    """Which block became which: by place where counts agree, else by resemblance; None = came or went."""
    if len(was) == len(now) and _zones(pair.parent.blocks, was) == _zones(pair.child.blocks, now):
        yield from zip(was, now, strict=True)
        return
    rest = list(now)
    for old in was:
        match = next(
            (new for new in rest if _resemble(pair.parent.blocks[old], pair.child.blocks[new])), None
        )
        if match is None:
            yield old, None
            continue
        for new in rest[: rest.index(match)]:
            yield None, new
        rest = rest[rest.index(match) + 1 :]
        yield old, match
    for new in rest:
        yield None, new


def _zones(blocks: Sequence[Block], indices: Iterable[int]) -> list[Zone]:
    return [blocks[index].zone for index in indices]


def _resemble(was: Block, now: Block) -> bool:
    if was.zone is not now.zone:
        return False
    old, new = was.facts.content, now.facts.content
    head = common_prefix(old, new)
    tail = common_suffix(old, new, min(len(old), len(new)) - head)
    return head + tail >= _SAME_TEXT_SHARE * max(len(old), len(new))


def _block_changes(pair: Pair, old: int | None, new: int | None) -> list[Change]:
    was = pair.parent.blocks[old] if old is not None else None
    now = pair.child.blocks[new] if new is not None else None
    if was is None or now is None:
        return [_whole_block(pair, old, new)]
    block = BlockPair(pair, old or 0, new or 0)
    if was.facts.content == now.facts.content and _is_shape(was, now):
        return [block.change("content_shape")]
    if was.facts.content == now.facts.content or not (was.facts.is_text and now.facts.is_text):
        return [block.change("system_edited", kinds=_header_kinds(was, now))]
    if _same_sections(was.facts, now.facts) or has_moved_parts(was.facts, now.facts):
        return [block.change(REORDER)]
    return text_changes(block)


def _is_shape(was: Block, now: Block) -> bool:
    """Whether one is a string where the other is a list with one text part."""
    short, long = sorted((parse_run(was.facts.header), parse_run(now.facts.header)), key=len)
    if len(long) != len(short) + 1 or long[:-1] != short:
        return False
    return isinstance(long[-1], dict) and set(long[-1]) == {"type"}


def _header_kinds(was: Block, now: Block) -> tuple[str, ...]:
    if was.role != now.role:
        return ("role",)
    return ("header",) if was.facts.header != now.facts.header else ()


def _whole_block(pair: Pair, old: int | None, new: int | None) -> Change:
    """A system block that came or went as a whole."""
    block = pair.child.blocks[new] if new is not None else pair.parent.blocks[old or 0]
    content = block.facts.content
    was, now = (b"", content) if new is not None else (content, b"")
    texts = Texts(was, now, block.zone, known_tools(pair))
    reason = None
    if block.facts.is_text and content:
        reason = explain(hunks(texts)[0])
    reason = reason or Reason("memory_injection" if block.zone is Zone.TAIL else "system_edited")
    reason = block_toggle(pair, content, reason, came=new is not None)
    return Change(
        cause=reason.cause,
        zone=block.zone,
        parent=old,
        child=new,
        confidence=reason.confidence,
        delta=len(now) - len(was),
        names=reason.names,
        kinds=reason.kinds,
        alongside=reason.alongside,
    )


def text_changes(block: BlockPair) -> list[Change]:
    """Hunk by hunk, the causes of one changed text block of the system prompt."""
    texts = Texts(block.was.facts.content, block.now.facts.content, block.now.zone, known_tools(block.pair))
    changes: list[Change] = []
    unexplained = 0
    for hunk, found in explained(texts):
        reason = section_toggle(block.pair, hunk, found)
        if reason is None:
            unexplained += max(map(len, hunk.spans))
        changes.append(hunk_change(block, hunk, reason or _unexplained(hunk)))
    changes = _without_moved_lines(changes)
    longest = max(len(texts.was), len(texts.now))
    if longest >= _MIN_REPLACED and unexplained > _REPLACED_SHARE * longest:
        changes = [
            replace(change, cause="system_replaced", group=block.now.path)
            if change.cause in {"system_edited", "system_micro_drift"}
            else change
            for change in changes
        ]
    return changes


def _without_moved_lines(changes: list[Change]) -> list[Change]:
    """An entry that left a list in one place and came in another (moved, or edited too) did neither."""
    grown, shrunk = (
        {(change.section, name) for change in changes if change.cause == cause for name in change.names}
        for cause in ("catalog_growth", "catalog_shrink")
    )
    moved = grown & shrunk
    return [
        replace(change, cause="system_edited", kinds=("line_order",))
        if any((change.section, name) in moved for name in change.names)
        else change
        for change in changes
    ]


def explained(texts: Texts) -> Iterator[tuple[Hunk, Reason | None]]:
    """Each hunk with its reason; one that no rule explains is looked at line by line where lines resemble."""
    for hunk in hunks(texts):
        reason = explain(hunk)
        parts = hunk.parts() if reason is None else [hunk]
        if len(parts) == 1:
            yield hunk, reason
            continue
        for part in parts:
            yield part, explain(part)


def _unexplained(hunk: Hunk) -> Reason:
    return Reason("system_micro_drift" if is_micro(hunk) else "system_edited")


def hunk_change(block: BlockPair, hunk: Hunk, reason: Reason) -> Change:
    """One hunk as a change of its block; the section is the one that gained or lost the lines."""
    if hunk.now_lines or not hunk.was_lines:
        section = section_at(block.now.facts, hunk.offset)
    else:
        section = section_at(block.was.facts, hunk.was_offset)
    return Change(
        cause=reason.cause,
        zone=block.now.zone,
        parent=block.parent,
        child=block.child,
        block_offset=hunk.offset,
        confidence=reason.confidence,
        delta=block.delta,
        names=reason.names,
        kinds=reason.kinds,
        alongside=reason.alongside,
        section=section,
        group=f"{block.now.path} {section}",
    )


def _same_sections(was: BlockFacts, now: BlockFacts) -> bool:
    old, new = _sections(was), _sections(now)
    return old != new and Counter(old) == Counter(new)


def _sections(facts: BlockFacts) -> list[bytes]:
    """Text of each section, without the white space that separates it from the next."""
    texts: list[bytes] = []
    for _, segments in groupby(facts.segments, key=lambda segment: segment.section):
        run = list(segments)
        texts.append(facts.content[run[0].start : run[-1].end].strip())
    return texts


def known_tools(pair: Pair) -> frozenset[str]:
    """Names of the tools that either request defines, calls or knows of."""
    names = pair.parent.lazy_blocks.names() | pair.child.lazy_blocks.names()
    return frozenset(names) | pair.parent.labels.deferred | pair.child.labels.deferred

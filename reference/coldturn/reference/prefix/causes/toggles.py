"""What came or went and was otherwise in the request before: A B A B. It takes three requests to see it.

Two requests show that a section is there or not; only the one before the older one shows that it was like
that already, so that the next request is likely to turn it over once more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from coldturn.reference.prefix.causes.change import Change, Pair, unique
from coldturn.reference.prefix.causes.hunks import Hunk
from coldturn.reference.prefix.causes.texts import Reason
from coldturn.reference.prefix.model import Block, BlockKind, Zone
from coldturn.reference.prefix.request import PromptRequest

_AROUND = 32
"""Bytes on both sides of a section which the request before must have there too."""
_LEAST_SECTION = 16
_TITLE = re.compile(rb"\s*(?:#{1,6}[ \t]|<[A-Za-z])")
_IMAGE = re.compile(rb'"(?:type":"(?:input_)?image(?:_url)?"|image":\{|inline_?[dD]ata":\{)')
_TOUCHED = frozenset({"image_replaced", "block_missing", "history_rewritten"})


def section_toggle(pair: Pair, hunk: Hunk, reason: Reason | None) -> Reason | None:
    """`reason`, or the toggle of a whole section that a run of lines is."""
    if pair.before is None or not _is_section(hunk):
        return reason
    start = max(0, hunk.now_start - _AROUND)
    end = hunk.now_start + sum(map(len, hunk.now_lines)) + _AROUND
    came = bool(hunk.now_lines)
    if not any(hunk.texts.now[start:end] in text for text in _system_texts(pair.before)):
        return reason
    section = b"".join(hunk.now_lines or hunk.was_lines).strip()
    return toggle_reason(reason, came=came) if _turned(pair, section, came=came) else reason


def block_toggle(pair: Pair, content: bytes, reason: Reason, *, came: bool) -> Reason:
    """`reason`, or the toggle of a whole block of the system prompt."""
    if pair.before is None or len(content) < _LEAST_SECTION or not _turned(pair, content, came=came):
        return reason
    return toggle_reason(reason, came=came)


def _turned(pair: Pair, content: bytes, *, came: bool) -> bool:
    """Whether only the older request of three lacks a text, or has it: what only moved is no toggle."""
    had = [
        any(content in text for text in _system_texts(request))
        for request in (pair.before, pair.parent, pair.child)
        if request is not None
    ]
    return had == [came, not came, came]


def toggle_reason(reason: Reason | None, *, came: bool) -> Reason:
    """The toggle of a section, with what else fits alongside."""
    others = (reason.cause, *reason.alongside) if reason is not None else ("system_edited",)
    names = reason.names if reason is not None else ()
    return Reason("section_toggle", names=names, kinds=("in" if came else "out",), alongside=others)


def _is_section(hunk: Hunk) -> bool:
    """Whether whole lines came or went that begin with a heading or tag, or stand between blank lines."""
    lines = hunk.now_lines or hunk.was_lines
    if (hunk.was_lines and hunk.now_lines) or sum(map(len, map(bytes.strip, lines))) < _LEAST_SECTION:
        return False
    if _TITLE.match(b"".join(lines)):
        return True
    text, start = (hunk.texts.now, hunk.now_start) if hunk.now_lines else (hunk.texts.was, hunk.was_start)
    end = start + sum(map(len, lines))
    begins = not start or not lines[0].strip() or text[:start].endswith((b"\n\n", b"\n\r\n"))
    ends = end >= len(text) or not lines[-1].strip() or text[end:].startswith((b"\n", b"\r\n"))
    return begins and ends


def _system_texts(request: PromptRequest) -> list[bytes]:
    blocks = request.lazy_blocks
    return [blocks[index].facts.content for index in blocks.within({Zone.SYSTEM, Zone.TAIL})]


def image_toggle(pair: Pair, changes: Sequence[Change]) -> list[Change]:
    """The changes; those of images that were all gone, or all there, in the older request only, renamed."""
    if pair.before is None or not any(_is_of_image(pair, change) for change in changes):
        return list(changes)
    messages = [block.message for block in pair.before.blocks if block.message is not None]
    end = max(messages, default=-1)
    before, was, now = (
        _images(block for block in request.blocks if block.message is not None and block.message <= end)
        for request in (pair.before, pair.parent, pair.child)
    )
    if before != now or bool(was) == bool(now):
        return list(changes)
    return [
        replace(change, cause="image_toggle", alongside=unique((change.cause, *change.alongside)))
        if _is_of_image(pair, change)
        else change
        for change in changes
    ]


def _is_of_image(pair: Pair, change: Change) -> bool:
    was = pair.parent.blocks[change.parent] if change.parent is not None else None
    now = pair.child.blocks[change.child] if change.child is not None else None
    blocks = [block for block in (was, now) if block is not None]
    return change.cause in _TOUCHED and _images(blocks) > 0


def _images(blocks: Iterable[Block]) -> int:
    return sum(image_count(block) for block in blocks)


def image_count(block: Block) -> int:
    """How many images a block is, or holds as a tool's result."""
    if block.kind is BlockKind.IMAGE:
        return 1
    if block.kind is not BlockKind.TOOL_RESULT or block.facts.is_text:
        return 0
    return len(_IMAGE.findall(block.facts.content))

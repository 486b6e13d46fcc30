"""Tagged reminders in a last user message: text that the sender never meant to repeat."""

from __future__ import annotations

import re
from collections.abc import Sequence

from coldturn.reference.prefix.model import Block, BlockFacts, BlockKind, Zone

_CLOSING = re.compile(rb"</([A-Za-z][\w:.-]*)>\Z")
_REMINDER = re.compile(
    rb"remind|context|system|environment|\benv\b|todo|state|status|notice|note|clock|time|date|memor|recall"
    rb"|deferred|catalog|attach|selection|editor|\bide\b|info|instruction",
    re.IGNORECASE,
)


def is_reminder(block: Block) -> bool:
    """Whether a block is one tagged reminder and nothing else."""
    return block.kind is BlockKind.TEXT and reminder_start(block.facts) == 0


def reminder_start(facts: BlockFacts) -> int | None:
    """Byte at which the tagged reminders that end a text begin, white space in front included."""
    if not facts.is_text:
        return None
    end = len(facts.content)
    if not facts.content.rstrip().endswith(b">"):
        return None
    while end and (start := _last_reminder(facts.content, end)) is not None:
        end = start
    return end if end < len(facts.content.rstrip()) else None


def _last_reminder(content: bytes, end: int) -> int | None:
    text = content[:end].rstrip()
    closing = _CLOSING.search(text, max(text.rfind(b"</"), 0))
    if closing is None or not _REMINDER.search(closing[1]):
        return None
    starts = [match.start() for match in re.finditer(rb"<%b(?:\s[^<>]*)?>" % re.escape(closing[1]), text)]
    return len(text[: starts[-1]].rstrip()) if starts else None


def last_user_message(blocks: Sequence[Block]) -> int | None:
    """Ordinal of the last message of role user, carriers of tool results included."""
    for block in reversed(blocks):
        if block.role == "user" and block.zone in {Zone.HISTORY, Zone.TRANSIENT}:
            return block.message
    return None


def real_user_messages(blocks: Sequence[Block]) -> list[int]:
    """Indices of the blocks in which a person speaks: no tool results, no reminders, nothing transient."""
    return [index for index, block in enumerate(blocks) if is_spoken(block)]


def is_spoken(block: Block) -> bool:
    """Whether a person speaks in a block."""
    return (
        block.role == "user"
        and block.zone is Zone.HISTORY
        and block.kind in {BlockKind.TEXT, BlockKind.IMAGE}
        and not is_reminder(block)
    )


def stable_end(blocks: Sequence[Block]) -> int:
    """How many blocks from the start belong to the stable part.

    Behind it stands a trailing run of transient blocks, or of tagged reminders in the last user message.
    """
    last = last_user_message(blocks)
    end = len(blocks)
    while end and (blocks[end - 1].zone is Zone.TRANSIENT or is_trailing_reminder(blocks[end - 1], last)):
        end -= 1
    return end


def is_trailing_reminder(block: Block, last: int | None) -> bool:
    """Whether a block is a tagged reminder in the message with ordinal `last`, the last of role user."""
    return (
        last is not None
        and block.message == last
        and block.role == "user"
        and block.zone is Zone.HISTORY
        and is_reminder(block)
    )

"""Anthropic Messages: tools, then system, then messages."""

from __future__ import annotations

import msgspec

from coldturn.reference.prefix.dialects.build import Builder, Dialect, Group, Rule
from coldturn.reference.prefix.dialects.message import MessageRules, read_message
from coldturn.reference.prefix.dialects.parameters import read_system, read_tool
from coldturn.reference.prefix.elements import Element
from coldturn.reference.prefix.model import BlockKind, Surface, Zone

_CALL = Rule(BlockKind.TOOL_CALL, ids=frozenset({"id"}), name="name", call="id")
_RESULT = Rule(BlockKind.TOOL_RESULT, ids=frozenset({"tool_use_id"}), call="tool_use_id", nested="content")


def _by_ending(kind: str) -> Rule:
    """Server-side tools add block types; their names end like the two that clients use."""
    if kind.endswith("tool_use"):
        return _CALL
    if kind.endswith("tool_result"):
        return _RESULT
    return Rule(BlockKind.OTHER)


RULES = MessageRules(
    parts={
        "text": Rule(BlockKind.TEXT, text="text"),
        "thinking": Rule(BlockKind.REASONING),
        "redacted_thinking": Rule(BlockKind.REASONING),
        "image": Rule(BlockKind.IMAGE),
        "compaction": Rule(BlockKind.COMPACTION),
        "document": Rule(BlockKind.OTHER, nested="content"),
    },
    fallback=_by_ending,
)


def read_item(data: bytes) -> Element:
    """One message, of any role: a system message in mid-conversation renders where it stands."""
    builder = Builder(data)
    return builder.finish(read_message(builder, RULES))


_DEFERRED = b'"defer_loading":true'


class _Tool(msgspec.Struct):
    defer_loading: bool = False


def is_deferred(element: Element) -> bool:
    """Whether a tool is rendered where a later message refers to it, and not in the array.

    ``defer_loading`` says so; the provider leaves such a definition out of the prefix until then (its
    documentation of tool search, 2026).
    """
    content = element.content.facts[-1].content if element.content.facts else b""
    if _DEFERRED not in content:
        return False
    try:
        return msgspec.json.decode(content, type=_Tool).defer_loading
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


DIALECT = Dialect(
    Surface.MESSAGES,
    (
        Group("tools", Zone.TOOLS, read_tool, unplaced=is_deferred),
        Group("system", Zone.SYSTEM, read_system, text=True),
        Group("messages", Zone.HISTORY, read_item, numbered=True),
    ),
)

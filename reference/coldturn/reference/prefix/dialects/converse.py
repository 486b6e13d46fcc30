"""Bedrock's Converse and ConverseStream, and the bodies of Nova: tools, then system, then messages.

Parts are named by their key and have no ``type``; a ``cachePoint`` is an object of its own behind what it
marks. The order is the one in which AWS says that its caches look (prompt caching for Amazon Bedrock).
"""

from __future__ import annotations

from coldturn.reference.prefix.dialects.build import Builder, Dialect, Group, Rule
from coldturn.reference.prefix.dialects.message import MessageRules, read_message
from coldturn.reference.prefix.dialects.parameters import read_system, read_tool
from coldturn.reference.prefix.elements import Element
from coldturn.reference.prefix.model import BlockKind, Surface, Zone

_ID = "toolUseId"
_IDS = frozenset({_ID})

RULES = MessageRules(
    parts={
        "text": Rule(BlockKind.TEXT, text="text"),
        "toolUse": Rule(BlockKind.TOOL_CALL, ids=_IDS, name="name", call=_ID, inner="toolUse"),
        "toolResult": Rule(BlockKind.TOOL_RESULT, ids=_IDS, call=_ID, inner="toolResult"),
        "reasoningContent": Rule(BlockKind.REASONING, inner="reasoningContent"),
        "image": Rule(BlockKind.IMAGE, inner="image"),
        **{
            key: Rule(BlockKind.OTHER, inner=key)
            for key in ("document", "video", "audio", "guardContent", "citationsContent", "searchResult")
        },
    },
)


def read_item(data: bytes) -> Element:
    """One message."""
    builder = Builder(data)
    return builder.finish(read_message(builder, RULES))


DIALECT = Dialect(
    Surface.CONVERSE,
    (
        Group("toolConfig.tools", Zone.TOOLS, read_tool),
        Group("system", Zone.SYSTEM, read_system),
        Group("messages", Zone.HISTORY, read_item, numbered=True),
    ),
)

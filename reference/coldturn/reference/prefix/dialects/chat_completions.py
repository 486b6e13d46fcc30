"""OpenAI Chat Completions, and the many servers that speak it: tools, then messages."""

from __future__ import annotations

from coldturn.reference.prefix.dialects.build import Builder, Dialect, Group, Rule
from coldturn.reference.prefix.dialects.message import MessageRules, read_message
from coldturn.reference.prefix.dialects.parameters import read_tool
from coldturn.reference.prefix.elements import Element
from coldturn.reference.prefix.model import BlockKind, Surface, Zone

RULES = MessageRules(
    parts={
        "text": Rule(BlockKind.TEXT, text="text"),
        "image_url": Rule(BlockKind.IMAGE),
    },
    result_roles=frozenset({"tool", "function"}),
    call_key="tool_call_id",
    before=("reasoning_content", "reasoning"),
    calls="tool_calls",
    single_call="function_call",
    call_rule=Rule(BlockKind.TOOL_CALL, ids=frozenset({"id"}), name="name", call="id"),
)


def read_item(data: bytes) -> Element:
    """One message."""
    builder = Builder(data)
    return builder.finish(read_message(builder, RULES))


DIALECT = Dialect(
    Surface.CHAT_COMPLETIONS,
    (
        Group("tools", Zone.TOOLS, read_tool),
        Group("functions", Zone.TOOLS, read_tool),
        Group(
            "messages",
            Zone.HISTORY,
            read_item,
            leading=frozenset({"system", "developer"}),
            numbered=True,
        ),
    ),
)

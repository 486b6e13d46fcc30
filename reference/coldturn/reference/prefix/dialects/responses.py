"""OpenAI Responses: tools, then instructions, then input items."""

from __future__ import annotations

from coldturn.reference.prefix.dialects.build import Builder, Dialect, Group, Place, Rule, add_part
from coldturn.reference.prefix.dialects.message import MessageRules, part_of, read_message
from coldturn.reference.prefix.dialects.parameters import read_system, read_tool
from coldturn.reference.prefix.elements import Element
from coldturn.reference.prefix.model import BlockKind, Surface, Zone

_IDS = frozenset({"id", "call_id"})
_TEXT = Rule(BlockKind.TEXT, text="text")
_COMPACTION = Rule(BlockKind.COMPACTION, ids=frozenset({"id"}))

RULES = MessageRules(
    parts={
        "input_text": _TEXT,
        "output_text": _TEXT,
        "text": _TEXT,
        "input_image": Rule(BlockKind.IMAGE),
        "computer_screenshot": Rule(BlockKind.IMAGE),
    },
)
_ITEMS = {
    "reasoning": Rule(BlockKind.REASONING, ids=frozenset({"id"})),
    "compaction": _COMPACTION,
    "compaction_summary": _COMPACTION,
    # A reference has nothing but its id.
    "item_reference": Rule(BlockKind.OTHER),
}


def _by_ending(kind: str) -> Rule:
    """Every built-in tool has its own pair of item types; their names end alike."""
    if kind.endswith("_call"):
        return Rule(BlockKind.TOOL_CALL, ids=_IDS, name="name", call="call_id")
    if kind.endswith("_output"):
        return Rule(BlockKind.TOOL_RESULT, ids=_IDS, call="call_id", nested="output")
    return Rule(BlockKind.OTHER, ids=frozenset({"id"}))


def read_item(data: bytes) -> Element:
    """One input item, or the input itself where it is a string."""
    builder = Builder(data)
    span = (0, len(data))
    if data[:1] == b'"':
        builder.add_text(Place(BlockKind.TEXT, "", "user", "user", span), span, b"")
        return builder.finish("user")
    members = builder.members(span)
    if members is None or members.text("type") in {None, "message"}:
        return builder.finish(read_message(builder, RULES))
    rule, title, name, call_id = part_of(builder, span, _ITEMS, _by_ending, None)
    add_part(builder, span, Place(rule.kind, "", title, None, span, name, call_id), rule, b"")
    return builder.finish(None)


DIALECT = Dialect(
    Surface.RESPONSES,
    (
        Group("tools", Zone.TOOLS, read_tool),
        Group("instructions", Zone.SYSTEM, read_system, text=True),
        Group(
            "input",
            Zone.HISTORY,
            read_item,
            leading=frozenset({"system", "developer"}),
            numbered=True,
            text=True,
        ),
    ),
)

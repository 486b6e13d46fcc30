"""Gemini's generateContent and streamGenerateContent, on the Gemini API and on Vertex.

Keys are read in both spellings that Google's servers take (``systemInstruction``, ``system_instruction``),
and one object where a list belongs. Google publishes no order of rendering: tools, system instruction,
contents is assumed, as on the other surfaces. What an explicit cache (``cachedContent``) holds stands in
front of all that and is not in the body; its name is a setting.
"""

from __future__ import annotations

from collections.abc import Iterator

from coldturn.reference.prefix.dialects.build import Builder, Dialect, Group, Place, Rule, Span
from coldturn.reference.prefix.dialects.message import MessageRules, read_message
from coldturn.reference.prefix.elements import Element, without
from coldturn.reference.prefix.model import BlockKind, Surface, Zone
from coldturn.reference.prefix.scanner import Member

_IDS = frozenset({"id"})
_MIME = ("mimeType", "mime_type")
_DECLARATIONS = ("functionDeclarations", "function_declarations")


def _spelled(
    keys: tuple[str, ...], kind: BlockKind, *, ids: bool = False, named: bool = False
) -> dict[str, Rule]:
    """The same rule for each spelling of a part's key."""
    return {
        key: Rule(
            kind,
            ids=_IDS if ids else frozenset(),
            name="name" if named else None,
            call="id" if ids else None,
            inner=key,
            mime=_MIME if kind is BlockKind.IMAGE else (),
        )
        for key in keys
    }


RULES = MessageRules(
    parts={
        "text": Rule(BlockKind.TEXT, text="text"),
        **_spelled(("functionCall", "function_call"), BlockKind.TOOL_CALL, ids=True, named=True),
        **_spelled(("functionResponse", "function_response"), BlockKind.TOOL_RESULT, ids=True),
        **_spelled(("inlineData", "inline_data", "fileData", "file_data"), BlockKind.IMAGE),
        **_spelled(("executableCode", "executable_code"), BlockKind.TOOL_CALL),
        **_spelled(("codeExecutionResult", "code_execution_result"), BlockKind.TOOL_RESULT),
    },
    content="parts",
    single=True,
    roles={"model": "assistant"},
    signatures=("thoughtSignature", "thought_signature"),
    thought="thought",
)


def read_content(data: bytes) -> Element:
    """One content: a message."""
    builder = Builder(data)
    return builder.finish(read_message(builder, RULES))


def read_instruction(data: bytes) -> Element:
    """The system instruction: written as a content, though nobody says it."""
    builder = Builder(data)
    read_message(builder, RULES)
    builder.pieces[:] = [
        piece._replace(role=None, title="" if piece.kind is BlockKind.TEXT else piece.title)
        for piece in builder.pieces
    ]
    return builder.finish(None)


def read_tools(data: bytes) -> Element:
    """One object of the tools list: each function that it declares is a tool, and so is each other key."""
    builder = Builder(data)
    whole = (0, len(data))
    members = builder.members(whole)
    if members is None:
        builder.add_json(Place(BlockKind.TOOL, "", "", None, whole), whole, (), b"")
        return builder.finish(None)
    for member in members.members:
        if members.by_key[member.key] is not member:
            continue
        if member.key in _DECLARATIONS:
            for suffix, span in _objects(builder, member):
                _declare(builder, suffix, span)
        else:
            # A tool that the provider runs, such as googleSearch.
            cuts = without(members, frozenset(members.by_key) - {member.key})
            place = Place(BlockKind.TOOL, f".{member.key}", member.key, None, whole, member.key)
            builder.add_json(place, whole, cuts, b"")
    return builder.finish(None)


def _declare(builder: Builder, suffix: str, span: Span) -> None:
    declared = builder.members(span)
    name = declared.text("name") if declared is not None else None
    builder.add_json(Place(BlockKind.TOOL, suffix, name or "", None, span, name), span, (), b"")


def _objects(builder: Builder, member: Member) -> Iterator[tuple[str, Span]]:
    """The items of a list, or the value itself where it is no list."""
    value = (member.value, member.end)
    spans = builder.items(value)
    if spans is None:
        yield f".{member.key}", value
        return
    for index, span in enumerate(spans):
        yield f".{member.key}[{index}]", span


DIALECT = Dialect(
    Surface.GENERATE_CONTENT,
    (
        Group("tools", Zone.TOOLS, read_tools, single=True),
        Group("systemInstruction", Zone.SYSTEM, read_instruction, single=True),
        Group("system_instruction", Zone.SYSTEM, read_instruction, single=True),
        Group("contents", Zone.HISTORY, read_content, numbered=True, single=True),
    ),
)

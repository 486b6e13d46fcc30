"""Tools and system parameters: the parts of a prompt that are not messages."""

from __future__ import annotations

from coldturn.reference.prefix.dialects.build import Builder, Place, Rule, add_part
from coldturn.reference.prefix.dialects.message import part_of, tool_name
from coldturn.reference.prefix.elements import Element, without
from coldturn.reference.prefix.markers import MARKER_KEYS
from coldturn.reference.prefix.model import BlockKind

CREDENTIAL_KEYS = frozenset({"authorization", "authorization_token", "extra_headers", "headers"})
"""With these the provider calls an MCP server; no model reads them, and clients mint them anew."""

_TOOL = Rule(BlockKind.TOOL, name="name")
_TEXT = {"text": Rule(BlockKind.TEXT, text="text")}


def read_tool(data: bytes) -> Element:
    """A tool object; its content is all of it except markers and a hosted MCP server's credentials."""
    builder = Builder(data)
    span = (0, len(data))
    members = builder.members(span)
    if members is None:
        builder.add_json(Place(BlockKind.TOOL, "", "", None, span), span, (), b"")
        return builder.finish(None)
    if members.members and MARKER_KEYS.issuperset(members.by_key):
        builder.take_markers(members, "", -1)
        return builder.finish(None)
    name = tool_name(builder, members, _TOOL) or members.text("type")
    place = Place(BlockKind.TOOL, "", name or "", None, span, name)
    aside = MARKER_KEYS | CREDENTIAL_KEYS if members.text("type") == "mcp" else MARKER_KEYS
    cuts = list(without(members, aside))
    inner = members.get("function")
    found = builder.members((inner.value, inner.end)) if inner is not None else None
    if found is not None:
        cuts.extend(without(found, MARKER_KEYS))
        builder.take_markers(found, ".function", 0)
    builder.add_json(place, span, tuple(sorted(cuts)), b"")
    builder.take_markers(members, "", 0, aside)
    return builder.finish(None)


def read_system(data: bytes) -> Element:
    """A system parameter: a string, or one item of a list of text blocks."""
    builder = Builder(data)
    span = (0, len(data))
    if data[:1] == b'"':
        builder.add_text(Place(BlockKind.TEXT, "", "", None, span), span, b"")
        return builder.finish(None)
    members = builder.members(span)
    if members is not None and members.members and MARKER_KEYS.issuperset(members.by_key):
        builder.take_markers(members, "", -1)
        return builder.finish(None)
    rule, title, name, _ = part_of(builder, span, _TEXT, lambda _type: Rule(BlockKind.OTHER), None)
    place = Place(rule.kind, "", "" if rule.text else title, None, span, name)
    add_part(builder, span, place, rule, b"")
    return builder.finish(None)

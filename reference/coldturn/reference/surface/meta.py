"""The tools that reach what the array does not show. Nothing in them moves with a catalogue."""

from __future__ import annotations

from typing import Any, Final

from coldturn.reference.catalogue.definition import compact_json
from coldturn.reference.surface.model import SurfaceTool
from coldturn.reference.wire.model import ToolDefinition

LIST: Final = "mcp_list_tools"
DESCRIBE: Final = "mcp_describe_tool"
CALL: Final = "mcp_call_tool"
SEARCH: Final = "mcp_search_tools"
USE: Final = "mcp_use_tool"

META_NAMES: Final = frozenset({LIST, DESCRIBE, CALL})
SEARCH_NAMES: Final = frozenset({SEARCH, USE})

_SERVER = {"type": "string", "description": "Name of a connected server"}
_TOOL = {"type": "string", "description": "The tool's own name on that server"}
_INPUT = {"type": "object", "description": "Arguments, as the tool's input schema asks for"}


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


SCHEMAS: Final[dict[str, dict[str, Any]]] = {
    LIST: _object({"server": _SERVER}, "server"),
    DESCRIBE: _object({"server": _SERVER, "tool": _TOOL}, "server", "tool"),
    CALL: _object({"server": _SERVER, "tool": _TOOL, "input": _INPUT}, "server", "tool"),
    SEARCH: _object({"query": {"type": "string", "description": "Keywords"}}, "query"),
    USE: _object({"server": _SERVER, "tool": _TOOL, "input": _INPUT}, "server", "tool"),
}

FACADE_SCHEMA: Final = _object(
    {"tool": {"type": "string", "description": "A name from the list above"}, "input": _INPUT}, "tool"
)

_TEXTS: Final = {
    LIST: "Lists the names of the tools that a connected server offers, one a line.",
    DESCRIBE: "Reads one tool's description, input schema and output schema. Read it before the first call.",
    CALL: "Calls one tool of a connected server by server and tool name.",
    SEARCH: "Searches the tools of all connected servers by keyword. Each hit names the server, the tool and"
    " its required arguments.",
    USE: "Calls a tool that a search has found, by server and tool name.",
}


def definition(name: str) -> SurfaceTool:
    """The definition of a meta tool or of one half of the search pair: a constant."""
    text = _TEXTS[name]
    return SurfaceTool(ToolDefinition(name, text, compact_json(SCHEMAS[name])), hint=text)

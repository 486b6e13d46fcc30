"""One tool that stands for all of a server's: its description is an index."""

from __future__ import annotations

from collections.abc import Iterable

from coldturn.reference.catalogue import CatalogueTool
from coldturn.reference.catalogue.definition import compact_json
from coldturn.reference.surface.lines import first_line
from coldturn.reference.surface.meta import FACADE_SCHEMA
from coldturn.reference.surface.model import SurfaceTool
from coldturn.reference.surface.names import ExposedNames
from coldturn.reference.wire.model import ToolDefinition


def facade(names: ExposedNames, server: str, about: str, tools: Iterable[CatalogueTool]) -> SurfaceTool:
    """Make the facade: what the server is, then exposed name and first line of each tool, in order."""
    head = f"Calls one of the tools of {server}{': ' + about if about else '.'}"
    entries = [_entry(names.of(server, tool.name), first_line(tool.description)) for tool in tools]
    description = "\n".join([head, "", "Tools:", *entries])
    return SurfaceTool(
        ToolDefinition(names.facade(server), description, compact_json(FACADE_SCHEMA)), hint=head
    )


def _entry(name: str, line: str) -> str:
    return f"- {name}: {line}" if line else f"- {name}"

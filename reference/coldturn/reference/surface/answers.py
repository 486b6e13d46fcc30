"""What the meta tools and the search answer: lists, descriptions, hits. All of it has passed `Narrowing`."""

from __future__ import annotations

from collections.abc import Sequence

from coldturn.reference.catalogue import CatalogueTool
from coldturn.reference.catalogue.definition import compact_json
from coldturn.reference.surface.search import hit_line, search


def listing(tools: Sequence[CatalogueTool]) -> str:
    """The tools' own names, one a line."""
    return "\n".join(tool.name for tool in tools) or "This server offers no tools that you can call."


def description(tool: CatalogueTool, exposed: str | None) -> str:
    """The definition as the server gave it, with the pair that names it.

    Args:
        tool: The row.
        exposed: The name under which the array holds the tool, or None.
    """
    head: dict[str, str] = {"server": tool.server}
    if exposed is not None:
        head["callable_as"] = exposed
    return compact_json(head)[:-1].decode() + "," + tool.body.decode()[1:]


def hits(tools: Sequence[CatalogueTool], query: str, limit: int) -> str:
    """How many tools match, then the best of them, one a line."""
    found = search(tools, query, limit=limit)
    lines = [hit_line(tool) for tool in found.tools]
    return "\n".join([f"{len(lines)} of {found.total} matches", *lines])

"""The published tool listings: read from the corpus through the runtime's own walk, and served again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import orjson
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from coldturn.reference.catalogue import CatalogueTool
from coldturn.reference.catalogue.definition import Definition
from coldturn.reference.catalogue.walk import walk

SUBSETS = frozenset({"azure-mcp", "azure-mcp-mode-single", "playwright-mcp"})
"""Listings of a server whose other listing has all of their tools, or the tools that they stand for."""

_SUFFIX = ".tools_list.jsonl"


NO_CORPUS = "COLDTURN_CORPUS names no folder: this measures published tool listings"


def corpus_folder() -> Path | None:
    """The corpus that ``COLDTURN_CORPUS`` names; a user's clone has none."""
    value = os.environ.get("COLDTURN_CORPUS")
    return Path(value) if value else None


def read_pages(path: Path) -> list[types.ListToolsResult]:
    """A listing file: one ``tools/list`` response a line."""
    lines = path.read_bytes().splitlines()
    return [types.ListToolsResult.model_validate(orjson.loads(line)["result"]) for line in lines]


def read_listings(corpus: Path) -> dict[str, list[types.ListToolsResult]]:
    """The pages of every listing, by its name, in order of names."""
    paths = sorted((corpus / "mcp-tools").glob(f"*{_SUFFIX}"))
    return {path.name.removesuffix(_SUFFIX): read_pages(path) for path in paths}


def rows(server: str, pages: list[types.ListToolsResult]) -> tuple[CatalogueTool, ...]:
    """A listing as rows of the catalogue."""

    async def fetch(cursor: str | None) -> types.ListToolsResult:
        number = int(cursor or "0")
        following = str(number + 1) if number + 1 < len(pages) else None
        return pages[number].model_copy(update={"next_cursor": following})

    listing = anyio.run(walk, server, fetch)
    return tuple(_row(server, place, made) for place, made in enumerate(listing.definitions))


def _row(server: str, place: int, made: Definition) -> CatalogueTool:
    return CatalogueTool(server, made.name, made.hash, made.body, place, 1, 1)


def joined(listings: Mapping[str, list[types.ListToolsResult]]) -> list[types.Tool]:
    """All listings as the tools of one server; a name that several have gets its listing in front."""
    tools = [(name, tool) for name, pages in listings.items() for page in pages for tool in page.tools]
    names = [tool.name for _, tool in tools]
    return [
        tool if names.count(tool.name) == 1 else tool.model_copy(update={"name": f"{name}.{tool.name}"})
        for name, tool in tools
    ]


class ListingServer:
    """Serves tools, and notes which of them are called."""

    def __init__(self, tools: Iterable[types.Tool]) -> None:
        self.tools = list(tools)
        self.called: list[str] = []
        self.server: Server[Any] = Server("listing", on_list_tools=self._list, on_call_tool=self._call)

    async def _list(
        self, _ctx: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self.tools)

    async def _call(
        self, _ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        self.called.append(params.name)
        return types.CallToolResult(content=[types.TextContent(type="text", text="called")])

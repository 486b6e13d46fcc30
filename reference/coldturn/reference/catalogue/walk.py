"""The walk over a paged tool listing: all of it, or nothing."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import mcp_types
from mcp import MCPError
from mcp_types import ListToolsResult, Tool

from coldturn.reference.catalogue.definition import Definition, define
from coldturn.reference.prefix.errors import ColdturnError

logger = logging.getLogger(__name__)

PAGE_CAP = 1_000
"""Pages after which a paginator is taken for one that never ends."""

FetchPage = Callable[[str | None], Awaitable[ListToolsResult]]


class EndlessListingError(ColdturnError):
    """A server's listing did not end within the page cap."""

    slug = "endless-listing"

    def __init__(self, connection: str, pages: int) -> None:
        super().__init__(
            f"{connection}: the tool listing did not end after {pages} pages; the last good catalogue stays"
            " in use. Ask the server's author why its cursor never ends"
        )


@dataclass(frozen=True, slots=True)
class Listing:
    """A complete listing: unique names in the server's order, and the shortest `ttlMs` of its pages."""

    definitions: tuple[Definition, ...]
    ttl_ms: int


async def walk(connection: str, fetch: FetchPage, *, page_cap: int = PAGE_CAP) -> Listing:
    """Fetch every page; an invalid cursor in mid-walk restarts the walk once.

    Raises:
        EndlessListingError: More than `page_cap` pages.
        MCPError: The server refused; an invalid cursor for the second time.
    """
    try:
        return await _walk_once(connection, fetch, page_cap)
    except _InvalidCursorError:
        logger.warning("%s: a cursor of its tool listing became invalid; walking again", connection)
    try:
        return await _walk_once(connection, fetch, page_cap)
    except _InvalidCursorError as again:
        raise again.error from None


class _InvalidCursorError(Exception):
    def __init__(self, error: MCPError) -> None:
        self.error = error
        super().__init__(str(error))


async def _walk_once(connection: str, fetch: FetchPage, page_cap: int) -> Listing:
    found: dict[str, Definition] = {}
    ttls: list[int] = []
    cursor: str | None = None
    for _ in range(page_cap):
        try:
            page = await fetch(cursor)
        except MCPError as error:
            if cursor is not None and error.code == mcp_types.INVALID_PARAMS:
                raise _InvalidCursorError(error) from error
            raise
        for tool in page.tools:
            if tool.name in found:
                logger.warning(
                    "%s lists %r more than once; the first definition stays", connection, tool.name
                )
            else:
                found[tool.name] = _definition(tool)
        ttls.append(page.ttl_ms)
        # An empty string is a valid cursor: only its absence ends the listing.
        cursor = page.next_cursor
        if cursor is None:
            return Listing(tuple(found.values()), min(ttls))
    raise EndlessListingError(connection, page_cap)


def _definition(tool: Tool) -> Definition:
    return define(
        tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
    )

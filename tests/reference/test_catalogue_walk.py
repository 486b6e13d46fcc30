"""The paged walk: all pages or nothing."""

from __future__ import annotations

import logging

import mcp_types as types
import pytest
from mcp import MCPError

from coldturn.reference.catalogue.walk import EndlessListingError, FetchPage, walk

pytestmark = pytest.mark.anyio

Pages = dict[str | None, tuple[list[str], str | None]]


def fetcher(pages: Pages, seen: list[str | None]) -> FetchPage:
    async def fetch(cursor: str | None) -> types.ListToolsResult:
        seen.append(cursor)
        names, following = pages[cursor]
        tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in names]
        return types.ListToolsResult(tools=tools, next_cursor=following)

    return fetch


@pytest.mark.requirement("CAT-3")
async def test_an_empty_cursor_is_a_cursor() -> None:
    seen: list[str | None] = []
    pages: Pages = {None: (["a"], ""), "": (["b"], "x"), "x": (["c"], None)}
    listing = await walk("s", fetcher(pages, seen))
    assert ([d.name for d in listing.definitions], seen) == (["a", "b", "c"], [None, "", "x"])


@pytest.mark.requirement("CAT-3")
async def test_of_duplicate_names_the_first_stays_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    pages: Pages = {None: (["a", "b"], "2"), "2": (["a"], None)}
    with caplog.at_level(logging.WARNING):
        listing = await walk("s", fetcher(pages, []))
    assert [d.name for d in listing.definitions] == ["a", "b"]
    assert "'a'" in caplog.text


@pytest.mark.requirement("CAT-3")
async def test_a_walk_that_never_ends_is_given_up() -> None:
    with pytest.raises(EndlessListingError, match="after 5 pages"):
        await walk("s", fetcher({None: ([], "again"), "again": ([], "again")}, []), page_cap=5)


@pytest.mark.requirement("CAT-3")
@pytest.mark.parametrize("failures", [1, 2])
async def test_an_invalid_cursor_restarts_the_walk_once(failures: int) -> None:
    seen: list[str | None] = []
    left = [failures]
    inner = fetcher({None: (["a"], "2"), "2": (["b"], None)}, seen)

    async def fetch(cursor: str | None) -> types.ListToolsResult:
        if cursor is not None and left[0]:
            left[0] -= 1
            raise MCPError(types.INVALID_PARAMS, "invalid cursor")
        return await inner(cursor)

    if failures == 1:
        assert [d.name for d in (await walk("s", fetch)).definitions] == ["a", "b"]
        assert seen == [None, None, "2"]
    else:
        with pytest.raises(MCPError, match="invalid cursor"):
            await walk("s", fetch)
        assert seen == [None, None]

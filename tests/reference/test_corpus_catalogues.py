"""The published listings, of 1 to 235 tools and all joined: tiers, names, calls, and what each way costs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from benchmarks.catalogues import read_listings
from benchmarks.payoff import JOINED, SERVER, WAYS, Spending, failures, measure, published, shown, table

DOCS = Path(__file__).parents[2] / "docs" / "tuning.md"
EXPOSED = re.compile(r"[A-Za-z0-9_-]{1,64}")
Listings = dict[str, list[types.Tool]]


@pytest.fixture(scope="module")
def listings(corpus: Path) -> Listings:
    found = published(corpus)
    assert len(found) == 32
    return found


@pytest.fixture(scope="module")
def spendings(listings: Listings) -> dict[str, Spending]:
    return {name: anyio.run(measure, tools, WAYS) for name, tools in listings.items()}


def expected_tier(path: Path) -> str:
    """What the default limits say of a listing, from its own bytes."""
    tools: list[dict[str, Any]] = [
        tool for line in path.read_text("utf-8").splitlines() for tool in json.loads(line)["result"]["tools"]
    ]
    parts = [[tool["name"], tool.get("description", ""), tool["inputSchema"]] for tool in tools]
    whole = [dict(zip(("name", "description", "inputSchema"), part, strict=True)) for part in parts]
    size = sum(len(json.dumps(tool, ensure_ascii=False, separators=(",", ":")).encode()) for tool in whole)
    if len(tools) <= 20 and size <= 4 * 8_000:
        return "direct"
    return "facade" if len(tools) <= 100 else "search"


@pytest.mark.requirement("DEF-10", "TIER-1", "TIER-2", "TIER-3", "TIER-5")
def test_each_listing_stands_where_the_limits_say(corpus: Path, spendings: dict[str, Spending]) -> None:
    tiers = {
        name: expected_tier(corpus / "mcp-tools" / f"{name}.tools_list.jsonl")
        for name in spendings
        if name != JOINED
    }
    assert set(tiers.values()) == {"direct", "facade", "search"}
    assert {name: spendings[name].tiers["pinned"] for name in tiers} == tiers
    unset = {name: "direct" if tier == "direct" else "deferred" for name, tier in tiers.items()}
    assert {name: spendings[name].tiers["unset"] for name in tiers} == unset
    counts = {name: spent.tools for name, spent in spendings.items()}
    assert (min(counts.values()), counts["azure-mcp-mode-all"], counts[JOINED]) == (1, 235, 1260)


@pytest.mark.anyio
@pytest.mark.requirement("TIER-8")
@pytest.mark.parametrize("way", ["preloaded", "facade"])
async def test_exposed_names_are_valid_and_unique(listings: Listings, way: str) -> None:
    for listing, tools in listings.items():
        async with shown(tools, WAYS[way]) as found:
            array = [tool.definition.name for tool in found.surface.tools]
            named = list(found.surface.deferred)
            if way == "facade":
                (index,) = [t for t in found.surface.tools if t.definition.name == f"{SERVER}__use"]
                entries = [line for line in index.definition.description.splitlines() if line[:2] == "- "]
                assert sorted(entry[2:].partition(":")[0] for entry in entries) == sorted(named), listing
            else:
                named = [tool.definition.name for tool in found.surface.tools if tool.tool is not None]
            assert len(named) == len(tools), listing
            assert len({*array, *named}) == len(set(array)) + len(set(named) - set(array))
            assert len(set(array)) == len(array)
            assert len(set(named)) == len(named)
            assert [name for name in {*array, *named} if not EXPOSED.fullmatch(name)] == []


@pytest.mark.requirement("TIER-4")
@pytest.mark.parametrize("way", ["preloaded", "facade", "search"])  # deferred: below, all of them at once
def test_every_tool_of_every_listing_can_be_called_in_every_tier(listings: Listings, way: str) -> None:
    single = {name: tools for name, tools in listings.items() if name != JOINED}
    assert anyio.run(failures, single, (way,)) == []


@pytest.mark.requirement("DEF-11")
def test_deferred_costs_two_kilobytes_where_every_schema_costs_two_megabytes(
    listings: Listings, spendings: dict[str, Spending]
) -> None:
    largest, joined = spendings["azure-mcp-mode-all"].bytes, spendings[JOINED].bytes
    assert largest["preloaded"] > 500_000
    assert joined["preloaded"] > 2_000_000
    assert largest["deferred"] == joined["deferred"] < 2_048
    assert joined["search"] < 2_560
    assert anyio.run(failures, {JOINED: listings[JOINED]}, ("deferred",)) == []


def test_the_page_about_tuning_has_these_figures(spendings: dict[str, Spending]) -> None:
    """Within a tenth: the texts of the meta tools may be reworded."""
    page = {cells[0]: cells for cells in map(_cells, DOCS.read_text(encoding="utf-8").splitlines()) if cells}
    for cells in map(_cells, table(spendings)[2:]):
        told = page[cells[0]]
        assert len(told) == len(cells)
        for ours, theirs in zip(cells[1:], told[1:], strict=True):
            if ours.replace(",", "").isdigit():
                now, then = int(ours.replace(",", "")), int(theirs.replace(",", ""))
                assert abs(now - then) <= 0.1 * now, cells[0]
            else:
                assert ours == theirs, cells[0]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("| ") else []


def test_a_listing_keeps_its_pages(corpus: Path) -> None:
    pages = read_listings(corpus)
    assert len(pages) == 31
    assert all(page.tools for listing in pages.values() for page in listing)

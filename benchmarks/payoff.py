"""What a step's prompt spends on tools: bytes of the tools array and the server lines, way by way.

Each published listing is served in memory and shown by the runtime in six ways: *preloaded* (every schema),
*facade*, *search* pair, *deferred*, and as the default limits decide for a server whose flag is *unset* or
*pinned* True. ``python -m benchmarks.payoff [--call]`` prints the table of docs/tuning.md; with ``--call``
every tool is also called in every way.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import mcp_types as types

from benchmarks.arguments import least
from benchmarks.catalogues import NO_CORPUS, ListingServer, corpus_folder, joined, read_listings
from coldturn.reference.catalogue import CatalogueStore, CatalogueTool
from coldturn.reference.clock import SystemClock
from coldturn.reference.connections import Hub, Limits
from coldturn.reference.observer import NullObserver
from coldturn.reference.policy import Policy
from coldturn.reference.prefix.model import Surface
from coldturn.reference.prompt.zones import Moving, system_text
from coldturn.reference.spec import AgentSpec, ConnectionSpec
from coldturn.reference.surface.model import Reach, ToolSurface
from coldturn.reference.surface.toolbox import Toolbox
from coldturn.reference.tokens import estimate_tokens
from coldturn.reference.wire import encode
from coldturn.reference.wire.model import Prompt, ToolCall, ToolDefinition

JOINED = "all joined"
SERVER = "server"
_NO_LIMIT = 1_000_000
_ABOUT = ("What the server is for and when to use it, at the length at which a line is cut. " * 3)[:200]


@dataclass(frozen=True, slots=True)
class Way:
    """A way of showing a server: the connection's flag, and a policy whose limits bring its tier about."""

    preload: bool | None
    policy: Policy


WAYS: Mapping[str, Way] = {
    "preloaded": Way(True, Policy(disclosure="all")),
    "facade": Way(True, Policy(direct_tools=0, facade_tools=_NO_LIMIT)),
    "search": Way(True, Policy(direct_tools=0, facade_tools=0)),
    "deferred": Way(False, Policy()),
    "unset": Way(None, Policy()),
    "pinned": Way(True, Policy()),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A listing that the runtime shows, with the server that answers its calls."""

    box: Toolbox
    surface: ToolSurface
    tools: tuple[CatalogueTool, ...]
    server: ListingServer


@dataclass(frozen=True, slots=True)
class Spending:
    """Bytes of a step, and the tier, by way, for one listing. `estimated_tokens` are those of all schemas."""

    tools: int
    estimated_tokens: int
    bytes: dict[str, int] = field(default_factory=dict)
    tiers: dict[str, str] = field(default_factory=dict)


@asynccontextmanager
async def shown(tools: Sequence[types.Tool], way: Way) -> AsyncIterator[Shown]:
    """Serve `tools` in memory and resolve the surface of a first turn."""
    server, store = ListingServer(tools), CatalogueStore()
    try:
        async with Hub(Limits(backoff=None)) as hub:
            spec = ConnectionSpec(id=SERVER, description=_ABOUT, preload=way.preload)
            await hub.connect(spec, lambda: server.server)
            box = Toolbox(AgentSpec(), way.policy, hub, store, (), NullObserver(), SystemClock())
            surface = await box.start_turn(1)
            yield Shown(box, surface, box.permitted(SERVER), server)
    finally:
        store.close()


def step_bytes(surface: ToolSurface, policy: Policy) -> int:
    """What the tools array and the server lines add to a request's body, on Anthropic's surface."""
    system = system_text(AgentSpec(), policy, surface, Moving("", {}, 0))
    tools = tuple(tool.definition for tool in surface.tools)
    return _body_bytes(tools, system) - _body_bytes((), "")


def _body_bytes(tools: tuple[ToolDefinition, ...], system: str) -> int:
    prompt = Prompt("model", tools, system, "", (), "", 1, markers=False)
    return len(encode(prompt, Surface.MESSAGES).body)


async def call_all(listing: Shown) -> list[str]:
    """Call every tool on its route; the names whose call did not reach the server, or came back as error."""
    failed = []
    # Facade, search pair and bridge are one name for all tools; asking again costs a look at all of them.
    reach = listing.box.reach(SERVER, listing.tools[0].name)
    for row in listing.tools:
        before = len(listing.server.called)
        if reach.route == "direct":
            reach = listing.box.reach(SERVER, row.name)
        outcome = await listing.box.call(_call_of(reach, row), turn=1, step=1)
        if outcome.is_error or listing.server.called[before:] != [row.name]:
            failed.append(row.name)
    return failed


def _call_of(reach: Reach, row: CatalogueTool) -> ToolCall:
    arguments = least(row.input_schema)
    if reach.route == "facade":
        arguments = {"tool": row.name, "input": arguments}
    elif reach.route != "direct":
        arguments = {"server": row.server, "tool": row.name, "input": arguments}
    return ToolCall("call", reach.exposed, json.dumps(arguments))


async def measure(tools: Sequence[types.Tool], ways: Mapping[str, Way]) -> Spending:
    """The bytes of one listing in each of `ways`."""
    spent: Spending | None = None
    for name, way in ways.items():
        async with shown(tools, way) as listing:
            if spent is None:
                size = sum(row.prompt_bytes for row in listing.tools)
                spent = Spending(len(listing.tools), estimate_tokens(size))
            spent.bytes[name] = step_bytes(listing.surface, way.policy)
            spent.tiers[name] = listing.surface.servers[0].tier
    if spent is None:
        raise ValueError("no way to measure")
    return spent


async def failures(listings: Mapping[str, Sequence[types.Tool]], ways: Iterable[str]) -> list[str]:
    """Every listing's tools that cannot be called, as "listing way tool"."""
    found = []
    for name, tools in listings.items():
        for way in ways:
            async with shown(tools, WAYS[way]) as listing:
                found += [f"{name} {way} {tool}" for tool in await call_all(listing)]
    return found


def published(corpus: Path) -> dict[str, list[types.Tool]]:
    """Every published listing, and all of them as one server's."""
    pages = read_listings(corpus)
    listings = {name: [tool for page in listing for tool in page.tools] for name, listing in pages.items()}
    return {**listings, JOINED: joined(pages)}


def run() -> dict[str, float]:
    """The main figures, for ``python -m benchmarks``: the largest listing and all joined."""
    folder = corpus_folder()
    if folder is None:
        return {}
    listings = published(folder)
    figures: dict[str, float] = {}
    largest = max((tools for name, tools in listings.items() if name != JOINED), key=len)
    for label, tools in (("largest", largest), ("joined", listings[JOINED])):
        spent = anyio.run(measure, tools, WAYS)
        figures[f"{label}_tools"] = spent.tools
        figures |= {f"{label}_{way}_bytes": size for way, size in spent.bytes.items()}
    return figures


def table(spendings: Mapping[str, Spending]) -> list[str]:
    """A table in Markdown, smallest listing first."""
    lines = [
        f"| listing | tools | est. tokens | {' | '.join(WAYS)} | unset is | pinned is |",
        f"|---|---:|---:|{'---:|' * len(WAYS)}---|---|",
    ]
    for name, spent in sorted(spendings.items(), key=lambda item: item[1].tools):
        cells = " | ".join(f"{size:,}" for size in spent.bytes.values())
        tiers = f"{spent.tiers['unset']} | {spent.tiers['pinned']}"
        lines.append(f"| {name} | {spent.tools} | {spent.estimated_tokens:,} | {cells} | {tiers} |")
    return lines


def main() -> None:
    """Print the table."""
    folder = corpus_folder()
    if folder is None:
        raise SystemExit(NO_CORPUS)
    listings = published(folder)
    for line in table({name: anyio.run(measure, tools, WAYS) for name, tools in listings.items()}):
        print(line)
    if "--call" in sys.argv:
        failed = anyio.run(failures, listings, WAYS)
        count = sum(map(len, listings.values()))
        print(f"\n{count} tools called in each of {len(WAYS)} ways; not callable: {len(failed)} {failed[:5]}")


if __name__ == "__main__":
    main()

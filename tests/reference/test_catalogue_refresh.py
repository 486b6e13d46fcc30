"""The four reasons to refresh, each alone, and that a storm of announcements stays cheap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mcp_types as types
import pytest
from mcp import MCPError

from coldturn.reference.catalogue import CatalogueStore
from coldturn.reference.connections import Hub, Limits, Refresher, Sweep
from coldturn.reference.observer import NullObserver
from coldturn.reference.spec import ConnectionSpec

pytestmark = pytest.mark.anyio
ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])
SECOND = 1_000_000_000


@pytest.mark.requirement("CAT-2")
async def test_connecting_refreshes_at_the_next_turn(
    open_bench: Callable[..., Any], tool_server: Callable[..., Any]
) -> None:
    server = tool_server("a", "b", page=1)
    async with open_bench({"s": server}) as bench:
        assert server.fetches == []
        await server.announce("auto")
        await bench.box.start_turn(1)
        await bench.box.start_turn(2)
        assert server.fetches == [None, "1"]
        ((info, outcome),) = bench.watcher.refreshes
        assert (info.server, info.trigger, outcome.added, outcome.version) == ("s", "connect", ("a", "b"), 1)


@ERAS
@pytest.mark.requirement("CAT-2", "CAT-5", "CONN-3")
async def test_an_announced_change_refreshes_at_the_next_turn_and_a_storm_costs_one_fetch(
    mode: str, open_bench: Callable[..., Any], tool_server: Callable[..., Any]
) -> None:
    server = tool_server("a")
    async with open_bench({"s": server}, specs={"s": {"mode": mode}}) as bench:
        await bench.box.start_turn(1)
        server.tools = tool_server("a", "b").tools
        for _ in range(30):
            await server.announce(mode)
        assert len(server.fetches) == 1
        surface = await bench.box.start_turn(2)
        assert len(server.fetches) == 2
        assert bench.watcher.refreshes[-1][0].trigger == "list_changed"
        assert bench.watcher.refreshes[-1][1].added == ("b",)
        assert "s__b" in surface.deferred


@ERAS
@pytest.mark.requirement("CAT-5")
async def test_announcements_during_a_refresh_cost_one_more_in_all(
    mode: str, open_bench: Callable[..., Any], tool_server: Callable[..., Any]
) -> None:
    server = tool_server("a")
    async with open_bench({"s": server}, specs={"s": {"mode": mode}}) as bench:
        await bench.box.start_turn(1)
        original = server._list

        async def noisy(ctx: object, params: object) -> types.ListToolsResult:
            result: types.ListToolsResult = await original(ctx, params)
            for _ in range(10):
                await server.announce(mode)
            return result

        server.server.add_request_handler("tools/list", types.PaginatedRequestParams, noisy)
        await server.announce(mode)
        await bench.box.start_turn(2)
        assert len(server.fetches) == 3


@pytest.mark.requirement("CAT-2")
async def test_on_demand(open_bench: Callable[..., Any], tool_server: Callable[..., Any]) -> None:
    server = tool_server("a")
    async with open_bench({"s": server}) as bench:
        snapshot = await bench.box.refresher.refresh("s")
        assert [tool.name for tool in snapshot.tools] == ["a"]
        assert bench.watcher.refreshes[-1][0].trigger == "demand"


@pytest.mark.requirement("CAT-2", "CAT-5")
async def test_the_sweep_refreshes_what_is_due_later_after_failures(tool_server: Callable[..., Any]) -> None:
    server = tool_server("a")

    class Clock:
        now = 0

        def time_ns(self) -> int:
            return self.now

    clock, store = Clock(), CatalogueStore()
    async with Hub(Limits(backoff=None)) as hub:
        await hub.connect(ConnectionSpec(id="s"), lambda: server.server)
        sweep = Sweep(seconds=300, jitter=0.1, random=lambda: 0.5)
        refresher = Refresher(hub, store, NullObserver(), clock, sweep=sweep)
        assert await refresher.sweep() == ("s",)
        clock.now = 315 * SECOND - 1
        assert await refresher.sweep() == ()
        clock.now = 315 * SECOND
        server.faults.append(MCPError(-32603, "no"))
        assert await refresher.sweep() == ("s",)
        assert refresher.due(clock.now + 630 * SECOND - 1) == ()
        assert refresher.due(clock.now + 630 * SECOND) == ("s",)
    store.close()


@pytest.mark.requirement("CAT-5")
async def test_a_servers_ttl_is_a_floor(tool_server: Callable[..., Any]) -> None:
    server = tool_server("a")
    original = server._list

    async def patient(ctx: object, params: object) -> types.ListToolsResult:
        result: types.ListToolsResult = await original(ctx, params)
        result.ttl_ms = 900_000
        return result

    server.server.add_request_handler("tools/list", types.PaginatedRequestParams, patient)

    class Clock:
        def time_ns(self) -> int:
            return 0

    store = CatalogueStore()
    async with Hub(Limits(backoff=None)) as hub:
        await hub.connect(ConnectionSpec(id="s"), lambda: server.server)
        refresher = Refresher(hub, store, NullObserver(), Clock(), sweep=Sweep(jitter=0.0))
        await refresher.refresh("s")
        assert refresher.due(899 * SECOND) == ()
        assert refresher.due(900 * SECOND) == ("s",)
    store.close()

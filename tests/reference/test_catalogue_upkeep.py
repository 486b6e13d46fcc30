"""Catalogues that look after themselves: sweeps, announcements, partitions, and many Runs over one store."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import anyio.lowlevel
import mcp_types as types
import pytest

from coldturn.reference.catalogue import CatalogueStore
from coldturn.reference.catalogue.definition import define
from coldturn.reference.connections import Backoff, Hub, Limits, Refresher, Sweep, sweeping
from coldturn.reference.loop import run_turn
from coldturn.reference.model import ScriptedModel
from coldturn.reference.observer import NullObserver
from coldturn.reference.policy import Policy
from coldturn.reference.records import ToolResult
from coldturn.reference.run import Host, open_run
from coldturn.reference.spec import AgentSpec, ConnectionSpec
from coldturn.reference.wire.model import Reply, ToolCall

SECOND = 1_000_000_000
MakeServer = Callable[..., Any]


class Clock:
    """Moves only when somebody sleeps by it."""

    def __init__(self) -> None:
        self.now = 0
        self.slept: list[float] = []

    def time_ns(self) -> int:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += int(seconds * SECOND)
        await anyio.lowlevel.checkpoint()
        if len(self.slept) == 4:
            await anyio.sleep_forever()


@pytest.mark.anyio
@pytest.mark.requirement("CAT-2", "CAT-5")
async def test_the_sweep_runs_in_the_background_and_ends_with_its_owner(tool_server: MakeServer) -> None:
    server, clock, store = tool_server("a"), Clock(), CatalogueStore()
    async with Hub(Limits(backoff=None)) as hub:
        await hub.connect(ConnectionSpec(id="s"), lambda: server.server)
        sweep = Sweep(seconds=300, jitter=0.1, random=lambda: 0.0)
        refresher = Refresher(hub, store, NullObserver(), clock, sweep=sweep)
        await refresher.refresh("s")
        async with sweeping(refresher, sleep=clock.sleep):
            while len(clock.slept) < 4:
                await anyio.lowlevel.checkpoint()
        assert clock.slept == [300.0] * 4
        assert len(server.fetches) == 4, "once by hand, then after each sleep but the last"
        before = len(server.fetches)
        clock.now += 3_000 * SECOND
        await hub.settle()
        assert len(server.fetches) == before
    store.close()


@pytest.mark.anyio
@pytest.mark.requirement("CAT-2", "CAT-5", "CONN-2")
async def test_announcements_are_followed_again_after_the_server_ends_the_stream(
    tool_server: MakeServer,
) -> None:
    server = tool_server("a")
    waits: list[float] = []
    let_go = anyio.Event()

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await let_go.wait()

    limits = Limits(backoff=Backoff(first=2.0, jitter=0.0), sleep=sleep)
    async with Hub(limits) as hub:
        await hub.connect(ConnectionSpec(id="s"), lambda: server.server)
        hub.take_pending()
        server.listener.close()
        await hub.settle()
        assert (waits, hub.take_pending()) == ([4.0], ())
        assert hub.state("s").value == "ready", "calls go on meanwhile"
        await server.announce("auto")
        let_go.set()
        await hub.settle()
        assert hub.take_pending() == (("s", "reconnect"),), "what was announced in between is asked for"
        await server.announce("auto")
        await hub.settle()
        assert hub.take_pending() == (("s", "list_changed"),)


def listing(*names: str) -> list[Any]:
    return [define(name, input_schema={"type": "object"}) for name in names]


@pytest.mark.requirement("CAT-7")
def test_a_partition_sees_its_own_catalogues_alone(tmp_path: Path) -> None:
    store = CatalogueStore(tmp_path / "catalogue.sqlite")
    ana, ben = store.for_partition("ana"), store.for_partition("ben")
    for one, names in ((ana, ("common", "hers")), (ben, ("common", "his"))):
        one.commit("mail", listing(*names), ticket=one.ticket("mail"), at_ns=1)
    assert [tool.name for tool in ana.current("mail").tools] == ["common", "hers"]
    assert [tool.name for tool in ben.current("mail").tools] == ["common", "his"]
    assert store.current("mail").tools == ()
    ben.commit("mail", listing("his"), ticket=ben.ticket("mail"), at_ns=2)
    ben.mark_stale("mail")
    assert [tool.name for tool in ana.current("mail").tools] == ["common", "hers"]
    assert (ana.current("mail").version, ana.current("mail").stale) == (1, False)
    assert [tool.name for tool in ben.at("mail", 1)] == ["common", "his"]
    assert [tool.name for tool in ana.at("mail", 1)] == ["common", "hers"]
    again = CatalogueStore(tmp_path / "catalogue.sqlite").for_partition("ana")
    assert [tool.name for tool in again.current("mail").tools] == ["common", "hers"]
    again.close()
    store.close()


@pytest.mark.anyio
@pytest.mark.requirement("CAT-7")
async def test_a_run_reads_and_writes_its_hosts_partition(tool_server: MakeServer) -> None:
    store = CatalogueStore()
    for user in ("ana", "ben"):
        server = tool_server(f"{user}s_tool")
        async with Hub(Limits(backoff=None)) as hub:
            await hub.connect(ConnectionSpec(id="mail"), partial(getattr, server, "server"))
            model = ScriptedModel([Reply("Hello.")])
            run = open_run(AgentSpec(), Policy(), Host(hub, store, partition=user), model)
            await run_turn(run, "Hello")
            assert f"mail__{user}s_tool".encode() in model.requests[0].body
    for user in ("ana", "ben"):
        tools = store.for_partition(user).current("mail").tools
        assert [tool.name for tool in tools] == [f"{user}s_tool"]
    store.close()


@pytest.mark.anyio
@pytest.mark.requirement("CAT-4", "CAT-5")
async def test_a_hundred_runs_share_one_store_and_one_refresh(tool_server: MakeServer) -> None:
    server, store = tool_server("add", "sub", page=1), CatalogueStore()
    original = server._list

    async def slow(ctx: object, params: object) -> types.ListToolsResult:
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        result: types.ListToolsResult = await original(ctx, params)
        return result

    server.server.add_request_handler("tools/list", types.PaginatedRequestParams, slow)
    bodies: list[bytes] = []
    handles: list[str] = []

    async def talk(hub: Hub, number: int) -> None:
        model = ScriptedModel(
            [Reply("", (ToolCall("", "s__add", json.dumps({"n": number})),)), Reply("One"), Reply("Two")]
        )
        run = open_run(AgentSpec(), Policy(), Host(hub, store), model, None, Clock(), f"run-{number}")
        for text in ("Hello", "Again"):
            outcome = await run_turn(run, text)
            assert outcome.error is None
        bodies.append(model.requests[0].body)
        (result,) = [record for record in run.records if isinstance(record, ToolResult)]
        handles.append(result.handle)
        assert result.text == f"add {{'n': {number}}}", "each Run has its own answer"

    async with Hub(Limits(backoff=None)) as hub:
        await hub.connect(ConnectionSpec(id="s", preload=True), lambda: server.server)
        async with anyio.create_task_group() as tasks:
            for number in range(100):
                tasks.start_soon(talk, hub, number)
        assert len(set(bodies)) == 1, "the Run that was first and the ones that waited see the same tools"
        assert b"s__add" in bodies[0]
        assert server.fetches == [None, "1"], "one refresh for all"
        assert store.current("s").version == 1
        assert len(set(handles)) == 100
        assert sorted(given["n"] for _, given in server.calls) == list(range(100))
    store.close()


@pytest.mark.requirement("CAT-4")
def test_threads_with_stores_of_their_own_share_one_file(tmp_path: Path, tool_server: MakeServer) -> None:
    path, errors = tmp_path / "catalogue.sqlite", []
    CatalogueStore(path).close()

    async def talk(number: int) -> None:
        server, store = tool_server("add", f"own{number}"), CatalogueStore(path)
        async with Hub(Limits(backoff=None)) as hub:
            await hub.connect(ConnectionSpec(id=f"s{number % 2}", preload=True), lambda: server.server)
            for turn in range(5):
                model = ScriptedModel([Reply("Hello.")])
                run = open_run(AgentSpec(), Policy(), Host(hub, store), model, None, Clock(), f"r{turn}")
                assert (await run_turn(run, "Hello")).error is None
                await run.toolbox.refresher.refresh(f"s{number % 2}")  # type: ignore[attr-defined] # a Toolbox
        store.close()

    def work(number: int) -> None:
        try:
            anyio.run(talk, number)
        except BaseException as error:  # noqa: BLE001 - told by the test's own thread
            errors.append(error)

    threads = [Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    store = CatalogueStore(path)
    for server in ("s0", "s1"):
        # A refresh that a later one has overtaken mints no version.
        latest = store.current(server).version
        assert 1 <= latest <= 12
        versions = [store.at(server, version) for version in range(1, latest + 1)]
        assert all("add" in {tool.name for tool in tools} for tools in versions), "gap-free"
    store.close()

"""kill -9 of a real server in mid-turn: the turn goes on, zone 4 tells it, and the connection comes back."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import Process, TaskStatus

from coldturn.reference.catalogue import CatalogueStore
from coldturn.reference.connections import Backoff, ConnectionState, Hub, Limits
from coldturn.reference.loop import run_turn
from coldturn.reference.model import ModelRequest
from coldturn.reference.observer import NullObserver, RefreshInfo, StepInfo
from coldturn.reference.policy import Policy
from coldturn.reference.prefix.model import Zone
from coldturn.reference.records import ToolResult
from coldturn.reference.run import Host, open_run
from coldturn.reference.spec import AgentSpec, ConnectionSpec
from coldturn.reference.wire.model import Reply, ToolCall

pytestmark = pytest.mark.anyio

SERVER = """
import os, signal, sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("mortal", log_level="ERROR")
@server.tool()
def pid() -> str:
    return str(os.getpid())
@server.tool()
def die() -> str:
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1:]:
    import socket, uvicorn
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    uvicorn.Server(config).run(sockets=[listener])
else:
    server.run("stdio")
"""


class Told(NullObserver):
    def __init__(self) -> None:
        self.steps: list[StepInfo] = []
        self.refreshes: list[tuple[str, str]] = []

    @contextmanager
    def step(self, info: StepInfo) -> Iterator[Any]:
        self.steps.append(info)
        with super().step(info) as scope:
            yield scope

    @contextmanager
    def refresh(self, info: RefreshInfo) -> Iterator[Any]:
        self.refreshes.append((info.server, info.trigger))
        with super().refresh(info) as scope:
            yield scope


class Waits:
    """Counts the waits between attempts, and holds them until they are let go."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.let_go = anyio.Event()

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        await self.let_go.wait()
        await anyio.lowlevel.checkpoint()


class Decisions:
    """A model that does something before each of its replies."""

    def __init__(self, *replies: Reply, before: Callable[[int], Any]) -> None:
        self._replies = iter(replies)
        self._before = before
        self.asked = 0

    async def respond(self, _request: ModelRequest) -> Reply:
        await self._before(self.asked)
        self.asked += 1
        return next(self._replies)


@asynccontextmanager
async def over_http(script: Path, port: int) -> AsyncIterator[tuple[Process, int]]:
    command = [sys.executable, str(script), str(port)]
    async with await anyio.open_process(command, stderr=None) as process:
        assert process.stdout is not None
        try:
            yield process, int(await process.stdout.receive())
        finally:
            if process.returncode is None:
                process.kill()


async def ready(hub: Hub) -> None:
    while hub.state("m") is not ConnectionState.READY:
        await anyio.lowlevel.checkpoint()


def call(name: str) -> ToolCall:
    return ToolCall("", name, "{}")


def suffix(info: StepInfo) -> str:
    body = json.loads(info.body)
    return str(body["input"][-1]["content"][0]["text"])


def stable_hashes(info: StepInfo) -> tuple[str, ...]:
    return tuple(zone.hash for zone in info.ledger.zones if zone.zone in {Zone.TOOLS, Zone.SYSTEM, Zone.TAIL})


async def converse(
    hub: Hub, spec: ConnectionSpec, revive: Callable[[], Any]
) -> tuple[Told, list[ToolResult]]:
    """Two turns: the server is killed by its own tool in the first, and is back in the second."""
    told, store = Told(), CatalogueStore()

    async def before(asked: int) -> None:
        if asked == 3:
            await revive()
            await ready(hub)

    model = Decisions(
        Reply("", (call("m__die"), call("m__pid"), call("other__echo"))),
        Reply("", (call("other__echo"),)),
        Reply("It is gone."),
        Reply("", (call("m__pid"),)),
        Reply("It is back."),
        before=before,
    )
    agent = AgentSpec(connections=(spec,))
    run = open_run(agent, Policy(), Host(hub, store), model, told)
    assert (await run_turn(run, "Go on")).answer == "It is gone."
    assert (await run_turn(run, "And now?")).answer == "It is back."
    store.close()
    return told, [record for record in run.records if isinstance(record, ToolResult)]


def check(told: Told, results: list[ToolResult], waits: Waits) -> None:
    assert [(r.name, r.is_error) for r in results] == [
        ("m__die", True),
        ("m__pid", True),
        ("other__echo", False),
        ("other__echo", False),
        ("m__pid", False),
    ]
    assert "m cannot be reached" in results[1].text
    notice = "- m cannot be reached at the moment; calls of its tools fail."
    assert [notice in suffix(info) for info in told.steps] == [False, True, True, True, False]
    assert len({stable_hashes(info) for info in told.steps}) == 1, "tools array and zones 1 and 2 stand still"
    assert all(info.comparison is None or info.comparison.first is None for info in told.steps)
    assert waits.seconds[:1] == [2.0], "it was dialled again after a wait"
    assert told.refreshes[0] == ("m", "connect")


@pytest.mark.requirement("CONN-1", "CONN-2", "CONN-3", "RES-9")
async def test_a_stdio_server_killed_in_mid_turn(tmp_path: Path, tool_server: Callable[..., Any]) -> None:
    script, other, waits = tmp_path / "server.py", tool_server("echo"), Waits()
    script.write_text(SERVER)
    limits = Limits(backoff=Backoff(first=2.0, jitter=0.0), sleep=waits.sleep)

    async def revive() -> None:
        waits.let_go.set()

    async with Hub(limits) as hub:
        spec = ConnectionSpec(id="m", preload=True, command=(sys.executable, str(script)))
        await hub.connect(spec)
        await hub.connect(ConnectionSpec(id="other", preload=True), lambda: other.server)
        told, results = await converse(hub, spec, revive)
    check(told, results, waits)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.requirement("CONN-1", "CONN-2", "CONN-3", "RES-9")
async def test_an_http_server_killed_in_mid_turn(
    mode: str, tmp_path: Path, tool_server: Callable[..., Any]
) -> None:
    script, other, waits = tmp_path / "server.py", tool_server("echo"), Waits()
    script.write_text(SERVER)
    limits = Limits(backoff=Backoff(first=2.0, jitter=0.0), sleep=waits.sleep)
    async with over_http(script, 0) as (_, port), anyio.create_task_group() as tasks:

        async def revive() -> None:
            await tasks.start(serve_again)
            waits.let_go.set()

        async def serve_again(*, task_status: TaskStatus[None]) -> None:
            async with over_http(script, port) as (process, _):
                task_status.started()
                await process.wait()

        async with Hub(limits) as hub:
            spec = ConnectionSpec.model_validate(
                {"id": "m", "preload": True, "mode": mode, "url": f"http://127.0.0.1:{port}/mcp"}
            )
            await hub.connect(spec)
            await hub.connect(ConnectionSpec(id="other", preload=True), lambda: other.server)
            told, results = await converse(hub, spec, revive)
        tasks.cancel_scope.cancel()
    check(told, results, waits)


@pytest.mark.requirement("CONN-1")
async def test_a_server_killed_between_two_steps_is_told_as_soon_as_that_shows(
    tmp_path: Path, tool_server: Callable[..., Any]
) -> None:
    script, other = tmp_path / "server.py", tool_server("echo")
    script.write_text(SERVER)
    told, store = Told(), CatalogueStore()
    async with Hub(Limits(backoff=None)) as hub:
        spec = ConnectionSpec(id="m", preload=True, command=(sys.executable, str(script)))
        await hub.connect(spec)
        await hub.connect(ConnectionSpec(id="other", preload=True), lambda: other.server)

        async def before(asked: int) -> None:
            if asked == 1:
                pid = next(r.text for r in run.records if isinstance(r, ToolResult))
                os.kill(int(pid), signal.SIGKILL)

        model = Decisions(
            Reply("", (call("m__pid"),)),
            Reply("", (call("m__pid"), call("other__echo"))),
            Reply("Gone."),
            before=before,
        )
        run = open_run(AgentSpec(), Policy(), Host(hub, store), model, told)
        assert (await run_turn(run, "Go on")).answer == "Gone."
        results = [record for record in run.records if isinstance(record, ToolResult)]
        assert [r.is_error for r in results] == [False, True, False]
        assert "cannot be reached" in suffix(told.steps[2])
    store.close()

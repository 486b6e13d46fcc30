"""One server of ours, in both protocol eras, over every transport: the same test body, the same answers."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import anyio
import pytest
import uvicorn
from mcp import StdioServerParameters

import own_server
from coldturn.reference.catalogue import CatalogueStore
from coldturn.reference.clock import SystemClock
from coldturn.reference.connections import ConnectionState, Hub, Limits, TransportFactory
from coldturn.reference.connections.transports import factory_of
from coldturn.reference.observer import NullObserver
from coldturn.reference.policy import Policy
from coldturn.reference.spec import AgentSpec, ConnectionSpec
from coldturn.reference.surface import meta
from coldturn.reference.surface.model import CallOutcome
from coldturn.reference.surface.toolbox import Toolbox
from coldturn.reference.wire.model import ToolCall
from own_server import DOT, make_server

pytestmark = pytest.mark.anyio
SCRIPT = Path(own_server.__file__)
Serve = Callable[[], AbstractAsyncContextManager[TransportFactory]]


@asynccontextmanager
async def in_memory() -> AsyncIterator[TransportFactory]:
    server = make_server()
    yield lambda: server


@asynccontextmanager
async def over_stdio() -> AsyncIterator[TransportFactory]:
    yield lambda: StdioServerParameters(command=sys.executable, args=[str(SCRIPT)])


@asynccontextmanager
async def over_http() -> AsyncIterator[TransportFactory]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            make_server().streamable_http_app(), log_level="warning", timeout_graceful_shutdown=1
        )
        program = uvicorn.Server(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(program.serve, [listening])
            try:
                port = listening.getsockname()[1]
                yield factory_of(ConnectionSpec(id="own", url=f"http://127.0.0.1:{port}/mcp"))
            finally:
                program.should_exit = True


class Agent:
    """What the runtime does for a model: take turns, and call by name."""

    def __init__(self, hub: Hub, store: CatalogueStore) -> None:
        self._box = Toolbox(AgentSpec(), Policy(), hub, store, (), NullObserver(), SystemClock())
        self._turn = 0

    async def start_turn(self) -> list[str]:
        self._turn += 1
        surface = await self._box.start_turn(self._turn)
        return [tool.tool for tool in surface.tools if tool.tool is not None]

    def notices(self) -> str:
        return "\n".join(self._box.step_surface(self._turn, 2).notices)

    async def call(self, tool: str, **arguments: object) -> CallOutcome:
        reach = self._box.reach("own", tool)
        given = arguments if reach.route == "direct" else {"server": "own", "tool": tool, "input": arguments}
        return await self._box.call(ToolCall("c", reach.exposed, json.dumps(given)), turn=self._turn, step=1)

    async def until_listed(self, tool: str) -> None:
        """Take turns until a change has arrived that was announced: over a wire that takes a moment."""
        with anyio.fail_after(20):
            while self._box.reach("own", tool).route is None:
                await self.start_turn()


@pytest.mark.requirement("CONN-3", "RES-9")
@pytest.mark.parametrize("preload", [True, False])
@pytest.mark.parametrize(("mode", "protocol"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
@pytest.mark.parametrize("serve", [in_memory, over_stdio, over_http])
async def test_a_server_behaves_the_same_over_every_transport_in_both_eras(
    serve: Serve, mode: str, protocol: str, preload: bool
) -> None:
    store = CatalogueStore()
    with anyio.fail_after(60):
        async with serve() as dial, Hub(Limits(backoff=None)) as hub:
            spec = ConnectionSpec.model_validate({"id": "own", "mode": mode, "preload": preload})
            assert await hub.connect(spec, dial) is ConnectionState.READY, hub.reason("own")
            assert (hub.protocol("own"), hub.instructions("own")) == (protocol, "Tides and echoes.")
            agent = Agent(hub, store)
            names = ["count", "dot", "echo", "fail", "grow", "tide"]
            assert await agent.start_turn() == (names if preload else [])

            await check_calls(agent, "direct" if preload else "meta")

            assert (await agent.call("grow")).text == "grown"
            await agent.until_listed("extra")
            assert await agent.start_turn() == (names if preload else [])
            assert f"New tools of own: extra (call them through {meta.CALL})" in agent.notices()
            added = await agent.call("extra")
            assert (added.text, added.route) == ("extra", "meta")
    store.close()


async def check_calls(agent: Agent, route: str) -> None:
    text = "Grüße 你好 🙂" * 10_000
    echoed = await agent.call("echo", text=text)
    assert (echoed.text, echoed.is_error, echoed.route) == (text, False, route)
    tide = await agent.call("tide", harbour="Husum")
    assert json.loads(tide.text) == {"harbour": "Husum", "hour": 13}
    assert tide.schema_problem is None
    picture = await agent.call("dot")
    (line,) = picture.binary
    assert line.startswith(f"image image/png, {len(DOT)} bytes, xxh3-128 ")
    failed = await agent.call("fail")
    assert (failed.is_error, failed.refusal) == (True, None)
    assert "the harbour is closed" in failed.text
    assert (await agent.call("count", to=3)).text == "counted to 3"
    wrong = await agent.call("count", to="three")
    assert (wrong.refusal, "to" in wrong.text) == ("invalid_arguments", True)

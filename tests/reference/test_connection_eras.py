"""Both protocol eras on every transport, subscriptions that break, and no cache but the catalogue."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import mcp_types as types
import pytest
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.server.subscriptions import SUBSCRIPTION_ID_META_KEY

from coldturn.reference.connections import Backoff, ConnectionState, Hub, Limits
from coldturn.reference.spec import ConnectionSpec

pytestmark = pytest.mark.anyio
ERAS = pytest.mark.parametrize(
    ("mode", "protocol"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")], ids=["modern", "legacy"]
)
ONCE = Limits(backoff=None)

SOURCE = """
import sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("ours", instructions="Adds.", log_level="ERROR")
@server.tool()
def add(a: int, b: int) -> str:
    return str(a + b)
if sys.argv[1] == "http":
    import socket, uvicorn
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    uvicorn.Server(config).run(sockets=[listener])
else:
    server.run("stdio")
"""


async def check(hub: Hub, protocol: str) -> None:
    assert hub.state("a") is ConnectionState.READY, hub.reason("a")
    assert (hub.protocol("a"), hub.instructions("a")) == (protocol, "Adds.")
    assert [tool.name for tool in (await hub.list_page("a", None)).tools] == ["add"]
    (block,) = (await hub.call_tool("a", "add", {"a": 40, "b": 2})).content
    assert isinstance(block, types.TextContent)
    assert block.text == "42"


@ERAS
@pytest.mark.requirement("CONN-3")
async def test_over_stdio(mode: Any, protocol: str, tmp_path: Path) -> None:  # noqa: ANN401 - a Literal
    script = tmp_path / "server.py"
    script.write_text(SOURCE)
    async with Hub(ONCE) as hub:
        command = (sys.executable, str(script), "stdio")
        await hub.connect(ConnectionSpec(id="a", mode=mode, command=command))
        await check(hub, protocol)


@ERAS
@pytest.mark.requirement("CONN-3")
async def test_over_streamable_http(mode: Any, protocol: str, tmp_path: Path) -> None:  # noqa: ANN401 - a Literal
    script = tmp_path / "server.py"
    script.write_text(SOURCE)
    async with await anyio.open_process([sys.executable, str(script), "http"], stderr=None) as process:
        assert process.stdout is not None
        try:
            port = int(await process.stdout.receive())
            async with Hub(ONCE) as hub:
                await hub.connect(ConnectionSpec(id="a", mode=mode, url=f"http://127.0.0.1:{port}/mcp"))
                await check(hub, protocol)
        finally:
            process.kill()


@ERAS
@pytest.mark.requirement("CONN-3")
async def test_in_memory(mode: Any, protocol: str) -> None:  # noqa: ANN401 - a Literal
    server: MCPServer[Any] = MCPServer("ours", instructions="Adds.", log_level="ERROR")

    @server.tool()
    def add(a: int, b: int) -> str:
        return str(a + b)

    async with Hub(ONCE) as hub:
        await hub.connect(ConnectionSpec(id="a", mode=mode), lambda: server)
        await check(hub, protocol)


@pytest.mark.requirement("CONN-2")
async def test_a_subscription_that_breaks_off_is_a_lost_connection(tool_server: Callable[..., Any]) -> None:
    server = tool_server("echo")
    break_off, again = anyio.Event(), anyio.Event()
    waits: list[float] = []
    streams: list[int] = []

    async def listen(
        ctx: ServerRequestContext[Any, Any], params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        streams.append(1)
        acknowledged = types.SubscriptionsAcknowledgedNotificationParams(
            notifications=params.notifications, _meta={SUBSCRIPTION_ID_META_KEY: ctx.request_id}
        )
        await ctx.session.send_notification(
            types.SubscriptionsAcknowledgedNotification(params=acknowledged),
            related_request_id=ctx.request_id,
        )
        if len(streams) > 1:
            await anyio.sleep_forever()
        await break_off.wait()
        raise MCPError(types.INTERNAL_ERROR, "gone")

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await again.wait()

    server.server.add_request_handler("subscriptions/listen", types.SubscriptionsListenRequestParams, listen)
    async with Hub(Limits(backoff=Backoff(first=3.0, jitter=0.0), sleep=sleep)) as hub:
        assert await hub.connect(ConnectionSpec(id="a"), lambda: server.server) is ConnectionState.READY
        hub.take_pending()
        break_off.set()
        with anyio.fail_after(20):
            while hub.state("a") is ConnectionState.READY:
                await anyio.lowlevel.checkpoint()
        assert hub.state("a") is ConnectionState.UNREACHABLE
        await hub.settle()
        assert waits == [3.0]
        again.set()
        while hub.state("a") is not ConnectionState.READY:
            await anyio.lowlevel.checkpoint()
        assert hub.take_pending() == (("a", "reconnect"),), "what was announced meanwhile is asked for"


@pytest.mark.requirement("CONN-2")
async def test_a_session_that_the_server_has_forgotten_is_dialled_anew(
    tool_server: Callable[..., Any],
) -> None:
    server = tool_server("echo")
    forgotten = [MCPError(types.INVALID_REQUEST, "Session terminated")]

    def forget_once(_arguments: object) -> types.CallToolResult:
        if forgotten:
            raise forgotten.pop()
        return types.CallToolResult(content=[])

    async def at_once(_seconds: float) -> None:
        await anyio.lowlevel.checkpoint()

    server.answers["echo"] = forget_once
    async with Hub(Limits(sleep=at_once)) as hub:
        await hub.connect(ConnectionSpec(id="a"), lambda: server.server)
        with pytest.raises(Exception, match="a cannot be reached"):
            await hub.call_tool("a", "echo", {})
        while hub.state("a") is not ConnectionState.READY:
            await anyio.lowlevel.checkpoint()
        assert (await hub.call_tool("a", "echo", {})).content == []


@pytest.mark.requirement("CONN-4")
async def test_a_listing_is_fetched_however_long_the_server_says_it_stays_good(
    tool_server: Callable[..., Any],
) -> None:
    server = tool_server("echo")
    original = server._list

    async def patient(ctx: object, params: object) -> types.ListToolsResult:
        result: types.ListToolsResult = await original(ctx, params)
        result.ttl_ms, result.cache_scope = 3_600_000, "public"
        return result

    server.server.add_request_handler("tools/list", types.PaginatedRequestParams, patient)
    async with Hub(ONCE) as hub:
        await hub.connect(ConnectionSpec(id="a"), lambda: server.server)
        for _ in range(3):
            await hub.list_page("a", None)
        assert len(server.fetches) == 3

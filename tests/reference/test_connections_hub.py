"""Connections: both eras, dead servers, time limits, notifications, results that nothing may cut."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import MCPError

from coldturn.reference.connections import (
    Backoff,
    CallTimeoutError,
    ConnectionState,
    Hub,
    Limits,
    UnavailableError,
    UnknownConnectionError,
)
from coldturn.reference.connections.errors import UndialledConnectionError, describe_failure
from coldturn.reference.spec import ConnectionSpec

pytestmark = pytest.mark.anyio
ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])
ONCE = Limits(backoff=None)
MakeServer = Callable[..., Any]

STDIO_SERVER = """
import os
from mcp.server.mcpserver import MCPServer
server = MCPServer("ours")
@server.tool()
def pid() -> str:
    return str(os.getpid())
server.run("stdio")
"""


class Broken:
    """A transport that cannot be opened."""

    async def __aenter__(self) -> object:
        raise OSError("refused")

    async def __aexit__(self, *_: object) -> None:
        return None


def text_of(result: types.CallToolResult) -> str:
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    return block.text


@ERAS
@pytest.mark.requirement("CONN-3")
async def test_both_eras_answer_in_memory(mode: str, tool_server: MakeServer) -> None:
    server = tool_server("echo")
    async with Hub(ONCE) as hub:
        assert (
            await hub.connect(ConnectionSpec.model_validate({"id": "a", "mode": mode}), lambda: server.server)
            is ConnectionState.READY
        )
        assert hub.protocol("a") == {"auto": "2026-07-28", "legacy": "2025-11-25"}[mode]
        assert text_of(await hub.call_tool("a", "echo", {"x": 1})) == "echo {'x': 1}"
        assert [t.name for t in (await hub.list_page("a", None)).tools] == ["echo"]
    assert hub.state("a") is ConnectionState.CLOSED


@pytest.mark.requirement("CONN-1")
async def test_a_server_that_cannot_be_reached_is_a_state_and_harms_no_other(tool_server: MakeServer) -> None:
    server = tool_server("echo")
    async with Hub(ONCE) as hub:
        assert await hub.connect(ConnectionSpec(id="bad"), Broken) is ConnectionState.UNREACHABLE  # type: ignore[arg-type]
        await hub.connect(ConnectionSpec(id="good"), lambda: server.server)
        assert hub.reason("bad") == "OSError: refused"
        with pytest.raises(UnavailableError, match="refused"):
            await hub.call_tool("bad", "echo", {})
        assert text_of(await hub.call_tool("good", "echo", {})) == "echo {}"
        with pytest.raises(UnknownConnectionError):
            hub.state("nobody")


@pytest.mark.requirement("CONN-1", "CONN-3")
async def test_a_killed_stdio_server_ends_a_call_and_nothing_else(
    tmp_path: Path, tool_server: MakeServer
) -> None:
    script = tmp_path / "server.py"
    script.write_text(STDIO_SERVER)
    other = tool_server("echo")
    async with Hub(ONCE) as hub:
        await hub.connect(ConnectionSpec(id="a", command=(sys.executable, str(script))))
        await hub.connect(ConnectionSpec(id="b"), lambda: other.server)
        pid = int(text_of(await hub.call_tool("a", "pid", {})))
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(UnavailableError):
            await hub.call_tool("a", "pid", {})
        assert hub.state("a") is ConnectionState.UNREACHABLE
        assert text_of(await hub.call_tool("b", "echo", {})) == "echo {}"


HTTP_SERVER = """
import os, signal, socket
import uvicorn
from mcp.server.mcpserver import MCPServer
server = MCPServer("ours", log_level="ERROR")
@server.tool()
def echo(text: str) -> str:
    return text
@server.tool()
def die() -> str:
    os.kill(os.getpid(), signal.SIGKILL)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
config = uvicorn.Config(server.streamable_http_app(), log_level="error")
uvicorn.Server(config).run(sockets=[listener])
"""


@ERAS
@pytest.mark.requirement("CONN-1", "CONN-3", "CONN-4")
async def test_an_http_server_killed_in_mid_call_ends_the_call_and_nothing_else(
    mode: str, tmp_path: Path, tool_server: MakeServer
) -> None:
    script = tmp_path / "server.py"
    script.write_text(HTTP_SERVER)
    other = tool_server("echo")
    async with (
        await anyio.open_process([sys.executable, str(script)], stderr=None) as process,
        Hub(ONCE) as hub,
    ):
        assert process.stdout is not None
        port = int(await process.stdout.receive())
        spec = ConnectionSpec.model_validate({"id": "a", "mode": mode, "url": f"http://127.0.0.1:{port}/mcp"})
        assert await hub.connect(spec) is ConnectionState.READY
        await hub.connect(ConnectionSpec(id="b"), lambda: other.server)
        # More than the SDK's own limit on one event.
        text = "é" * (1 << 20)
        assert text_of(await hub.call_tool("a", "echo", {"text": text})) == text
        with pytest.raises(UnavailableError):
            await hub.call_tool("a", "die", {})
        assert hub.state("a") is ConnectionState.UNREACHABLE
        assert text_of(await hub.call_tool("b", "echo", {})) == "echo {}"


@pytest.mark.requirement("CONN-2")
async def test_a_lost_connection_is_dialled_again_after_a_wait(tool_server: MakeServer) -> None:
    server = tool_server("echo")
    waits: list[float] = []
    let_go = anyio.Event()
    attempts: list[int] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await let_go.wait()

    def dial() -> object:
        attempts.append(1)
        return Broken() if len(attempts) == 1 else server.server

    limits = Limits(backoff=Backoff(first=2.0, jitter=0.5, random=lambda: 0.5), sleep=sleep)
    async with Hub(limits) as hub:
        assert await hub.connect(ConnectionSpec(id="a"), dial) is ConnectionState.UNREACHABLE  # type: ignore[arg-type]
        await hub.settle()
        assert (waits, len(attempts)) == ([2.0 * 1.25], 1)
        let_go.set()
        await hub.settle()
        assert hub.state("a") is ConnectionState.READY
        assert hub.take_pending() == (("a", "connect"),)
        assert text_of(await hub.call_tool("a", "echo", {})) == "echo {}"


@pytest.mark.requirement("CONN-2")
def test_back_off_grows_to_its_cap_with_jitter() -> None:
    backoff = Backoff(first=1.0, cap=8.0, jitter=0.1, random=lambda: 1.0)
    assert [round(backoff.delay(n), 6) for n in range(6)] == [1.1, 2.2, 4.4, 8.8, 8.8, 8.8]
    assert Backoff().delay(10_000) <= 66.0


@ERAS
@pytest.mark.requirement("CONN-2")
async def test_a_call_over_its_time_limit_is_cancelled_and_the_connection_lives(
    mode: str, tool_server: MakeServer
) -> None:
    server = tool_server("echo")
    cancelled = anyio.Event()

    async def hang(_ctx: object, _params: object) -> types.CallToolResult:
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()
        raise AssertionError

    slow = tool_server("slow")
    slow.server.add_request_handler("tools/call", types.CallToolRequestParams, hang)
    async with Hub(ONCE) as hub:
        await hub.connect(ConnectionSpec.model_validate({"id": "slow", "mode": mode}), lambda: slow.server)
        await hub.connect(ConnectionSpec.model_validate({"id": "a", "mode": mode}), lambda: server.server)
        with pytest.raises(CallTimeoutError, match=r"0\.01 seconds"):
            await hub.call_tool("slow", "slow", {}, seconds=0.01)
        await cancelled.wait()
        assert [t.name for t in (await hub.list_page("slow", None)).tools] == ["slow"]


@pytest.mark.requirement("CONN-4")
async def test_a_result_that_breaks_its_output_schema_is_returned_whole(tool_server: MakeServer) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    broken = types.Tool(name="t", input_schema={"type": "object"}, output_schema=schema)
    server = tool_server(broken)
    server.answers["t"] = lambda _: types.CallToolResult(
        content=[types.TextContent(type="text", text="kept")], structured_content={"n": "no number"}
    )
    async with Hub(ONCE) as hub:
        await hub.connect(ConnectionSpec(id="a"), lambda: server.server)
        await hub.list_page("a", None)
        assert text_of(await hub.call_tool("a", "t", {})) == "kept"


@pytest.mark.requirement("CONN-4")
async def test_a_result_of_several_megabytes_over_stdio_is_whole(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(
        "from mcp.server.mcpserver import MCPServer\n"
        "server = MCPServer('ours')\n"
        "@server.tool()\n"
        "def big() -> str:\n"
        "    return 'é' * 1_500_000\n"
        "server.run('stdio')\n"
    )
    async with Hub(ONCE) as hub:
        await hub.connect(ConnectionSpec(id="a", command=(sys.executable, str(script))))
        assert text_of(await hub.call_tool("a", "big", {})) == "é" * 1_500_000


@ERAS
async def test_a_change_is_noted_once_however_often_it_is_announced(
    mode: str, tool_server: MakeServer
) -> None:
    server = tool_server("echo")
    async with Hub(ONCE) as hub:
        await hub.connect(ConnectionSpec.model_validate({"id": "a", "mode": mode}), lambda: server.server)
        await hub.list_page("a", None)
        assert hub.take_pending() == (("a", "connect"),)
        for _ in range(50):
            await server.announce(mode)
        await hub.settle()
        assert hub.take_pending() == (("a", "list_changed"),)
        assert hub.take_pending() == ()


async def test_calls_run_side_by_side(tool_server: MakeServer) -> None:
    server = tool_server("first", "second")
    second_started = anyio.Event()

    async def call(_ctx: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name == "first":
            await second_started.wait()
        second_started.set()
        return types.CallToolResult(content=[])

    server.server.add_request_handler("tools/call", types.CallToolRequestParams, call)
    async with Hub(ONCE) as hub, anyio.create_task_group() as tasks:
        await hub.connect(ConnectionSpec(id="a"), lambda: server.server)
        tasks.start_soon(hub.call_tool, "a", "first", {})
        tasks.start_soon(hub.call_tool, "a", "second", {})


async def test_a_servers_error_is_the_callers_and_the_connection_stays(tool_server: MakeServer) -> None:
    server = tool_server("echo")
    server.faults.append(MCPError(types.INTERNAL_ERROR, "no listing today"))
    async with Hub(ONCE) as hub:
        await hub.connect(ConnectionSpec(id="a"), lambda: server.server)
        with pytest.raises(MCPError, match="no listing today"):
            await hub.list_page("a", None)
        assert hub.state("a") is ConnectionState.READY


async def test_a_schema_that_went_stale_is_listed_again_and_the_call_resent(tool_server: MakeServer) -> None:
    server = tool_server("echo")
    refusals = [MCPError(types.HEADER_MISMATCH, "list first")]

    def refuse_once(_arguments: object) -> types.CallToolResult:
        if refusals:
            raise refusals.pop()
        return types.CallToolResult(content=[types.TextContent(type="text", text="sent again")])

    server.answers["echo"] = refuse_once
    async with Hub(ONCE) as hub:
        await hub.connect(ConnectionSpec(id="a"), lambda: server.server)
        hub.take_pending()
        assert text_of(await hub.call_tool("a", "echo", {})) == "sent again"
        assert server.fetches == [None]
        assert hub.take_pending() == (("a", "list_changed"),)


async def test_connecting_an_id_again_replaces_the_connection(tool_server: MakeServer) -> None:
    one, two = tool_server("one"), tool_server("two")
    async with Hub(ONCE) as hub:
        await hub.connect(ConnectionSpec(id="a"), lambda: one.server)
        await hub.connect(ConnectionSpec(id="a"), lambda: two.server)
        assert [t.name for t in (await hub.list_page("a", None)).tools] == ["two"]
        assert hub.ids == ("a",)
        await hub.disconnect("a")
        assert hub.state("a") is ConnectionState.CLOSED
        with pytest.raises(UnavailableError, match="closed by the host"):
            await hub.list_page("a", None)


async def test_a_hub_lets_the_bodys_exception_out_as_it_is(tool_server: MakeServer) -> None:
    server = tool_server("echo")

    async def body() -> None:
        async with Hub(ONCE) as hub:
            await hub.connect(ConnectionSpec(id="a"), lambda: server.server)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await body()


async def test_a_dial_that_hangs_ends_with_the_time_limit_or_with_the_host(tool_server: MakeServer) -> None:
    class Hanging:
        async def __aenter__(self) -> object:
            await anyio.sleep_forever()
            raise AssertionError

        async def __aexit__(self, *_: object) -> None:
            return None

    async with Hub(Limits(connect=0.01, backoff=None)) as hub:
        assert await hub.connect(ConnectionSpec(id="a"), Hanging) is ConnectionState.UNREACHABLE  # type: ignore[arg-type]
        assert hub.reason("a") == "it did not answer in time"


async def test_neither_command_nor_url_is_said_clearly() -> None:
    async with Hub(ONCE) as hub:
        with pytest.raises(UndialledConnectionError, match="neither a command nor a url"):
            await hub.connect(ConnectionSpec(id="a"))


def test_the_innermost_cause_of_a_group_is_what_is_told() -> None:
    group = ExceptionGroup("outer", [ExceptionGroup("inner", [OSError("two\nlines")])])
    assert describe_failure(group) == "OSError: two lines"
    assert describe_failure(ValueError()) == "ValueError"

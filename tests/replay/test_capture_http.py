"""Recording a real streamable HTTP server on 127.0.0.1, and playing it."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import mcp_types
import pytest
import uvicorn
from mcp import Client
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

from coldturn.replay.capture.clients import captured_http, over_http
from coldturn.replay.capture.recorder import Recorder
from coldturn.replay.playback.recording import open_recording
from coldturn.replay.playback.transport import Playback


class Name(BaseModel):
    name: str


def _server() -> MCPServer:
    server = MCPServer("over-http")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    @server.tool()
    async def ask(ctx: Context) -> str:
        """Ask the user."""
        answer = await ctx.elicit("Who are you?", Name)
        return f"hello {answer.data.name}" if answer.action == "accept" else "nobody"

    @server.tool()
    async def grow(ctx: Context) -> str:
        """Add a tool."""
        server.add_tool(lambda: "extra", name="extra", description="More.")
        await ctx.notify_tools_changed()
        await ctx.request_context.session.send_tool_list_changed()
        return "grown"

    return server


@asynccontextmanager
async def _serving() -> AsyncIterator[str]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            _server().streamable_http_app(), log_level="warning", timeout_graceful_shutdown=1
        )
        program = uvicorn.Server(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(program.serve, [listening])
            try:
                yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
            finally:
                program.should_exit = True


class Watcher:
    def __init__(self) -> None:
        self.changed = anyio.Event()

    async def note(self, message: IncomingMessage) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self.changed.set()


async def _accept(
    context: ClientRequestContext, params: mcp_types.ElicitRequestParams
) -> mcp_types.ElicitResult:
    assert params.message == "Who are you?"
    return mcp_types.ElicitResult(action="accept", content={"name": "Ada"})


def _text(result: mcp_types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, mcp_types.TextContent)
    return content.text


async def _script(client: Client, watcher: Watcher) -> list[str]:
    async with client:
        said = [_text(await client.call_tool("add", {"a": 40, "b": 2}))]
        if client.protocol_version != "2026-07-28":
            said.append(_text(await client.call_tool("ask", {})))
            said.append(_text(await client.call_tool("grow", {})))
            await watcher.changed.wait()
        else:
            async with client.listen(tools_list_changed=True) as subscription:
                said.append(_text(await client.call_tool("grow", {})))
                await anext(aiter(subscription))
        said.append(",".join(tool.name for tool in (await client.list_tools()).tools))
        return said


@pytest.mark.anyio
@pytest.mark.requirement("REC-1", "REC-4")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_what_was_recorded_over_http_plays_the_same(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "session.jsonl"
    with anyio.fail_after(30):
        async with _serving() as url:
            with Recorder(path) as recorder:
                watcher = Watcher()
                client = Client(
                    captured_http(recorder, url),
                    mode=mode,
                    cache=None,
                    elicitation_callback=_accept,
                    message_handler=watcher.note,
                )
                said = await _script(client, watcher)
        playback, watcher = Playback(open_recording(path)), Watcher()  # nothing listens at `url` any more
        client = Client(
            over_http(url, playback.transport()),
            mode=mode,
            cache=None,
            elicitation_callback=_accept,
            message_handler=watcher.note,
        )
        assert await _script(client, watcher) == said
    assert said[0] == "42"
    assert said[-1].endswith("extra")
    assert playback.misses == []

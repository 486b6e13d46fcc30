"""Calls of an MCP server played from a recording, held against what the SDK's own client takes at least.

The same calls, one after another through the same real client, in one run: to a transport that answers each
at once without looking anything up (the floor of the SDK's HTTP client), to a recording of a server, and to a
server in memory, without HTTP. What counts is the ratio of the first two.
"""

from __future__ import annotations

import gc
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx2
import orjson
import uvicorn
from mcp import Client
from mcp.server.mcpserver import MCPServer

from coldturn.replay.capture.clients import captured_http, over_http
from coldturn.replay.capture.recorder import Recorder
from coldturn.replay.playback.recording import Recording, open_recording
from coldturn.replay.playback.transport import Playback

CALLS = 500
ROUNDS = 5
LIMIT = 1 / 0.8
"""A played call may take so many times one at the floor: 80 % of its rate."""


def _server() -> MCPServer:
    server = MCPServer("bench", log_level="ERROR")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return server


@asynccontextmanager
async def _serving() -> AsyncIterator[str]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(_server().streamable_http_app(), log_level="warning")
        program = uvicorn.Server(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(program.serve, [listening])
            try:
                yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
            finally:
                program.should_exit = True


async def _call_all(client: Client, calls: int) -> float:
    """Seconds of the processor for all calls; every answer is checked."""
    async with client:
        gc.collect()
        gc.disable()
        try:
            begin = time.process_time()
            results = [await client.call_tool("add", {"a": number, "b": 1}) for number in range(calls)]
            taken = time.process_time() - begin
        finally:
            gc.enable()
    for number, result in enumerate(results):
        assert result.structured_content == {"result": number + 1}
    return taken


async def record(path: Path, calls: int = CALLS) -> tuple[str, Recording]:
    """Record the calls over HTTP; the server's address and the recording."""
    async with _serving() as url:
        with Recorder(path) as recorder:
            await _call_all(Client(captured_http(recorder, url), cache=None), calls)
    return url, open_recording(path)


class AtOnce(httpx2.AsyncBaseTransport):
    """Answers calls by itself; the handshake comes from the recording."""

    def __init__(self, recording: Recording) -> None:
        self._handshake = Playback(recording).transport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        if b'"tools/call"' not in request.content:
            return await self._handshake.handle_async_request(request)
        call = orjson.loads(request.content)
        total = call["params"]["arguments"]["a"] + 1
        content = [{"type": "text", "text": str(total)}]
        result = {
            "resultType": "complete",
            "content": content,
            "structuredContent": {"result": total},
            "isError": False,
        }
        body = orjson.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result})
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, content=b"event: message\r\ndata: " + body + b"\r\n\r\n")


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds a call."""

    floor: float
    played: float
    memory: float


async def measure(calls: int = CALLS, rounds: int = ROUNDS) -> Times:
    """The best of some rounds that take turns."""
    floor, played, memory = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        url, recording = await record(Path(folder) / "calls.jsonl", calls)
        for _ in range(rounds):
            floor.append(await _call_all(Client(over_http(url, AtOnce(recording)), cache=None), calls))
            playback = Playback(recording)
            played.append(await _call_all(Client(over_http(url, playback.transport()), cache=None), calls))
            assert playback.misses == []
            assert playback.report().unplayed == 0
            memory.append(await _call_all(Client(_server(), cache=None), calls))
    return Times(min(floor) / calls, min(played) / calls, min(memory) / calls)


def run() -> Mapping[str, float]:
    """Rates, and the ratio as times: a played call over one at the floor."""
    times = anyio.run(measure)
    return {
        "calls_a_second_at_the_floor": 1 / times.floor,
        "calls_a_second_played": 1 / times.played,
        "calls_a_second_in_memory": 1 / times.memory,
        "played_over_floor": times.played / times.floor,
        "played_over_floor_limit": LIMIT,
    }

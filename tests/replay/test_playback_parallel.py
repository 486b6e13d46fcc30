"""Calls in parallel, and servers that ask their client in mid-call, recorded and played."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import mcp_types
import orjson
import pytest
import uvicorn
from mcp import Client
from mcp.client import Transport
from mcp.client.session import ClientRequestContext
from mcp.server.mcpserver import Context, MCPServer
from opentelemetry.sdk.trace import TracerProvider
from pydantic import BaseModel

from coldturn.replay.capture.clients import captured_http, over_http
from coldturn.replay.capture.recorder import Recorder
from coldturn.replay.playback.recording import Recording, open_recording
from coldturn.replay.playback.transport import Playback

CALLS = 8


class Name(BaseModel):
    name: str


class Turnstile:
    """Lets calls out in the reverse of the order of their numbers, once all are in."""

    def __init__(self) -> None:
        self.left: list[int] = []
        self._inside: set[int] = set()
        self._moved = anyio.Event()

    async def through(self, number: int) -> None:
        self._inside.add(number)
        while True:
            self._moved.set()
            if len(self._inside) == CALLS and len(self.left) == CALLS - 1 - number:
                break
            self._moved = anyio.Event()
            await self._moved.wait()
        self.left.append(number)
        self._moved.set()


def _server(turnstile: Turnstile) -> MCPServer:
    server = MCPServer("parallel")

    @server.tool()
    async def echo(number: int, ctx: Context) -> str:
        """Answer after all calls of a higher number."""
        await ctx.report_progress(number, CALLS)
        await turnstile.through(number)
        return f"answer {number}"

    @server.tool()
    async def think(ctx: Context) -> str:
        """Ask the client's model, then its user."""
        text = mcp_types.TextContent(type="text", text="How much is it?")
        message = mcp_types.SamplingMessage(role="user", content=text)
        made = await ctx.request_context.session.create_message([message], max_tokens=9)
        answer = await ctx.elicit("Who are you?", Name)
        assert answer.action == "accept"
        assert isinstance(made.content, mcp_types.TextContent)
        return f"{answer.data.name}: {made.content.text}"

    return server


@asynccontextmanager
async def _serving(server: MCPServer) -> AsyncIterator[str]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            server.streamable_http_app(), log_level="warning", timeout_graceful_shutdown=1
        )
        program = uvicorn.Server(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(program.serve, [listening])
            try:
                yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
            finally:
                program.should_exit = True


async def _all_at_once(
    client: Client, numbers: Iterable[int]
) -> tuple[dict[int, str], dict[int, list[float]]]:
    """Call every number at once, each under a span of its own; the answers and progress of each."""
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("tests")
    answers: dict[int, str] = {}
    seen: dict[int, list[float]] = {number: [] for number in numbers}

    async def call(number: int) -> None:
        async def note(progress: float, total: float | None, message: str | None) -> None:
            seen[number].append(progress)

        with tracer.start_as_current_span(f"call {number}"):
            result = await client.call_tool("echo", {"number": number}, progress_callback=note)
        (content,) = result.content
        assert isinstance(content, mcp_types.TextContent)
        answers[number] = content.text

    async with anyio.create_task_group() as tasks:
        for number in seen:
            tasks.start_soon(call, number)
    return answers, seen


def _trace_contexts(recording: Recording) -> list[str]:
    bodies = [orjson.loads(entry.request_body) for entry in recording.mcp if entry.method == "POST"]
    return [body["params"]["_meta"]["traceparent"] for body in bodies if body.get("method") == "tools/call"]


@pytest.mark.anyio
@pytest.mark.requirement("REC-4", "REC-5")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_eight_calls_in_reversed_order_get_their_own_answers(tmp_path: Path, mode: str) -> None:
    path, turnstile = tmp_path / "parallel.jsonl", Turnstile()
    wanted = {number: f"answer {number}" for number in range(CALLS)}
    with anyio.fail_after(30):
        async with _serving(_server(turnstile)) as url:
            with Recorder(path) as recorder:
                async with Client(captured_http(recorder, url), mode=mode, cache=None) as client:
                    assert (await _all_at_once(client, range(CALLS)))[0] == wanted
        assert turnstile.left == list(reversed(range(CALLS)))
        recording = open_recording(path)
        assert len(set(_trace_contexts(recording))) == CALLS  # or OpenTelemetry was not on
        playback = Playback(recording)
        async with Client(over_http(url, playback.transport()), mode=mode, cache=None) as client:
            answers, progress = await _all_at_once(client, reversed(range(CALLS)))
    assert answers == wanted
    assert progress == {number: [number] for number in range(CALLS)}
    assert playback.misses == []
    # they overlapped when they were recorded, so they have no order that could be another one
    assert playback.report().reordered == 0


async def _sample(
    context: ClientRequestContext, params: mcp_types.CreateMessageRequestParams
) -> mcp_types.CreateMessageResult:
    content = mcp_types.TextContent(type="text", text="42")
    return mcp_types.CreateMessageResult(role="assistant", content=content, model="m", stop_reason="endTurn")


async def _accept(
    context: ClientRequestContext, params: mcp_types.ElicitRequestParams
) -> mcp_types.ElicitResult:
    return mcp_types.ElicitResult(action="accept", content={"name": "Ada"})


@pytest.mark.anyio
@pytest.mark.filterwarnings("ignore:The sampling capability is deprecated")
@pytest.mark.requirement("REC-1", "REC-4")
async def test_a_server_that_asks_model_and_user_in_mid_call_is_recorded_and_played(tmp_path: Path) -> None:
    """Who reads an answer whole before handing it on waits here for ever."""

    async def ask(transport: Transport) -> str:
        client = Client(
            transport, mode="legacy", cache=None, sampling_callback=_sample, elicitation_callback=_accept
        )
        async with client:
            (content,) = (await client.call_tool("think", {})).content
            assert isinstance(content, mcp_types.TextContent)
            return content.text

    path = tmp_path / "asks.jsonl"
    with anyio.fail_after(30):
        async with _serving(_server(Turnstile())) as url:
            with Recorder(path) as recorder:
                assert await ask(captured_http(recorder, url)) == "Ada: 42"
        playback = Playback(open_recording(path))
        assert await ask(over_http(url, playback.transport())) == "Ada: 42"
    assert playback.misses == []
    assert playback.report().unplayed == 0

"""An agent with two small servers in memory, run under a policy with the engine as its model."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from coldturn.analysis.frames.frames import steps
from coldturn.reference.catalogue import CatalogueStore
from coldturn.reference.connections import Hub, Limits
from coldturn.reference.loop import run_turn
from coldturn.reference.model import ModelRequest
from coldturn.reference.policy import POLICIES, Policy
from coldturn.reference.prefix.model import Surface
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.run import Host, Run, open_run
from coldturn.reference.spec import AgentSpec
from coldturn.reference.wire.model import Reply
from coldturn.replay.runs.replay_clock import ReplayClock
from coldturn.replay.runs.replay_model import LocalResults, ReplayModel
from coldturn.replay.sessions.session import Session
from coldturn.traces.otlp import SpanFile
from coldturn.traces.span_reader import read_spans
from coldturn.traces.spans import SpanObserver
from engine.server import Asked, Engine

_LIMITS = {"result_tokens": 300, "batch_tokens": 700, "preview_chars": 120, "failure_chars": 80}
"""Small, so that results are elided in prompts which the engine computes in milliseconds."""

_CALL_SECONDS = 65
"""What a model call takes by the agent's clock: the minute moves on between any two."""

_SCRIPT = Path(__file__).with_name("desk.toml")


@dataclass(frozen=True, slots=True)
class Step:
    """One step, as the runtime sent it, as the engine saw it, and as its span tells it.

    Attributes:
        request: What was posted, with the runtime's labels.
        span: A row of the frame `steps`.
    """

    request: PromptRequest
    asked: Asked
    span: dict[str, Any]


class EngineModel:
    """Posts each request to an engine; decisions are a script's, usage is what the engine reports."""

    def __init__(self, engine: Engine, script: ReplayModel, clock: ReplayClock) -> None:
        self._engine = engine
        self._script = script
        self._clock = clock
        self._run: Run | None = None
        self.sent: list[tuple[PromptRequest, Asked]] = []

    def bind(self, run: Run) -> None:
        """Say whose model this is."""
        self._run = run
        self._script.bind(run)

    async def respond(self, request: ModelRequest) -> Reply:
        """Take the script's next decision."""
        assert self._run is not None
        assert self._run.sent is not None
        asked = await anyio.to_thread.run_sync(self._engine.ask, request.surface, request.body)
        self.sent.append((self._run.sent.request, asked))
        self._clock.advance(_CALL_SECONDS)
        decided = await self._script.respond(request)
        return replace(decided, usage=asked.reply.usage)


def policy_with_small_limits(name: str, **changed: object) -> Policy:
    """One of the named policies, which elides from about 1 KB on, with fields changed."""
    return Policy.model_validate({**POLICIES[name].model_dump(), **_LIMITS, **changed})


async def converse(engine: Engine, policy: Policy, surface: Surface, folder: Path) -> list[Step]:
    """Run the agent's four turns; `folder` takes the trace."""
    session = Session.model_validate(tomllib.loads(_SCRIPT.read_text(encoding="utf-8")))
    spec = session.spec.model_copy(update={"surface": surface})
    clock, results = ReplayClock(session.start), LocalResults()
    model = EngineModel(engine, ReplayModel(session, clock, results), clock)
    path = folder / f"{policy.name}.jsonl"
    async with AsyncExitStack() as stack:
        hub = await stack.enter_async_context(Hub(Limits(backoff=None)))
        await _connect(hub, spec)
        store = CatalogueStore(":memory:")
        stack.callback(store.close)
        observer = SpanObserver(SpanFile(path), clock=clock, recording="desk", policy=policy.name)
        stack.enter_context(observer)
        local = tuple(results.host_tool(tool) for tool in spec.local_tools)
        host = Host(hub, store, local)
        run = open_run(spec, policy, host, model, observer, clock, memory=session.memory)
        model.bind(run)
        for turn in session.turns:
            clock.advance(turn.after)
            outcome = await run_turn(run, turn.user)
            assert outcome.error is None
    rows = steps(read_spans(path)).to_dicts()
    return [Step(request, asked, row) for (request, asked), row in zip(model.sent, rows, strict=True)]


async def _connect(hub: Hub, spec: AgentSpec) -> None:
    servers = {"files": _files, "tickets": _tickets}
    for connection in spec.connections:
        await hub.connect(connection, servers[connection.id])


Answer = Callable[[str, dict[str, Any]], str]


def _server(name: str, tools: list[types.Tool], answer: Answer) -> Server[Any]:
    async def list_tools(
        _ctx: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        _ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        try:
            text, failed = answer(params.name, dict(params.arguments or {})), False
        except FileNotFoundError as error:
            text, failed = f"No such file: {error}\n" * 20, True
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=failed)

    return Server(name, on_list_tools=list_tools, on_call_tool=call_tool)


def _tool(name: str, description: str, **properties: str) -> types.Tool:
    schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}
    return types.Tool(name=name, description=description, input_schema=schema)


def _files() -> Server[Any]:
    sizes = {"a.log": 60, "b.log": 65, "c.log": 15, "tiny.log": 2}

    def read(_tool: str, arguments: dict[str, Any]) -> str:
        path = arguments["path"]
        if path not in sizes:
            raise FileNotFoundError(path)
        return "\n".join(
            f"{path} line {number:03}: waited {number * number} ms" for number in range(sizes[path])
        )

    tools = [
        _tool("read", "Reads a log file, whole.", path="string"),
        _tool("list", "Lists the log files.", folder="string"),
    ]
    return _server("files", tools, read)


def _tickets() -> Server[Any]:
    tools = [
        _tool("find", "Finds tickets by a word.", word="string"),
        _tool("show", "Shows one ticket.\nIts history too.", number="integer"),
        _tool("close", "Closes a ticket.", number="integer", reason="string"),
    ]
    return _server(
        "tickets", tools, lambda tool, arguments: f"{tool} {arguments}: ticket by Ann, naïvely filed"
    )

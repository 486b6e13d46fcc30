"""A server of ours in memory, whose tools a test changes as it likes, and a Toolbox around it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import mcp_types as types
import pytest
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

from coldturn.reference.catalogue import CatalogueStore
from coldturn.reference.connections import Hub, Limits
from coldturn.reference.observer import (
    NullObserver,
    RefreshInfo,
    RefreshOutcome,
    ToolCallInfo,
    ToolOutcomeInfo,
)
from coldturn.reference.policy import Policy
from coldturn.reference.spec import AgentSpec, ConnectionSpec
from coldturn.reference.surface.model import HostTool
from coldturn.reference.surface.toolbox import Toolbox

Answer = Callable[[dict[str, Any]], types.CallToolResult]


def make_tool(name: str, description: str = "", **properties: str) -> types.Tool:
    """A tool whose arguments are all required; `properties` are JSON types by name."""
    schema = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in properties.items()},
        "required": list(properties),
    }
    return types.Tool(name=name, description=description or f"Does {name}.", input_schema=schema)


def say(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


@dataclass
class ToolServer:
    """Serves `tools` in pages; answers a call with its name and arguments unless `answers` knows better."""

    tools: list[types.Tool]
    page: int | None = None
    answers: dict[str, Answer] = field(default_factory=dict)
    instructions: str | None = None
    fetches: list[str | None] = field(default_factory=list)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    faults: list[MCPError] = field(default_factory=list)
    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)
    sessions: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.listener = ListenHandler(self.bus)
        self.server: Server[Any] = Server(
            "ours",
            instructions=self.instructions,
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_subscriptions_listen=self.listener,
        )

    async def _list(
        self, ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        cursor = params.cursor if params is not None else None
        self.fetches.append(cursor)
        if ctx.session not in self.sessions:
            self.sessions.append(ctx.session)
        if self.faults:
            raise self.faults.pop(0)
        start = 0 if cursor is None else int(cursor or "0")
        end = len(self.tools) if self.page is None else start + self.page
        following = str(end) if end < len(self.tools) else None
        return types.ListToolsResult(tools=self.tools[start:end], next_cursor=following)

    async def _call(
        self, _ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        arguments = dict(params.arguments or {})
        self.calls.append((params.name, arguments))
        answer = self.answers.get(params.name)
        return say(f"{params.name} {arguments}") if answer is None else answer(arguments)

    async def announce(self, mode: str) -> None:
        """Tell clients of the era `mode` that the list of tools changed."""
        if mode == "auto":
            await self.bus.publish(ToolsListChanged())
        else:
            await self.sessions[-1].send_tool_list_changed()


class SteppingClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000_000_000

    def time_ns(self) -> int:
        return self.now


class Watcher(NullObserver):
    """Keeps what it is told of refreshes and calls."""

    def __init__(self) -> None:
        self.refreshes: list[tuple[RefreshInfo, RefreshOutcome]] = []
        self.calls: list[tuple[ToolCallInfo, ToolOutcomeInfo]] = []

    @contextmanager
    def tool(self, info: ToolCallInfo) -> Iterator[Any]:
        yield _Scope(lambda outcome: self.calls.append((info, outcome)))

    @contextmanager
    def refresh(self, info: RefreshInfo) -> Iterator[Any]:
        yield _Scope(lambda outcome: self.refreshes.append((info, outcome)))


@dataclass
class _Scope:
    finish: Callable[[Any], None]


@dataclass
class Bench:
    """What a test holds in its hand."""

    hub: Hub
    box: Toolbox
    store: CatalogueStore
    watcher: Watcher
    clock: SteppingClock

    def names(self, turn: int = 1, step: int = 1) -> list[str]:
        return [tool.definition.name for tool in self.box.step_surface(turn, step).tools]

    def array(self, turn: int = 1, step: int = 1) -> bytes:
        tools = self.box.step_surface(turn, step).tools
        return b"\n".join(
            b"|".join((t.definition.name.encode(), t.definition.description.encode(), t.definition.schema))
            for t in tools
        )


OpenBench = Callable[..., AbstractAsyncContextManager[Bench]]


@asynccontextmanager
async def _open_bench(
    servers: Mapping[str, ToolServer],
    *,
    policy: Policy | None = None,
    specs: Mapping[str, Mapping[str, Any]] | None = None,
    host_tools: Sequence[HostTool] = (),
    store: CatalogueStore | None = None,
) -> AsyncIterator[Bench]:
    clock, watcher = SteppingClock(), Watcher()
    kept = store or CatalogueStore()
    try:
        async with Hub(Limits(backoff=None)) as hub:
            for server_id, server in servers.items():
                spec = ConnectionSpec(id=server_id, **(specs or {}).get(server_id, {}))
                await hub.connect(spec, partial(getattr, server, "server"))
            box = Toolbox(AgentSpec(), policy or Policy(), hub, kept, host_tools, watcher, clock)
            yield Bench(hub, box, kept, watcher, clock)
    finally:
        if store is None:
            kept.close()


@pytest.fixture
def open_bench() -> OpenBench:
    return _open_bench


@pytest.fixture
def tool() -> Callable[..., types.Tool]:
    return make_tool


@pytest.fixture
def tool_server() -> Callable[..., ToolServer]:
    """Make a server from names, or from tools."""

    def make(*tools: str | types.Tool, **settings: object) -> ToolServer:
        return ToolServer([make_tool(t) if isinstance(t, str) else t for t in tools], **settings)  # type: ignore[arg-type]

    return make

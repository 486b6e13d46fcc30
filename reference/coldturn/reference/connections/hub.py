"""All connections of a Run: dialled, watched and asked in one place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self, TypeVar

import anyio
import anyio.abc
from mcp import Client, MCPError
from mcp_types import (
    HEADER_MISMATCH,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
)
from pydantic import TypeAdapter

from coldturn.reference.catalogue.walk import walk
from coldturn.reference.connections.connection import Connection, ConnectionState, Limits
from coldturn.reference.connections.errors import UnavailableError, UnknownConnectionError
from coldturn.reference.connections.freshness import Freshness
from coldturn.reference.connections.transports import TransportFactory, factory_of
from coldturn.reference.spec import ConnectionSpec

T = TypeVar("T")

_CALL_RESULT: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(
    CallToolResult | InputRequiredResult
)

_SETTLE_ROUNDS = 64
"""Turns of the event loop given to notifications that have arrived and are not delivered yet."""


class Hub:
    """Connections by id. An async context manager: leaving it takes leave of every server.

    One dead server harms neither the others nor the caller: requests to it raise `UnavailableError`.

    Args:
        limits: Times; with ``Limits(backoff=None)`` nothing is dialled twice.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._connections: dict[str, Connection] = {}
        self._pending: dict[str, str] = {}
        self._freshness: dict[str, Freshness] = {}
        self._tasks: anyio.abc.TaskGroup | None = None

    async def __aenter__(self) -> Self:
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tasks, self._tasks = self._tasks, None
        if tasks is None:
            return
        try:
            with anyio.move_on_after(self._limits.close):
                for connection in list(self._connections.values()):
                    await connection.close()
        finally:
            tasks.cancel_scope.cancel()
            # Supervisors raise nothing, and the body's exception must not come out wrapped in a group.
            await tasks.__aexit__(None, None, None)

    async def connect(
        self, spec: ConnectionSpec, transport_factory: TransportFactory | None = None
    ) -> ConnectionState:
        """Start a connection and wait for the end of its first attempt; an id in use is closed first.

        Args:
            spec: The connection.
            transport_factory: Returns what to connect to; by default the Spec's command or url decides.

        Raises:
            UndialledConnectionError: Nothing says how to dial.
        """
        dial = factory_of(spec) if transport_factory is None else transport_factory
        if self._tasks is None:
            raise RuntimeError("enter the hub with `async with` before connecting")
        if spec.id in self._connections:
            await self._connections[spec.id].close()
        connection = Connection(spec, dial, self._limits, lambda trigger: self._note(spec.id, trigger))
        self._connections[spec.id] = connection
        self._tasks.start_soon(connection.supervise)
        await connection.attempted.wait()
        return connection.state

    async def disconnect(self, connection: str) -> None:
        """Close a connection. It stays known, as closed."""
        await self._get(connection).close()

    @property
    def ids(self) -> tuple[str, ...]:
        """Connection ids in the order in which they were first connected."""
        return tuple(self._connections)

    def spec(self, connection: str) -> ConnectionSpec:
        """The Spec that a connection was made with."""
        return self._get(connection).spec

    def state(self, connection: str) -> ConnectionState:
        """Where a connection stands."""
        return self._get(connection).state

    def reason(self, connection: str) -> str:
        """Why a connection is not ready; empty when it is."""
        return self._get(connection).reason

    def instructions(self, connection: str) -> str:
        """What the server says about itself; empty when it has said nothing."""
        return self._get(connection).instructions

    def protocol(self, connection: str) -> str | None:
        """The negotiated protocol version."""
        return self._get(connection).protocol

    async def list_page(self, connection: str, cursor: str | None) -> ListToolsResult:
        """Fetch one page of a server's tools."""
        return await self._request(connection, lambda client: client.list_tools(cursor=cursor))

    async def call_tool(
        self,
        connection: str,
        tool: str,
        arguments: dict[str, Any],
        *,
        seconds: float | None = None,
        arrived: Callable[[CallToolResult], None] | None = None,
    ) -> CallToolResult:
        """Call a tool and return what the server sent, unvalidated.

        The SDK's own `call_tool` raises when a result does not fit its output schema, and the result is lost;
        here it is returned, and whoever logs it validates it afterwards.

        Args:
            connection: Connection id.
            tool: The server's own name.
            arguments: As they are sent.
            seconds: Time limit, where the general one does not fit.
            arrived: Told of the result the moment it is here: a caller that is cancelled just then still has
                it.

        Raises:
            UnavailableError: The connection is not ready or was lost, or the tool wants a person's input.
            CallTimeoutError: The time limit passed; the server was told.
            MCPError: The server answered with an error.
        """
        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=arguments))

        async def send(client: Client) -> CallToolResult | InputRequiredResult:
            try:
                return told(await client.session.send_request(request, _CALL_RESULT))
            except MCPError as error:
                if error.code != HEADER_MISMATCH:
                    raise
            # The schema that the SDK makes headers from is stale: the protocol says to list and resend once.
            self._note(connection, "list_changed")
            await walk(connection, lambda cursor: client.list_tools(cursor=cursor))
            return told(await client.session.send_request(request, _CALL_RESULT))

        def told(result: CallToolResult | InputRequiredResult) -> CallToolResult | InputRequiredResult:
            if arrived is not None and isinstance(result, CallToolResult):
                arrived(result)
            return result

        result = await self._request(connection, send, seconds=seconds)
        if isinstance(result, InputRequiredResult):
            raise UnavailableError(connection, f"{tool} asks for input that only a person can give")
        return result

    async def settle(self) -> None:
        """Let notifications that have arrived reach us, so that a refresh at a given point sees them."""
        for _ in range(_SETTLE_ROUNDS):
            await anyio.lowlevel.checkpoint()

    def freshness(self, connection: str) -> Freshness:
        """How fresh a connection's catalogue is."""
        return self._freshness.setdefault(self._get(connection).spec.id, Freshness())

    def take_pending(self) -> tuple[tuple[str, str], ...]:
        """Connections whose catalogue needs a refresh, with the trigger; they are forgotten by this."""
        pending, self._pending = self._pending, {}
        return tuple((connection, pending[connection]) for connection in self.ids if connection in pending)

    def take_trigger(self, connection: str) -> str | None:
        """What asks for a refresh of one connection's catalogue, or None; it is forgotten by this."""
        return self._pending.pop(connection, None)

    async def _request(
        self, connection: str, work: Callable[[Client], Awaitable[T]], *, seconds: float | None = None
    ) -> T:
        return await self._get(connection).request(work, seconds=seconds)

    def _get(self, connection: str) -> Connection:
        try:
            return self._connections[connection]
        except KeyError:
            raise UnknownConnectionError(connection) from None

    def _note(self, connection: str, trigger: str) -> None:
        # A session's first listing answers for any change announced before it.
        if self._pending.get(connection) not in {"connect", "reconnect"} or trigger != "list_changed":
            self._pending[connection] = trigger

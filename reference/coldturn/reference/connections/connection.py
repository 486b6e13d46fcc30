"""One connection: a task that enters and leaves the MCP client, and serves the callers' requests meanwhile.

Callers never enter the client. A transport that dies cancels the task that entered it, which is the
supervisor: callers only ever see their own request fail.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar

import anyio
import mcp_types
from anyio.abc import TaskStatus
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import Client, MCPError
from mcp.client.session import IncomingMessage
from mcp.client.subscriptions import SubscriptionLost

from coldturn.reference.connections.backoff import Backoff
from coldturn.reference.connections.errors import (
    CallTimeoutError,
    UnavailableError,
    describe_failure,
    is_lost,
)
from coldturn.reference.connections.transports import TransportFactory
from coldturn.reference.spec import ConnectionSpec

logger = logging.getLogger(__name__)

T = TypeVar("T")


class ConnectionState(StrEnum):
    """Where a connection stands."""

    CONNECTING = "connecting"
    READY = "ready"
    UNREACHABLE = "unreachable"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Limits:
    """Times, in seconds. `backoff` None: a lost connection stays lost, as in a replay.

    Attributes:
        connect: For dialling, the handshake and the subscription together.
        call: For one request, unless the caller says otherwise.
        close: For taking leave of a server.
        sleep: Waits between attempts.
    """

    connect: float = 30.0
    call: float = 120.0
    close: float = 5.0
    backoff: Backoff | None = field(default_factory=Backoff)
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep


@dataclass(eq=False, slots=True)
class _Job(Generic[T]):
    work: Callable[[Client], Awaitable[T]]
    done: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    results: list[T] = field(default_factory=list)
    error: BaseException | None = None


class Connection:
    """A supervised connection. `supervise` is its task; everything else is for callers.

    Attributes:
        state: Where it stands; `reason` says why it is not ready.
        sessions: How many times it has become ready.
        instructions: What the server says about itself, from the last session.
        protocol: The negotiated protocol version, or None.
    """

    def __init__(
        self, spec: ConnectionSpec, dial: TransportFactory, limits: Limits, changed: Callable[[str], None]
    ) -> None:
        self.spec = spec
        self.state = ConnectionState.CONNECTING
        self.reason = "not connected yet"
        self._hung_up = False
        self._dialling: anyio.CancelScope | None = None
        self.sessions = 0
        self.instructions = ""
        self.protocol: str | None = None
        self.attempted = anyio.Event()
        self.ended = anyio.Event()
        self._dial = dial
        self._limits = limits
        self._changed = changed
        self._inbox: MemoryObjectSendStream[_Job[Any]] | None = None
        self._open: dict[_Job[Any], None] = {}
        self._closing = anyio.Event()

    async def request(self, work: Callable[[Client], Awaitable[T]], *, seconds: float | None = None) -> T:
        """Have the supervisor run `work` with the client, and wait for it.

        Leaving early (a time limit, a cancelled caller) cancels the work, and the SDK tells the server.

        Raises:
            UnavailableError: Not ready, or lost before the answer came.
            CallTimeoutError: The time limit passed.
            MCPError: The server answered with an error.
        """
        if self._inbox is None:
            raise UnavailableError(self.spec.id, self.reason)
        job = _Job(work)
        self._open[job] = None
        self._inbox.send_nowait(job)
        limit = self._limits.call if seconds is None else seconds
        try:
            with anyio.fail_after(limit):
                await job.done.wait()
        except TimeoutError:
            # An answer that came with the last tick is an answer.
            if not job.results:
                raise CallTimeoutError(self.spec.id, limit) from None
        finally:
            job.scope.cancel()
            self._open.pop(job, None)
        if job.error is not None:
            raise job.error
        return job.results[0]

    async def close(self) -> None:
        """Take leave of the server and end the supervisor."""
        self._closing.set()
        self._hang_up("closed by the host")
        if self._dialling is not None:
            self._dialling.cancel()
        await self.ended.wait()

    async def supervise(self) -> None:
        """Keep the connection up until `close`; whatever fails here is a state, never an exception."""
        attempt = 0
        try:
            while not self._closing.is_set():
                before = self.sessions
                await self._one_session()
                attempt = 0 if self.sessions > before else attempt
                self.attempted.set()
                if self._closing.is_set() or self._limits.backoff is None:
                    break
                await self._pause(self._limits.backoff.delay(attempt))
                attempt += 1
        finally:
            if self._closing.is_set():
                self.state = ConnectionState.CLOSED
            self.attempted.set()
            self.ended.set()

    async def _pause(self, seconds: float) -> None:
        async with anyio.create_task_group() as tasks:

            async def sleep() -> None:
                await self._limits.sleep(seconds)
                tasks.cancel_scope.cancel()

            tasks.start_soon(sleep)
            await self._closing.wait()
            tasks.cancel_scope.cancel()

    async def _one_session(self) -> None:
        self.state, self._hung_up = ConnectionState.CONNECTING, False
        failure = "the server ended the connection"
        inbox, jobs = anyio.create_memory_object_stream[_Job[Any]](math.inf)
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + self._limits.connect) as scope:
                self._dialling = scope
                await self._serve(scope, inbox, jobs)
            if scope.cancelled_caught:
                failure = "it did not answer in time"
        except Exception as error:  # noqa: BLE001 - whatever a transport raises is this connection's state
            failure = describe_failure(error)
        finally:
            self._dialling = None
            self._hang_up(failure)
            inbox.close()
            jobs.close()

    async def _serve(
        self,
        scope: anyio.CancelScope,
        inbox: MemoryObjectSendStream[_Job[Any]],
        jobs: MemoryObjectReceiveStream[_Job[Any]],
    ) -> None:
        client = Client(self._dial(), mode=self.spec.mode, cache=None, message_handler=self._on_message)
        async with client, anyio.create_task_group() as tasks:
            if (
                _announces_changes(client)
                and client.protocol_version in mcp_types.version.MODERN_PROTOCOL_VERSIONS
            ):
                await tasks.start(self._listen, client)
            scope.deadline, self._dialling = math.inf, None
            self._ready(client, inbox)
            async for job in jobs:
                tasks.start_soon(self._run, job, client)
            tasks.cancel_scope.cancel()
            scope.deadline = anyio.current_time() + self._limits.close

    def _ready(self, client: Client, inbox: MemoryObjectSendStream[_Job[Any]]) -> None:
        self.state, self.reason = ConnectionState.READY, ""
        self.instructions = client.instructions or ""
        self.protocol = client.protocol_version
        self.sessions += 1
        self._inbox = inbox
        self._changed("connect" if self.sessions == 1 else "reconnect")
        self.attempted.set()
        if self._closing.is_set():
            self._hang_up("closed by the host")

    async def _run(self, job: _Job[Any], client: Client) -> None:
        with job.scope:
            try:
                job.results.append(await job.work(client))
            except Exception as error:  # noqa: BLE001 - it belongs to the caller, who raises it
                job.error = error
        if job.error is not None and is_lost(job.error):
            reason = describe_failure(job.error)
            job.error = UnavailableError(self.spec.id, reason)
            self._hang_up(reason)
        if job.results or job.error is not None:
            job.done.set()

    def _hang_up(self, reason: str) -> None:
        """Take no more requests, fail the open ones; the supervisor then leaves the client."""
        if not self._hung_up:
            self.state, self.reason, self._hung_up = ConnectionState.UNREACHABLE, reason, True
        if self._inbox is not None:
            self._inbox.close()
            self._inbox = None
        for job in list(self._open):
            if not job.done.is_set():
                job.error = job.error or UnavailableError(self.spec.id, self.reason)
                job.done.set()

    async def _listen(self, client: Client, *, task_status: TaskStatus[None]) -> None:
        """Follow the server's announcements; a stream that it closes in peace is opened again after a wait.

        What was announced in between is lost, so each new stream asks for a refresh.
        """
        starting = True
        quiet = 0

        def started() -> None:
            nonlocal starting
            if starting:
                task_status.started()
            else:
                self._changed("reconnect")
            starting = False

        try:
            while True:
                quiet = 0 if await self._follow(client, started) else quiet + 1
                if self._limits.backoff is None:
                    break
                await self._limits.sleep(self._limits.backoff.delay(quiet))
        except SubscriptionLost as error:
            self._hang_up(describe_failure(error))
        except MCPError as error:
            logger.warning("%s: no change notifications: %s", self.spec.id, error)
        finally:
            if starting:
                task_status.started()

    async def _follow(self, client: Client, started: Callable[[], None]) -> bool:
        """Follow one stream to its end in peace; returns whether it announced anything."""
        heard = False
        async with client.listen(tools_list_changed=True) as subscription:
            started()
            async for _event in subscription:
                heard = True
                self._changed("list_changed")
        return heard

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self._changed("list_changed")


def _announces_changes(client: Client) -> bool:
    tools = client.server_capabilities.tools
    return tools is not None and bool(tools.list_changed)

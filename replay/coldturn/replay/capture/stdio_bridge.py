"""An httpx2 transport in front of a stdio MCP server, so that its traffic is recorded like that of any other.

POST bodies go to the child as lines; its lines come back as server-sent events, byte for byte. No socket is
opened. Both protocol eras: with an ``initialize`` handshake, what belongs to no request comes on the GET
stream; since 2026-07-28, on the stream of the ``subscriptions/listen`` request that asked for it.
"""

from __future__ import annotations

import logging
import math
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import httpx2
import orjson
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from coldturn.replay.errors import StdioServerError

logger = logging.getLogger(__name__)

_GRACE_SECONDS = 2.0
_SESSION_ID = "stdio"


def stdio_url(name: str) -> str:
    """The address under which a stdio server's traffic stands in a recording; it can never resolve."""
    return f"http://stdio.{name}.invalid/mcp"


class _Stream(httpx2.AsyncByteStream):
    """Server-sent events for one HTTP exchange; unbounded, so that the child is never held up."""

    def __init__(self, bridge: StdioBridge, request_id: object = None, *, modern: bool = False) -> None:
        send, receive = anyio.create_memory_object_stream[bytes](math.inf)
        self._send: MemoryObjectSendStream[bytes] = send
        self._receive: MemoryObjectReceiveStream[bytes] = receive
        self._bridge = bridge
        self.request_id = request_id
        self.modern = modern

    def put(self, line: bytes) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._send.send_nowait(b"event: message\ndata: " + line + b"\n\n")

    def end(self) -> None:
        self._send.close()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for event in self._receive:
            yield event

    async def aclose(self) -> None:
        self._send.close()
        self._receive.close()
        await self._bridge.abandon(self)


class StdioBridge(httpx2.AsyncBaseTransport):
    """Carries MCP's streamable HTTP to a child process. Made by `stdio_bridge`.

    Attributes:
        url: The address that clients connect to.
        session_id: What it calls every session.
    """

    session_id = _SESSION_ID

    def __init__(self, name: str, stdin: ByteSendStream) -> None:
        self.name = name
        self.url = stdio_url(name)
        self._stdin = stdin
        self._writing = anyio.Lock()
        self._posts: dict[str, _Stream] = {}
        self._progress: dict[str, str] = {}
        self._get: _Stream | None = None
        self._held: list[bytes] = []
        self._gone = False

    async def pump(self, stdout: ByteReceiveStream) -> None:
        """Hand the child's lines on until it ends; then end every open stream."""
        try:
            async for line in _lines(stdout):
                self.route(line)
        finally:
            self.end()

    def end(self) -> None:
        """The child has ended: end every open stream."""
        self._gone = True
        for stream in [*self._posts.values(), *([self._get] if self._get else [])]:
            stream.end()

    def route(self, line: bytes) -> None:
        """Hand one line of the child on to the stream where it belongs."""
        try:
            message = orjson.loads(line)
        except orjson.JSONDecodeError:
            message = None
        if not isinstance(message, dict):
            logger.warning("the stdio server %s wrote a line that is no JSON-RPC message", self.name)
            return
        if "method" not in message:
            self._answer(str(message.get("id")), line)
        elif (stream := self._stream_for(message)) is not None:
            stream.put(line)
        else:
            self._held.append(line)

    def _answer(self, request_id: str, line: bytes) -> None:
        stream = self._posts.pop(request_id, None)
        if stream is not None:
            stream.put(line)
            stream.end()

    def _stream_for(self, message: Mapping[str, Any]) -> _Stream | None:
        """Where a message of the server's own belongs; None holds it until the GET stream opens."""
        method, params = message["method"], message.get("params") or {}
        if method == "notifications/progress":
            return self._posts.get(self._progress.get(str(params.get("progressToken")), ""))
        subscription = (params.get("_meta") or {}).get(SUBSCRIPTION_ID_META_KEY)
        if subscription is not None:
            return self._posts.get(str(subscription))
        newest = next(reversed(self._posts.values()), None)
        if "id" in message or method == "notifications/message":
            return newest or self._get
        return self._get or (newest if newest is not None and newest.modern else None)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Write the request to the child; answer with the stream on which its messages will come.

        Raises:
            httpx2.ConnectError: When the child has ended.
        """
        await request.aread()
        if self._gone:
            raise httpx2.ConnectError(f"the stdio server {self.name} has ended", request=request)
        if request.method == "POST":
            return await self._post(request)
        if request.method == "GET":
            return self._open_get()
        if request.method == "DELETE":
            if self._get is not None:
                self._get.end()
            return httpx2.Response(200)
        return httpx2.Response(405)

    async def _post(self, request: httpx2.Request) -> httpx2.Response:
        message = orjson.loads(request.content)
        if "method" not in message or "id" not in message:
            await self._write(request.content)
            return httpx2.Response(202)
        request_id = str(message["id"])
        modern = request.headers.get("mcp-protocol-version") in MODERN_PROTOCOL_VERSIONS
        stream = self._posts[request_id] = _Stream(self, message["id"], modern=modern)
        token = ((message.get("params") or {}).get("_meta") or {}).get("progressToken")
        if token is not None:
            self._progress[str(token)] = request_id
        try:
            await self._write(request.content)
        except BaseException:
            await stream.aclose()
            raise
        return httpx2.Response(
            200, headers=_sse_headers(session=message["method"] == "initialize"), stream=stream
        )

    def _open_get(self) -> httpx2.Response:
        self._get = stream = _Stream(self)
        for line in self._held:
            stream.put(line)
        self._held.clear()
        return httpx2.Response(200, headers=_sse_headers(session=False), stream=stream)

    async def _write(self, body: bytes) -> None:
        line = body if b"\n" not in body else orjson.dumps(orjson.loads(body))
        try:
            async with self._writing:
                await self._stdin.send(line + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as error:
            raise httpx2.ConnectError(f"the stdio server {self.name} takes no more input") from error

    async def abandon(self, stream: _Stream) -> None:
        """A client closed a stream: since 2026-07-28 that cancels the request, which stdio spells out."""
        if stream is self._get:
            self._get = None
        key = str(stream.request_id)
        if self._posts.get(key) is not stream:
            return
        del self._posts[key]
        if stream.modern and not self._gone:
            cancel = {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": stream.request_id},
            }
            with suppress(httpx2.ConnectError), anyio.CancelScope(shield=True):
                await self._write(orjson.dumps(cancel))


@asynccontextmanager
async def stdio_bridge(
    name: str,
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
) -> AsyncIterator[StdioBridge]:
    """Start a stdio server and yield the transport that reaches it; on exit the server is stopped.

    Args:
        name: Part of the address in the recording.
        command: Program and arguments.
        env: Set in addition to the few variables that MCP clients pass on.
        cwd: Folder to start in.

    Raises:
        StdioServerError: When the program cannot be started.
    """
    try:
        process = await anyio.open_process(
            list(command),
            stderr=None,
            env=get_default_environment() | dict(env or {}),
            cwd=cwd,
            start_new_session=True,
        )
    except OSError as error:
        raise StdioServerError.unstarted(name, error) from error
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise StdioServerError(name, "was started without pipes")
    bridge = StdioBridge(name, stdin)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bridge.pump, stdout)
        try:
            yield bridge
        finally:
            with anyio.CancelScope(shield=True):
                await _stop(process)
            tasks.cancel_scope.cancel()


def _sse_headers(*, session: bool) -> dict[str, str]:
    headers = {"content-type": "text/event-stream"}
    return headers | {"mcp-session-id": _SESSION_ID} if session else headers


async def _lines(stdout: ByteReceiveStream) -> AsyncIterator[bytes]:
    """Whole lines of any length."""
    parts: list[bytes] = []
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async for chunk in stdout:
            *ended, rest = chunk.split(b"\n")
            for end in ended:
                line = b"".join([*parts, end]).strip()
                parts.clear()
                if line:
                    yield line
            if rest:
                parts.append(rest)


async def _stop(process: Process) -> None:
    """Close its input, and where that is not enough end the whole process group."""
    if process.stdin is not None:
        with suppress(anyio.BrokenResourceError, OSError):
            await process.stdin.aclose()
    for number in (signal.SIGTERM, signal.SIGKILL):
        with anyio.move_on_after(_GRACE_SECONDS):
            await process.wait()
        if process.returncode is not None:
            break
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
    with anyio.move_on_after(_GRACE_SECONDS):
        await process.aclose()

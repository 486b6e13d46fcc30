"""What passes between an MCP host and its stdio server, recorded as the bridge records it.

The bridge does the work: every line of the host is a POST to it, every line of the server goes where the
bridge puts it. Nothing that is recorded here travels any further.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import anyio
import httpx2
import orjson
from anyio.abc import ByteSendStream, TaskGroup
from mcp_types import PROTOCOL_VERSION_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from coldturn.replay.capture.recorder import Recorder
from coldturn.replay.capture.shim import Side
from coldturn.replay.capture.stdio_bridge import StdioBridge
from coldturn.replay.capture.transport import CaptureTransport

_VERSION_HEADER = "mcp-protocol-version"
_SESSION_HEADER = "mcp-session-id"


class _Nowhere(ByteSendStream):
    """Input that the real server has got already."""

    async def send(self, item: bytes) -> None:
        del item

    async def aclose(self) -> None:
        pass


class _Lines:
    """Cuts what comes in pieces into whole lines."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> Iterator[bytes]:
        *ended, rest = data.split(b"\n")
        for end in ended:
            line = b"".join([*self._parts, end]).strip()
            self._parts.clear()
            if line:
                yield line
        if rest:
            self._parts.append(rest)


class StdioTape:
    """Records both directions. `run` goes on until `end`; `feed` never waits."""

    def __init__(self, name: str, recorder: Recorder) -> None:
        """Begin a tape; `name` is part of the address in the recording."""
        self._bridge = StdioBridge(name, _Nowhere())
        self._capture = CaptureTransport(recorder, self._bridge)
        self._send, self._receive = anyio.create_memory_object_stream[tuple[Side, bytes]](math.inf)
        self._lines = {Side.HOST: _Lines(), Side.SERVER: _Lines()}
        self._open: dict[str, anyio.CancelScope] = {}
        self._modern: set[str] = set()
        self._version = ""
        self._handshake: object = None

    def feed(self, side: Side, data: bytes) -> None:
        """Take bytes, in the order in which they passed."""
        self._send.send_nowait((side, data))

    def end(self) -> None:
        """Nothing more will come."""
        self._send.close()

    async def run(self) -> None:
        """Record until the end."""
        async with self._receive, anyio.create_task_group() as tasks:
            async for side, data in self._receive:
                for line in self._lines[side].feed(data):
                    if side is Side.HOST:
                        await self._from_host(line, tasks)
                    else:
                        self._from_server(line)
                    await anyio.lowlevel.checkpoint()
            self._bridge.end()

    def _from_server(self, line: bytes) -> None:
        if self._handshake is not None:
            self._settle_version(_object(line))
        self._bridge.route(line)

    def _settle_version(self, message: Mapping[str, Any]) -> None:
        if "method" in message or message.get("id") != self._handshake:
            return
        self._handshake = None
        result = message.get("result")
        if isinstance(result, dict):
            self._version = str(result.get("protocolVersion", ""))

    async def _from_host(self, line: bytes, tasks: TaskGroup) -> None:
        message = _object(line)
        if not message:
            return  # no JSON-RPC message: it was passed on, and belongs to no exchange
        method = message.get("method")
        if method == "initialize":
            self._handshake = message.get("id")
        cancelled = ""
        if method == "notifications/cancelled":
            cancelled = str(_mapping(message.get("params")).get("requestId"))
        if cancelled not in self._modern:
            await self._exchange("POST", line, self._headers(message), message.get("id"), tasks)
        if method == "notifications/initialized":
            # Where a client over HTTP asks for what belongs to no request.
            await self._exchange("GET", b"", self._headers({}), None, tasks)
        elif scope := self._open.get(cancelled):
            # Since 2026-07-28 a client over HTTP cancels by leaving, and says nothing.
            scope.cancel()

    def _headers(self, message: Mapping[str, Any]) -> dict[str, str]:
        meta = _mapping(_mapping(message.get("params")).get("_meta"))
        version = str(meta.get(PROTOCOL_VERSION_META_KEY) or self._version)
        headers = {"content-type": "application/json"} if message else {}
        if version:
            headers[_VERSION_HEADER] = version
        if self._version:
            headers[_SESSION_HEADER] = self._bridge.session_id
        return headers

    async def _exchange(
        self, method: str, body: bytes, headers: Mapping[str, str], request_id: object, tasks: TaskGroup
    ) -> None:
        request = httpx2.Request(method, self._bridge.url, headers=dict(headers), content=body)
        response = await self._capture.handle_async_request(request)
        if headers.get(_VERSION_HEADER) in MODERN_PROTOCOL_VERSIONS:
            self._modern.add(str(request_id))
        tasks.start_soon(self._read, response, str(request_id))

    async def _read(self, response: httpx2.Response, key: str) -> None:
        """Read an answer to its end, or until the host cancels its request."""
        with anyio.CancelScope() as scope:
            self._open[key] = scope
            if isinstance(response.stream, httpx2.AsyncByteStream):
                async for _ in response.stream:
                    pass
        if self._open.get(key) is scope:
            del self._open[key]
            self._modern.discard(key)
        await response.aclose()


def _object(line: bytes) -> Mapping[str, Any]:
    try:
        return _mapping(orjson.loads(line))
    except orjson.JSONDecodeError:
        return {}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}

"""MCP client transports that record: what a connection of the runtime, or any MCP client, talks through."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client

from coldturn.replay.capture.recorder import Recorder
from coldturn.replay.capture.stdio_bridge import stdio_bridge
from coldturn.replay.capture.transport import CaptureTransport


@asynccontextmanager
async def over_http(url: str, transport: httpx2.AsyncBaseTransport) -> AsyncIterator[Any]:
    """The real streamable HTTP client over `transport`; yields MCP's pair of streams.

    No limit on the size of an event: results are recorded and logged whole.
    """
    async with (
        httpx2.AsyncClient(transport=transport, timeout=None) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=None) as streams,
    ):
        yield streams


class BearerTransport(httpx2.AsyncBaseTransport):
    """Sends a token with every request. It stands behind a recording transport, which never sees it."""

    def __init__(self, token: str, inner: httpx2.AsyncBaseTransport | None = None) -> None:
        self._token = token
        self._inner = inner or httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send, with the token."""
        request.headers["authorization"] = f"Bearer {self._token}"
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the real transport."""
        await self._inner.aclose()


def captured_http(recorder: Recorder, url: str) -> Transport:
    """A transport to a server at `url` that records into `recorder`; serves one session."""
    return over_http(url, CaptureTransport(recorder))


def captured_stdio(
    recorder: Recorder,
    name: str,
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
) -> Transport:
    """A transport to a stdio server that is started for the session and recorded into `recorder`.

    Args:
        recorder: Takes the traffic.
        name: Part of the recorded address, ``http://stdio.NAME.invalid/mcp``.
        command: Program and arguments.
        env: Set in addition to the few variables that MCP clients pass on.
        cwd: Folder to start in.
    """

    @asynccontextmanager
    async def connected() -> AsyncIterator[Any]:
        async with (
            stdio_bridge(name, command, env=env, cwd=cwd) as bridge,
            over_http(bridge.url, CaptureTransport(recorder, bridge)) as streams,
        ):
            yield streams

    return connected()

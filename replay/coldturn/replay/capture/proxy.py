"""A recording reverse proxy on this machine: provider APIs and MCP servers, streaming kept.

It answers on 127.0.0.1 only and refuses any other ``Host``, so that no web page reaches it through a name of
its own. Bodies pass unchanged both ways; of the headers, only those of a single connection are its own. It
logs neither bodies nor headers nor query strings.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TypeAlias
from urllib.parse import urlsplit

import anyio
import httpx2
import uvicorn
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from coldturn.replay.capture.recorder import Recorder
from coldturn.replay.capture.transport import CaptureTransport
from coldturn.replay.capture.upstreams import Upstream, choose
from coldturn.replay.errors import PortInUseError

LOOPBACK = "127.0.0.1"
HOSTS = (LOOPBACK, "localhost")

_CONNECT_SECONDS = 30.0
_IDLE_SECONDS = 600  # longer than any client keeps a connection, so that the client closes it
_GRACE_SECONDS = 1
_LAST_SECONDS = 5.0
_MAX_HEAD_BYTES = 1_048_576

# RFC 9110, section 7.6.1, with the older proxy headers.
_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)

RawHeaders: TypeAlias = list[tuple[bytes, bytes]]


class ProxyApp:
    """The ASGI application."""

    def __init__(
        self,
        recorder: Recorder,
        upstreams: Sequence[Upstream],
        notice: Callable[[str], None],
        inner: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        """Stand in front of servers.

        Args:
            recorder: Takes every finished exchange.
            upstreams: The servers.
            notice: Told in a sentence when a server does not answer.
            inner: The real transport.
        """
        # A connection per request: one that the server closes just before it is used again would be an
        # error that the agent does not have without us.
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        self._inner = inner or httpx2.AsyncHTTPTransport(limits=limits)
        self._transports = {
            upstream: CaptureTransport(recorder, self._inner, server=upstream.label, as_is=True)
            for upstream in upstreams
        }
        self._notice = notice
        self._running = 0
        self._idle = anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        with self._counted():
            await self._answer(Request(scope, receive), send)

    async def settle(self) -> None:
        """Wait until every exchange has come to its end, then close the connections."""
        with anyio.move_on_after(_LAST_SECONDS):
            while self._running:
                await self._idle.wait()
        await self._inner.aclose()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            self._idle.set()
            self._idle = anyio.Event()

    async def _answer(self, request: Request, send: Send) -> None:
        path = request.scope["raw_path"].decode("latin-1")
        upstream = choose(self._transports, path)
        if _is_of_a_web_page(request):
            await _say(request, send, 403, "web pages may not use the proxy")
        elif "upgrade" in request.headers:
            # Clients that try WebSockets first (Codex) fall back at once on this status.
            await _say(request, send, 426, "coldturn record proxy speaks plain HTTP only", close=True)
        elif upstream is None:
            names = ", ".join(one.prefix for one in self._transports)
            await _say(request, send, 404, f"no upstream has this path; there are {names}")
        else:
            try:
                body = await request.body()
            except ClientDisconnect:
                return
            try:
                outgoing = _outgoing(request, upstream, path, body)
            except httpx2.InvalidURL:
                await _say(request, send, 400, "the path is no valid address")
                return
            await self._pass_on(request, upstream, outgoing, send)

    async def _pass_on(
        self, request: Request, upstream: Upstream, outgoing: httpx2.Request, send: Send
    ) -> None:
        """Send the request and hand the answer on, until it ends or the client has gone."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_when_gone, request.receive, tasks.cancel_scope)
            try:
                response = await self._transports[upstream].handle_async_request(outgoing)
            except httpx2.HTTPError as error:
                sentence = f"{upstream.url} does not answer: {_reason(error)}"
                self._notice(sentence)
                await _say(request, send, 502, sentence)
            else:
                await self._stream(upstream, response, send)
            tasks.cancel_scope.cancel()

    async def _stream(self, upstream: Upstream, response: httpx2.Response, send: Send) -> None:
        headers = _end_to_end(response.headers.raw)
        await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
        try:
            async for part in _raw(response):
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        except httpx2.HTTPError as error:
            # Without its end the response breaks off for the client as it did for us.
            self._notice(f"{upstream.url} broke off: {_reason(error)}")
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()


async def _raw(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The body as it comes over the wire, still packed."""
    if isinstance(response.stream, httpx2.AsyncByteStream):
        async for part in response.stream:
            yield part


async def _cancel_when_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _say(request: Request, send: Send, status: int, sentence: str, *, close: bool = False) -> None:
    response = PlainTextResponse(
        f"coldturn: {sentence}\n", status, {"connection": "close"} if close else None
    )
    await response(request.scope, request.receive, send)


def _is_of_a_web_page(request: Request) -> bool:
    """Whether a browser sent it for a page from elsewhere: such requests pass the check of `Host`."""
    origin = urlsplit(request.headers.get("origin", ""))
    return origin.scheme in ("http", "https") and origin.hostname not in HOSTS


def _outgoing(request: Request, upstream: Upstream, path: str, body: bytes) -> httpx2.Request:
    url = upstream.target(path, request.scope["query_string"].decode("latin-1"))
    own = (b"host", b"content-length", b"expect")
    headers = [pair for pair in _end_to_end(request.headers.raw) if pair[0].lower() not in own]
    outgoing = httpx2.Request(
        request.method,
        url,
        headers=headers,
        content=body if body or "content-length" in request.headers else None,
        extensions={"timeout": {"connect": _CONNECT_SECONDS, "read": None, "write": None, "pool": None}},
    )
    # The address as the client spelt it: a parser may quote some characters anew.
    outgoing.extensions["target"] = b"/" + url.split("://", 1)[1].partition("/")[2].encode("latin-1")
    return outgoing


def _end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> RawHeaders:
    """Headers without those that concern one connection only, in order."""
    pairs = list(headers)
    named = {
        name.strip().lower()
        for key, value in pairs
        if key.lower() == b"connection"
        for name in value.split(b",")
    }
    return [pair for pair in pairs if pair[0].lower() not in _HOP_BY_HOP | named]


def _reason(error: httpx2.HTTPError) -> str:
    return str(error) or type(error).__name__


class _Server(uvicorn.Server):
    """Signals are the command's, which has more to end than the server."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listen(port: int = 0) -> socket.socket:
    """Take a port of 127.0.0.1; 0 takes any that is free.

    Raises:
        PortInUseError: Somebody listens there already.
    """
    # Named as TCP, or asyncio leaves Nagle's algorithm on and every part of a stream waits 40 ms.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise PortInUseError(port) from error
    return listening


@asynccontextmanager
async def open_proxy(
    listening: socket.socket,
    recorder: Recorder,
    upstreams: Sequence[Upstream],
    *,
    notice: Callable[[str], None],
    inner: httpx2.AsyncBaseTransport | None = None,
) -> AsyncIterator[str]:
    """Serve on 127.0.0.1 and yield the address; on exit everything that was under way is recorded.

    Args:
        listening: Of `listen`; is closed at the end.
        recorder: Stays open; the caller closes it.
        upstreams: The servers.
        notice: Told in a sentence when a server does not answer.
        inner: The real transport.
    """
    app = ProxyApp(recorder, upstreams, notice, inner)
    with listening:
        config = uvicorn.Config(
            TrustedHostMiddleware(app, allowed_hosts=HOSTS, www_redirect=False),
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=_IDLE_SECONDS,
            timeout_graceful_shutdown=_GRACE_SECONDS,
            h11_max_incomplete_event_size=_MAX_HEAD_BYTES,
        )
        server = _Server(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listening])
            try:
                yield f"http://{LOOPBACK}:{listening.getsockname()[1]}"
            finally:
                server.should_exit = True
                with anyio.CancelScope(shield=True):
                    await app.settle()

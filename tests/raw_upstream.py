"""An HTTP server that keeps every byte it gets and answers with bytes that a test lays down."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.abc import SocketAttribute, SocketStream

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


@dataclass
class RawUpstream:
    """What was asked.

    Attributes:
        answers: One for each request, in parts; between two parts `pause` is awaited.
        requests: Head and body of each, as they came.
        gone: Set when a client went before the answer ended.
    """

    answers: Sequence[Sequence[bytes]]
    pause: Callable[[], Awaitable[None]] | None = None
    url: str = ""
    requests: list[tuple[bytes, bytes]] = field(default_factory=list)
    gone: anyio.Event = field(default_factory=anyio.Event)

    async def handle(self, stream: SocketStream) -> None:
        """Serve one connection, for one request."""
        async with stream:
            data = b""
            while b"\r\n\r\n" not in data:
                data += await stream.receive()
            head, _, body = data.partition(b"\r\n\r\n")
            length = _LENGTH.search(head)
            while length and len(body) < int(length[1]):
                body += await stream.receive()
            self.requests.append((head, body))
            try:
                await self._answer(stream, self.answers[len(self.requests) - 1])
            except (anyio.BrokenResourceError, anyio.EndOfStream):
                self.gone.set()

    async def _answer(self, stream: SocketStream, parts: Sequence[bytes]) -> None:
        for number, part in enumerate(parts):
            if number and self.pause:
                await self.pause()
            await stream.send(part)


@asynccontextmanager
async def raw_upstream(
    *answers: Sequence[bytes], pause: Callable[[], Awaitable[None]] | None = None
) -> AsyncIterator[RawUpstream]:
    """Serve on 127.0.0.1."""
    upstream = RawUpstream(answers, pause)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    upstream.url = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}"  # noqa: S610 - it is anyio, not Django
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, upstream.handle)
        yield upstream
        tasks.cancel_scope.cancel()


def head(*lines: str, status: str = "200 OK") -> bytes:
    """The head of an answer that ends with its connection."""
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "connection: close", "", ""]).encode()

"""Record traffic while it streams: httpx2 transports that stand in front of the real ones.

They are passed to MCP and provider clients explicitly (``httpx2.AsyncClient(transport=...)``); nothing is
patched. Every part of a response is handed on as it arrives and kept; when the response ends, is closed early
or breaks off, what has arrived is recorded.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator

import httpx2
from vcr.request import Request as RecordedRequest

from coldturn.replay.capture.headers import kept_headers
from coldturn.replay.capture.recorder import Recorder
from coldturn.replay.capture.timing import TIMING_KEY, Timing
from coldturn.replay.capture.unpacking import READABLE, Unpacker, unpacked_body

logger = logging.getLogger(__name__)


class _Pending:
    """One interaction under way."""

    def __init__(self, recorder: Recorder, request: httpx2.Request, server: str) -> None:
        self._recorder = recorder
        self._server = server
        recorder.redaction.learn(request.headers.multi_items())
        encoding = request.headers.get("content-encoding", "")
        body, self._left_out = unpacked_body(request.content, encoding)
        self._request = RecordedRequest(
            request.method,
            str(request.url),
            body,
            _first(kept_headers(request.headers.multi_items())),
        )
        self._seq = recorder.next_seq()
        self._start_ns = recorder.clock.time_ns()
        self._unpacker = Unpacker("")
        self._parts: list[bytes] = []
        self._chunks: list[tuple[float, int]] = []
        self._done = False

    def answered(self, response: httpx2.Response) -> None:
        self._unpacker = Unpacker(response.headers.get("content-encoding", ""))

    def part(self, data: bytes) -> None:
        if kept := self._unpacker.part(data):
            self._chunks.append((self._elapsed(), len(kept)))
            self._parts.append(kept)

    def finish(self, response: httpx2.Response) -> None:
        if self._done:
            return
        self._done = True
        if problem := self._unpacker.problem:
            self._parts, self._chunks = [], []
            self._left_out = self._left_out or problem
        if self._left_out:
            logger.warning("a body was left out of the recording: %s", self._left_out)
        self._recorder.append(
            self._request,
            {
                "status": {"code": response.status_code, "message": response.reason_phrase},
                "headers": kept_headers(response.headers.multi_items()),
                "body": {"string": b"".join(self._parts)},
                TIMING_KEY: self._timing().to_dict(),
            },
        )

    def _elapsed(self) -> float:
        # The machine's clock may be set back meanwhile.
        return round(max(0, self._recorder.clock.time_ns() - self._start_ns) / 1e9, 6)

    def _timing(self) -> Timing:
        start = round(self._start_ns / 1e9, 6)
        end = round(start + self._elapsed(), 6)
        return Timing(self._seq, start, end, tuple(self._chunks), self._server, self._left_out)


def _first(headers: dict[str, list[str]]) -> dict[str, str]:
    return {name: values[0] for name, values in headers.items()}


def _accepted(request: httpx2.Request) -> str:
    """What the client accepts, without what we could not unpack."""
    named = request.headers.get("accept-encoding", "").split(",")
    kept = [one.strip() for one in named if one.split(";")[0].strip().lower() in READABLE]
    return ", ".join(kept) or "identity"


class _AsyncTee(httpx2.AsyncByteStream):
    def __init__(self, response: httpx2.Response, pending: _Pending) -> None:
        self._response = response
        self._pending = pending

    async def __aiter__(self) -> AsyncIterator[bytes]:
        stream = self._response.stream
        if not isinstance(stream, httpx2.AsyncByteStream):
            raise TypeError("an async transport answered with a sync stream")
        try:
            async for part in stream:
                self._pending.part(part)
                yield part
        finally:
            self._pending.finish(self._response)

    async def aclose(self) -> None:
        self._pending.finish(self._response)
        if isinstance(self._response.stream, httpx2.AsyncByteStream):
            await self._response.stream.aclose()


class _Tee(httpx2.SyncByteStream):
    def __init__(self, response: httpx2.Response, pending: _Pending) -> None:
        self._response = response
        self._pending = pending

    def __iter__(self) -> Iterator[bytes]:
        stream = self._response.stream
        if not isinstance(stream, httpx2.SyncByteStream):
            raise TypeError("a sync transport answered with an async stream")
        try:
            for part in stream:
                self._pending.part(part)
                yield part
        finally:
            self._pending.finish(self._response)

    def close(self) -> None:
        self._pending.finish(self._response)
        if isinstance(self._response.stream, httpx2.SyncByteStream):
            self._response.stream.close()


def _handed_on(response: httpx2.Response, stream: _AsyncTee | _Tee, pending: _Pending) -> httpx2.Response:
    pending.answered(response)
    return httpx2.Response(
        response.status_code, headers=response.headers, stream=stream, extensions=response.extensions
    )


class CaptureTransport(httpx2.AsyncBaseTransport):
    """Sends through `inner` and records into `recorder`.

    It asks upstream for uncompressed answers; `as_is` keeps the client's wish, as far as we can unpack what
    comes then. Bodies are stored unpacked.
    """

    def __init__(
        self,
        recorder: Recorder,
        inner: httpx2.AsyncBaseTransport | None = None,
        *,
        server: str = "",
        as_is: bool = False,
    ) -> None:
        """Stand in front of a transport.

        Args:
            recorder: Takes what is sent and answered.
            inner: The real transport.
            server: A label that entries carry.
            as_is: Leave ``accept-encoding`` to the client.
        """
        self._recorder = recorder
        self._server = server
        self._as_is = as_is
        self._inner = inner or httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send, and hand the response on while it is recorded."""
        await request.aread()
        request.headers["accept-encoding"] = _accepted(request) if self._as_is else "identity"
        pending = _Pending(self._recorder, request, self._server)
        response = await self._inner.handle_async_request(request)
        return _handed_on(response, _AsyncTee(response, pending), pending)

    async def aclose(self) -> None:
        """Close the real transport; the recorder stays open for others."""
        await self._inner.aclose()


class SyncCaptureTransport(httpx2.BaseTransport):
    """`CaptureTransport` for sync clients."""

    def __init__(self, recorder: Recorder, inner: httpx2.BaseTransport | None = None) -> None:
        self._recorder = recorder
        self._inner = inner or httpx2.HTTPTransport()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send, and hand the response on while it is recorded."""
        request.read()
        request.headers["accept-encoding"] = "identity"
        pending = _Pending(self._recorder, request, "")
        response = self._inner.handle_request(request)
        return _handed_on(response, _Tee(response, pending), pending)

    def close(self) -> None:
        """Close the real transport; the recorder stays open for others."""
        self._inner.close()

"""The live model: posts exactly the bytes it is given, shows text as it comes, decodes the whole reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

import httpx2
import msgspec

from coldturn.reference.live.deltas import TextDeltas
from coldturn.reference.live.endpoint import Endpoint
from coldturn.reference.live.errors import (
    DroppedReplyError,
    ProviderStatusError,
    ProviderUnreachableError,
)
from coldturn.reference.live.retries import Retries, retry_after
from coldturn.reference.model import ModelRequest
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire import decode_reply
from coldturn.reference.wire.model import Reply, Setting
from coldturn.reference.wire.replies.common import ErrorBody
from coldturn.reference.wire.replies.sse import is_event_stream

_TIMEOUT = httpx2.Timeout(30.0, read=600.0)
"""A model may think for minutes before it says a word."""

_UNFINISHED = frozenset({None, "queued", "in_progress"})
"""How a reply ended that did not: the last word of a stream that was cut off."""


def streaming_settings(surface: Surface) -> Mapping[str, Setting]:
    """Members that ask a surface to stream, with usage; the Run takes them, so that they are in its bytes."""
    if surface is Surface.CHAT_COMPLETIONS:
        return {"stream": True, "stream_options": {"include_usage": True}}
    return {"stream": True}


def open_client(transport: httpx2.AsyncBaseTransport | None = None) -> httpx2.AsyncClient:
    """Make a client with a model's time limits.

    Args:
        transport: Carries the requests, for example one that records; by default the network, by way of the
            proxy that the environment names.
    """
    return httpx2.AsyncClient(transport=transport, timeout=_TIMEOUT)


class LiveModel:
    """Answers requests over the network.

    A request is repeated only where nothing can have been answered: no connection, or a status that says so.

    Args:
        endpoint: Where to.
        client: Carries the requests; its owner closes it.
        on_text: Called with text of the reply as it comes.
        on_wait: Called with a failure that is made good by waiting, and the seconds.
        retries: How often and how patiently.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        client: httpx2.AsyncClient,
        *,
        on_text: Callable[[str], None] | None = None,
        on_wait: Callable[[ColdturnError, float], None] | None = None,
        retries: Retries | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._client = client
        self._on_text = on_text
        self._on_wait = on_wait
        self._retries = retries or Retries()

    async def respond(self, request: ModelRequest) -> Reply:
        """Post the request's bytes and return the reply.

        Raises:
            ProviderUnreachableError: No connection came about.
            ProviderStatusError: The provider refused.
            DroppedReplyError: The reply broke off.
            ProviderError: The provider reported an error inside its reply.
            UnreadableReplyError: What came is no reply of this surface.
        """
        attempt = 0
        while True:
            try:
                return await self._ask(request.body)
            except (ProviderStatusError, ProviderUnreachableError) as error:
                wait = self._retries.wait_after(error, attempt)
                if wait is None:
                    raise
                if self._on_wait is not None:
                    self._on_wait(error, wait)
            await self._retries.sleep(wait)
            attempt += 1

    async def _ask(self, body: bytes) -> Reply:
        url, headers = self._endpoint.url, dict(self._endpoint.headers)
        received: list[bytes] = []
        try:
            async with self._client.stream("POST", url, content=body, headers=headers) as response:
                if response.is_success:
                    return await self._read(response, received)
                with suppress(httpx2.RequestError):
                    await response.aread()
                    received.append(response.content)
                raise self._refusal(response, b"".join(received))
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise ProviderUnreachableError(url, _reason(error), self._endpoint.base_variable) from error
        except httpx2.RequestError as error:
            raise DroppedReplyError(url, sum(map(len, received)), _reason(error)) from error

    async def _read(self, response: httpx2.Response, received: list[bytes]) -> Reply:
        surface, content_type = self._endpoint.surface, response.headers.get("content-type", "")
        deltas = TextDeltas(surface)
        async for part in response.aiter_bytes():
            received.append(part)
            self._show(deltas.feed(part))
        body = self._without_key(b"".join(received))
        reply = decode_reply(surface, body, content_type)
        if not is_event_stream(body, content_type):
            self._show(reply.text)
        elif reply.finish_reason in _UNFINISHED:
            raise DroppedReplyError(self._endpoint.url, len(body), "the stream ended without saying so")
        return reply

    def _show(self, text: str) -> None:
        if text and self._on_text is not None:
            self._on_text(text)

    def _refusal(self, response: httpx2.Response, body: bytes) -> ProviderStatusError:
        return ProviderStatusError(
            self._endpoint.url,
            response.status_code,
            _said(self._without_key(body)),
            self._advice(response.status_code),
            retry_after=retry_after(response.headers),
        )

    def _advice(self, status: int) -> str:
        match status:
            case 401 | 403:
                return f"check the key in {self._endpoint.key_variable} and what it may do"
            case 404 | 405 | 301 | 302 | 307 | 308:
                return f"check {self._endpoint.base_variable}, and the Spec's surface and model"
            case 429:
                return "wait before you go on, or raise the limits of the account"
            case _ if status >= 500:
                return "the trouble is the provider's: try again later"
            case _:
                return "the request was refused: mend what the provider names"

    def _without_key(self, body: bytes) -> bytes:
        """Providers repeat a key that they refuse; ours ends up in no error, log or reply."""
        key = self._endpoint.key.encode()
        return body.replace(key, b"*" * len(key)) if len(key) >= _SHORTEST_SECRET else body


_SHORTEST_SECRET = 8
"""Shorter values are placeholders such as ``none``, and stand in ordinary text."""


def _said(body: bytes) -> str:
    """The provider's own words: its error message, else the body as it is."""
    try:
        error = msgspec.json.decode(body, type=ErrorBody).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        error = None
    if isinstance(error, str):
        return error
    if error is not None and error.message:
        return error.message
    return body.decode("utf-8", "replace")


def _reason(error: httpx2.RequestError) -> str:
    text = " ".join(str(error).split())
    return text or type(error).__name__

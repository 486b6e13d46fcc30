"""Server-sent events of a response that has been read to its end."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2

_URL = "http://recorded.invalid/"


def is_event_stream(body: bytes, content_type: str) -> bool:
    """Tell whether `body` is an event stream; recordings that lost the content type are recognised too."""
    if content_type.partition(";")[0].strip().lower() == "text/event-stream":
        return True
    return body.lstrip().startswith((b"data:", b"event:", b"id:", b": "))


def event_data(body: bytes) -> Iterator[str]:
    """Yield the data of each event, without the ``[DONE]`` that ends OpenAI's streams.

    Many recordings lost the empty line behind the last event, so one is added: a cut-off event is yielded as
    far as it goes.
    """
    response = httpx2.Response(
        200,
        headers={"content-type": "text/event-stream"},
        content=body + b"\n\n",
        request=httpx2.Request("POST", _URL),
    )
    for event in httpx2.EventSource(response, max_event_size=None):
        if event.data and event.data != "[DONE]":
            yield event.data

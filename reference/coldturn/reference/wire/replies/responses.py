"""Replies of OpenAI Responses, whole and streamed."""

from __future__ import annotations

from typing import Any

import msgspec

from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire.model import Reply, ToolCall, Usage
from coldturn.reference.wire.replies.common import (
    ErrorObject,
    count_of,
    decode_as,
    decode_events,
    raise_error,
    raw_text,
)
from coldturn.reference.wire.replies.diagnosis import of_openai

_SURFACE = Surface.RESPONSES


class _Part(msgspec.Struct):
    type: str | None = None
    text: str | None = None
    refusal: str | None = None


class _Item(msgspec.Struct):
    type: str | None = None
    content: list[_Part] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: Any = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct, kw_only=True):
    """As an event of a stream may hold it: llama.cpp begins with one that has no output yet."""

    output: list[_Item] = []
    id: str | None = None
    model: str | None = None
    status: str | None = None
    usage: dict[str, Any] | None = None
    error: ErrorObject | None = None
    incomplete_details: _Incomplete | None = None
    prompt_cache_diagnostics: Any = None
    prompt_cache_options: Any = None


class _Whole(_Response, kw_only=True):
    output: list[_Item]


class _Event(msgspec.Struct):
    type: str
    response: _Response | None = None
    item: _Item | None = None
    output_index: int = 0
    message: str | None = None
    code: str | None = None


def decode_body(body: bytes) -> Reply:
    """Decode a reply that came in one piece.

    Raises:
        ProviderError: The body is an error object, or a response that failed.
        UnreadableReplyError: The body is no response.
    """
    return _reply(decode_as(_Whole, body, _SURFACE))


def decode_stream(body: bytes) -> Reply:
    """Put a streamed reply together.

    The event that ends a stream repeats the whole response; in a stream that was cut off, or on servers that
    leave the output out there, the items that were done count.

    Raises:
        ProviderError: The stream holds an error, or a response that failed.
        UnreadableReplyError: An event is no Responses event.
    """
    response = _Response(output=[])
    done: dict[int, _Item] = {}
    for event in decode_events(_Event, body, _SURFACE):
        if event.type == "error":
            raise_error(ErrorObject(code=event.code, message=event.message), _SURFACE)
        if event.response is not None:
            response = event.response
        if event.type == "response.output_item.done" and event.item is not None:
            done[event.output_index] = event.item
    if not response.output:
        response.output = [done[index] for index in sorted(done)]
    return _reply(response)


def _reply(response: _Response) -> Reply:
    raise_error(response.error, _SURFACE)
    texts: list[str] = []
    calls: list[ToolCall] = []
    for item in response.output:
        if item.type == "message":
            texts.extend(part.text or part.refusal or "" for part in item.content or ())
        elif item.type == "function_call":
            calls.append(ToolCall(id=item.call_id or "", name=item.name or "", arguments=_arguments(item)))
    reason = response.incomplete_details.reason if response.incomplete_details else None
    return Reply(
        text="".join(texts),
        calls=tuple(calls),
        usage=_usage(response.usage),
        response_id=response.id,
        model=response.model,
        finish_reason=reason or response.status,
        diagnosis=of_openai(response.prompt_cache_diagnostics, response.prompt_cache_options),
    )


def _arguments(item: _Item) -> str:
    if item.arguments is None:
        return "{}"
    return (item.arguments or "{}") if isinstance(item.arguments, str) else raw_text(item.arguments)


def _usage(reported: dict[str, Any] | None) -> Usage | None:
    """Normalise: cached and written tokens are parts of ``input_tokens``."""
    if reported is None:
        return None
    details = reported.get("input_tokens_details")
    return Usage(
        input_tokens=count_of(reported, "input_tokens"),
        output_tokens=count_of(reported, "output_tokens"),
        cache_read_tokens=count_of(details, "cached_tokens"),
        cache_write_tokens=count_of(details, "cache_write_tokens"),
        raw=raw_text(reported),
    )

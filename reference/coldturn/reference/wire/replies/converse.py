"""Replies of Bedrock's Converse and ConverseStream, and of Nova's invoke, which says the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire.errors import ProviderError
from coldturn.reference.wire.model import Reply, ToolCall, Usage
from coldturn.reference.wire.replies.common import (
    add_known,
    as_sent,
    count_of,
    decode_as,
    decode_events,
    first_count,
    raw_text,
    sent_text,
)
from coldturn.reference.wire.replies.event_stream import chunk_of, events

_SURFACE = Surface.CONVERSE


class _Use(msgspec.Struct, rename="camel"):
    tool_use_id: str | None = None
    name: str | None = None
    input: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    tool_use: _Use | None = None


class _Message(msgspec.Struct, rename="camel"):
    content: list[_Part] = []


class _Output(msgspec.Struct, rename="camel"):
    message: _Message | None = None


class _Whole(msgspec.Struct, rename="camel"):
    output: _Output | None = None
    stop_reason: str | None = None
    usage: dict[str, Any] | None = None
    message: str | None = None
    """An error's, which stands alone."""


class _Event(msgspec.Struct, rename="camel"):
    """The payload of any event of a stream."""

    content_block_index: int = 0
    start: _Part | None = None
    delta: _Part | None = None
    stop_reason: str | None = None
    usage: dict[str, Any] | None = None


class _Named(msgspec.Struct, rename="camel"):
    """An event as Nova's own stream has it: under its name."""

    content_block_start: _Event | None = None
    content_block_delta: _Event | None = None
    message_stop: _Event | None = None
    metadata: _Event | None = None


def decode_body(body: bytes) -> Reply:
    """Decode a reply that came in one piece.

    Raises:
        ProviderError: The body is an error.
        UnreadableReplyError: The body is no reply of Converse.
    """
    whole = decode_as(_Whole, body, _SURFACE)
    if whole.output is None:
        raise ProviderError(_SURFACE, "error", whole.message or "no output")
    parts = whole.output.message.content if whole.output.message is not None else []
    calls = [part.tool_use for part in parts if part.tool_use is not None]
    return Reply(
        text="".join(part.text or "" for part in parts),
        calls=tuple(_call(call, _input(call)) for call in calls),
        usage=_usage(whole.usage),
        finish_reason=whole.stop_reason,
    )


def decode_event_stream(body: bytes) -> Reply:
    """Put the events of ConverseStream together, or those of Nova's invoke-with-response-stream.

    Raises:
        ProviderError: The stream holds an exception.
        UnreadableReplyError: The stream is damaged, or an event is none of Converse.
    """
    return _together(_converse_events(body))


def decode_stream(body: bytes) -> Reply:
    """Put a stream of server-sent events together whose data are events of Converse under their names.

    Raises:
        ProviderError: The stream holds an error.
        UnreadableReplyError: An event is none of Converse.
    """
    return _together(event for named in decode_events(_Named, body, _SURFACE) for event in _of(named))


def _converse_events(body: bytes) -> Iterator[_Event]:
    for kind, payload in events(body, _SURFACE):
        if kind == "chunk":
            yield from _of(decode_as(_Named, chunk_of(payload, _SURFACE), _SURFACE))
        else:
            yield decode_as(_Event, payload, _SURFACE)


def _of(named: _Named) -> Iterator[_Event]:
    for event in (named.content_block_start, named.content_block_delta, named.message_stop, named.metadata):
        if event is not None:
            yield event


def _together(found: Iterator[_Event]) -> Reply:
    texts: list[str] = []
    calls: dict[int, _Use] = {}
    arguments: dict[int, list[str]] = {}
    finish_reason, usage = None, None
    for event in found:
        finish_reason = event.stop_reason or finish_reason
        usage = event.usage or usage
        if event.start is not None and event.start.tool_use is not None:
            calls[event.content_block_index] = event.start.tool_use
        if event.delta is not None:
            texts.append(event.delta.text or "")
            if event.delta.tool_use is not None:
                arguments.setdefault(event.content_block_index, []).append(_fragment(event.delta.tool_use))
    return Reply(
        text="".join(texts),
        calls=tuple(
            _call(call, "".join(arguments.get(index, ())) or "{}") for index, call in sorted(calls.items())
        ),
        usage=_usage(usage),
        finish_reason=finish_reason,
    )


def _call(use: _Use, arguments: str) -> ToolCall:
    return ToolCall(id=use.tool_use_id or "", name=use.name or "", arguments=arguments)


def _input(use: _Use) -> str:
    return "{}" if isinstance(use.input, msgspec.UnsetType) else as_sent(use.input)


def _fragment(use: _Use) -> str:
    """A piece of a streamed call's arguments: text that is JSON once it is whole."""
    if isinstance(use.input, msgspec.UnsetType):
        return ""
    sent = bytes(use.input)
    return sent_text(sent) if sent[:1] == b'"' else as_sent(use.input)


def _usage(reported: dict[str, Any] | None) -> Usage | None:
    """Normalise: ``inputTokens`` leaves out what was read from or written to the cache."""
    if reported is None:
        return None
    read = first_count(reported, "cacheReadInputTokens", "cacheReadInputTokenCount")
    written = first_count(reported, "cacheWriteInputTokens", "cacheWriteInputTokenCount")
    return Usage(
        input_tokens=add_known(count_of(reported, "inputTokens"), read, written),
        output_tokens=count_of(reported, "outputTokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
        raw=raw_text(reported),
    )

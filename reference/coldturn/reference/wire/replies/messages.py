"""Replies of Anthropic Messages, whole and streamed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire.model import Reply, ToolCall, Usage
from coldturn.reference.wire.replies.common import (
    add_known,
    as_sent,
    count_of,
    decode_as,
    decode_events,
    raw_text,
)
from coldturn.reference.wire.replies.diagnosis import of_anthropic

_SURFACE = Surface.MESSAGES


class _Block(msgspec.Struct):
    type: str
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Message(msgspec.Struct):
    content: list[_Block]
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: dict[str, Any] | None = None
    diagnostics: Any = None


class _Delta(msgspec.Struct):
    text: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class _Event(msgspec.Struct):
    type: str
    index: int = 0
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: dict[str, Any] | None = None


def decode_body(body: bytes) -> Reply:
    """Decode a reply that came in one piece.

    Raises:
        ProviderError: The body is an error object.
        UnreadableReplyError: The body is no Messages reply.
    """
    message = decode_as(_Message, body, _SURFACE)
    return _reply(message, {})


def decode_stream(body: bytes) -> Reply:
    """Put a streamed reply together.

    Raises:
        ProviderError: The stream holds an error event.
        UnreadableReplyError: An event is no Messages event.
    """
    message = _Message(content=[])
    arguments: dict[int, list[str]] = {}
    blocks: dict[int, _Block] = {}
    for event in decode_events(_Event, body, _SURFACE):
        if event.message is not None:
            message = event.message
        if event.content_block is not None:
            blocks[event.index] = event.content_block
        if event.delta is not None:
            _apply(event.delta, event.index, blocks, arguments)
            message.stop_reason = event.delta.stop_reason or message.stop_reason
        if event.usage is not None:
            # Counts in message_delta are cumulative; they replace those of message_start.
            message.usage = {**(message.usage or {}), **event.usage}
    order = sorted(blocks)
    message.content = [blocks[index] for index in order]
    return _reply(message, {place: "".join(arguments.get(index, ())) for place, index in enumerate(order)})


def _apply(delta: _Delta, index: int, blocks: dict[int, _Block], arguments: dict[int, list[str]]) -> None:
    if delta.text is not None and index in blocks:
        block = blocks[index]
        block.text = (block.text or "") + delta.text
    if delta.partial_json is not None:
        arguments.setdefault(index, []).append(delta.partial_json)


def _reply(message: _Message, streamed: Mapping[int, str]) -> Reply:
    texts: list[str] = []
    calls: list[ToolCall] = []
    for place, block in enumerate(message.content):
        if block.type == "text":
            texts.append(block.text or "")
        elif block.type == "tool_use":
            arguments = streamed.get(place) or _input(block)
            calls.append(ToolCall(id=block.id or "", name=block.name or "", arguments=arguments))
    return Reply(
        text="".join(texts),
        calls=tuple(calls),
        usage=_usage(message.usage),
        response_id=message.id,
        model=message.model,
        finish_reason=message.stop_reason,
        diagnosis=of_anthropic(message.diagnostics),
    )


def _input(block: _Block) -> str:
    return "{}" if isinstance(block.input, msgspec.UnsetType) else as_sent(block.input)


def _usage(reported: dict[str, Any] | None) -> Usage | None:
    """Normalise: Anthropic's ``input_tokens`` leaves out what was read from or written to the cache."""
    if reported is None:
        return None
    read = count_of(reported, "cache_read_input_tokens")
    written = count_of(reported, "cache_creation_input_tokens")
    return Usage(
        input_tokens=add_known(count_of(reported, "input_tokens"), read, written),
        output_tokens=count_of(reported, "output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
        raw=raw_text(reported),
    )

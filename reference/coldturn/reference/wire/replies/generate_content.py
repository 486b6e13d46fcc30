"""Replies of Gemini's generateContent and streamGenerateContent: one object, a list of them, or events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire.errors import UnreadableReplyError
from coldturn.reference.wire.model import Reply, ToolCall, Usage
from coldturn.reference.wire.replies.common import (
    add_known,
    as_sent,
    decode_as,
    decode_events,
    first_count,
    raw_text,
)

_SURFACE = Surface.GENERATE_CONTENT


class _Call(msgspec.Struct):
    id: str | None = None
    name: str | None = None
    args: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: bool = False
    function_call: _Call | None = None
    snake_call: _Call | None = msgspec.field(name="function_call", default=None)

    def call(self) -> _Call | None:
        return self.function_call or self.snake_call


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    index: int = 0
    finish_reason: str | None = None
    snake_reason: str | None = msgspec.field(name="finish_reason", default=None)


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None
    snake_reason: str | None = msgspec.field(name="block_reason", default=None)


class _Response(msgspec.Struct, rename="camel"):
    """As Google's servers write it, and (`snake_...`) with the underscores of its SDKs."""

    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    snake_feedback: _Feedback | None = msgspec.field(name="prompt_feedback", default=None)
    usage_metadata: dict[str, Any] | None = None
    snake_usage: dict[str, Any] | None = msgspec.field(name="usage_metadata", default=None)
    model_version: str | None = None
    snake_model: str | None = msgspec.field(name="model_version", default=None)
    response_id: str | None = None
    snake_id: str | None = msgspec.field(name="response_id", default=None)

    def usage(self) -> dict[str, Any] | None:
        return self.usage_metadata or self.snake_usage

    def feedback(self) -> _Feedback | None:
        return self.prompt_feedback or self.snake_feedback


def decode_body(body: bytes) -> Reply:
    """Decode a reply that came in one piece, or as a list of pieces.

    Raises:
        ProviderError: The body is, or holds, an error object.
        UnreadableReplyError: The body is no reply of generateContent.
    """
    if body.lstrip()[:1] != b"[":
        return _together([decode_as(_Response, body, _SURFACE)])
    try:
        pieces = msgspec.json.decode(body, type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableReplyError(_SURFACE, str(error)) from error
    return _together(decode_as(_Response, bytes(piece), _SURFACE) for piece in pieces)


def decode_stream(body: bytes) -> Reply:
    """Put a streamed reply together; of several candidates, the first.

    Raises:
        ProviderError: The stream holds an error.
        UnreadableReplyError: An event is no piece of a reply.
    """
    return _together(decode_events(_Response, body, _SURFACE))


def _together(pieces: Iterable[_Response]) -> Reply:
    texts: list[str] = []
    calls: list[ToolCall] = []
    usage: dict[str, Any] | None = None
    response_id = model = finish_reason = None
    empty = True
    for piece in pieces:
        empty = empty and (piece.candidates, piece.feedback(), piece.usage()) == (None, None, None)
        # Counts are cumulative: the last ones count.
        usage = piece.usage() or usage
        response_id = piece.response_id or piece.snake_id or response_id
        model = piece.model_version or piece.snake_model or model
        finish_reason = _finish(piece) or finish_reason
        for part in _parts(piece):
            call = part.call()
            if call is not None:
                calls.append(ToolCall(id=call.id or "", name=call.name or "", arguments=_arguments(call)))
            elif not part.thought:
                texts.append(part.text or "")
    if empty:
        raise UnreadableReplyError(_SURFACE, "it holds no candidates and no usage")
    return Reply(
        text="".join(texts),
        calls=tuple(calls),
        usage=_usage(usage),
        response_id=response_id,
        model=model,
        finish_reason=finish_reason,
    )


def _parts(piece: _Response) -> list[_Part]:
    first = next((one for one in piece.candidates or () if one.index == 0), None)
    return (first.content.parts if first is not None and first.content is not None else None) or []


def _finish(piece: _Response) -> str | None:
    """Why the first candidate ended, or why the prompt was refused."""
    for candidate in piece.candidates or ():
        if candidate.index == 0:
            return candidate.finish_reason or candidate.snake_reason
    feedback = piece.feedback()
    return None if feedback is None else feedback.block_reason or feedback.snake_reason


def _arguments(call: _Call) -> str:
    return "{}" if isinstance(call.args, msgspec.UnsetType) else as_sent(call.args)


def _usage(reported: dict[str, Any] | None) -> Usage | None:
    """Normalise: cached tokens are part of ``promptTokenCount``; thoughts are output beside the answer."""
    if reported is None:
        return None
    thoughts = first_count(reported, "thoughtsTokenCount", "thoughts_token_count")
    return Usage(
        input_tokens=first_count(reported, "promptTokenCount", "prompt_token_count"),
        output_tokens=add_known(
            first_count(reported, "candidatesTokenCount", "candidates_token_count"), thoughts
        ),
        cache_read_tokens=first_count(reported, "cachedContentTokenCount", "cached_content_token_count"),
        raw=raw_text(reported),
    )

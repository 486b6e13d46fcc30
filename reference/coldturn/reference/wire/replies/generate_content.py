"""Replies of Gemini's generateContent and streamGenerateContent: one object, a list of them, or events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec

from coldturn.reference.prefix.model import Surface
from coldturn.reference.tokens import ReportedTokens
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
from coldturn.reference.wire.replies.partial_args import Arguments, UnjoinableError

_SURFACE = Surface.GENERATE_CONTENT
_CACHED = ("cachedContentTokenCount", "cached_content_token_count")


class _Call(msgspec.Struct, rename="camel"):
    """A call, or a part of one: Vertex streams arguments when it is asked to."""

    id: str | None = None
    name: str | None = None
    args: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    partial_args: list[dict[str, msgspec.Raw]] | None = None
    snake_parts: list[dict[str, msgspec.Raw]] | None = msgspec.field(name="partial_args", default=None)
    will_continue: bool | None = None
    snake_continue: bool | None = msgspec.field(name="will_continue", default=None)

    def whole(self) -> str | None:
        """Its arguments where they came in one piece."""
        return None if isinstance(self.args, msgspec.UnsetType) else as_sent(self.args)

    def parts(self) -> list[dict[str, msgspec.Raw]]:
        return self.partial_args or self.snake_parts or []

    def goes_on(self) -> bool:
        return bool(self.will_continue or self.snake_continue)


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
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableReplyError(_SURFACE, str(error)) from error
    return _together(decode_as(_Response, bytes(piece), _SURFACE) for piece in pieces)


def decode_stream(body: bytes) -> Reply:
    """Put a streamed reply together; of several candidates, the first.

    Raises:
        ProviderError: The stream holds an error.
        UnreadableReplyError: An event is no piece of a reply.
    """
    return _together(decode_events(_Response, body, _SURFACE), streamed=True)


def _together(pieces: Iterable[_Response], *, streamed: bool = False) -> Reply:
    texts: list[str] = []
    calls = _Calls()
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
                calls.add(call)
            elif not part.thought:
                texts.append(part.text or "")
    if empty:
        raise UnreadableReplyError(_SURFACE, "it holds no candidates and no usage")
    return Reply(
        text="".join(texts),
        calls=calls.all(),
        usage=_usage(usage, whole=not streamed or finish_reason is not None),
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


class _Calls:
    """The calls of a reply. At most one is open: its name came, and more of its arguments are to come."""

    def __init__(self) -> None:
        self._done: list[ToolCall] = []
        self._open: ToolCall | None = None
        self._arguments = Arguments()

    def add(self, call: _Call) -> None:
        """Take a call, or the next part of the one that is open.

        Raises:
            UnreadableReplyError: It is neither.
        """
        if self._open is None:
            self._begin(call)
        elif call.name is None or (call.id and call.id == self._open.id):
            self._go_on(self._open, call)
        else:
            raise UnreadableReplyError(
                _SURFACE, f"a call begins before the one of {self._open.name} has ended"
            )

    def all(self) -> tuple[ToolCall, ...]:
        """Every call. One within which a stream was cut off lacks its last brace, so that it shows."""
        if self._open is None:
            return tuple(self._done)
        return (*self._done, replace(self._open, arguments=self._arguments.as_json()[:-1]))

    def _begin(self, call: _Call) -> None:
        whole = call.whole()
        if not call.parts() and not call.goes_on():
            # An empty call ends one that is streamed, also where its last part has said so.
            if call.name is not None or whole is not None:
                self._done.append(ToolCall(call.id or "", call.name or "", whole or "{}"))
            return
        if call.name is None:
            raise UnreadableReplyError(_SURFACE, "arguments of a call that has not begun")
        self._arguments = Arguments()
        self._go_on(ToolCall(call.id or "", call.name, ""), call)

    def _go_on(self, begun: ToolCall, call: _Call) -> None:
        try:
            for part in call.parts():
                self._arguments.add(part)
        except UnjoinableError as error:
            raise UnreadableReplyError(_SURFACE, f"arguments of a call in parts: {error}") from error
        whole = call.whole()
        if whole not in (None, "null", "{}") and self._arguments:
            raise UnreadableReplyError(_SURFACE, f"arguments of {begun.name} in parts and as a whole")
        self._open = replace(begun, id=begun.id or call.id or "")
        if not call.goes_on():
            joined = self._arguments.as_json() if self._arguments or whole in (None, "null") else whole
            self._done.append(replace(self._open, arguments=joined))
            self._open = None


def _usage(reported: dict[str, Any] | None, *, whole: bool) -> Usage | None:
    """Normalise: cached tokens are part of ``promptTokenCount``; thoughts are output beside the answer.

    Google's JSON leaves zeros out (proto3), so that no cached tokens beside a counted prompt are none, unless
    the counts may not be the last ones.
    """
    if reported is None:
        return None
    prompt = first_count(reported, "promptTokenCount", "prompt_token_count")
    read = first_count(reported, *_CACHED)
    absent = all(reported.get(key) is None for key in _CACHED)
    if prompt is not None and whole and absent:
        read = ReportedTokens(0)
    thoughts = first_count(reported, "thoughtsTokenCount", "thoughts_token_count")
    return Usage(
        input_tokens=prompt,
        output_tokens=add_known(
            first_count(reported, "candidatesTokenCount", "candidates_token_count"), thoughts
        ),
        cache_read_tokens=read,
        raw=raw_text(reported),
    )

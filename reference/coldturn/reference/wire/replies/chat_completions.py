"""Replies of OpenAI Chat Completions and of the many servers that speak it, whole and streamed."""

from __future__ import annotations

from typing import Any

import msgspec

from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire.model import Reply, ToolCall, Usage
from coldturn.reference.wire.replies.common import (
    as_sent,
    count_of,
    decode_as,
    decode_events,
    raw_text,
    sent_text,
)
from coldturn.reference.wire.replies.diagnosis import of_openai

_SURFACE = Surface.CHAT_COMPLETIONS


class _Part(msgspec.Struct):
    type: str | None = None
    text: str | None = None


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Message(msgspec.Struct):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None
    function_call: _Function | None = None

    def all_calls(self) -> list[_Call]:
        """Give the tool calls; the older single ``function_call`` counts as one without an id."""
        if self.function_call is not None:
            return [_Call(index=0, function=self.function_call)]
        return self.tool_calls or []


class _Choice(msgspec.Struct):
    message: _Message | None = None
    delta: _Message | None = None
    finish_reason: str | None = None
    index: int = 0


class _Completion(msgspec.Struct):
    choices: list[_Choice] = []
    id: str | None = None
    model: str | None = None
    usage: dict[str, Any] | None = None
    prompt_cache_diagnostics: Any = None
    prompt_cache_options: Any = None


class _WholeCompletion(_Completion, kw_only=True):
    choices: list[_Choice]


class _OpenCall:
    """A tool call whose fragments are still coming."""

    __slots__ = ("arguments", "id", "name")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []

    def add(self, call: _Call) -> None:
        self.id = call.id or self.id
        if call.function is not None:
            self.name = call.function.name or self.name
            self.arguments.append(_arguments(call.function))


def decode_body(body: bytes) -> Reply:
    """Decode a reply that came in one piece; of several choices, the first.

    Raises:
        ProviderError: The body is an error object.
        UnreadableReplyError: The body is no chat completion.
    """
    completion = decode_as(_WholeCompletion, body, _SURFACE)
    choice = completion.choices[0] if completion.choices else _Choice()
    message = choice.message or _Message()
    calls = tuple(
        ToolCall(
            id=call.id or "",
            name=(call.function.name if call.function else None) or "",
            arguments=(_arguments(call.function) if call.function else "") or "{}",
        )
        for call in message.all_calls()
    )
    return Reply(
        text=_text(message.content) or message.refusal or "",
        calls=calls,
        usage=_usage(completion.usage),
        response_id=completion.id,
        model=completion.model,
        finish_reason=choice.finish_reason,
        diagnosis=of_openai(completion.prompt_cache_diagnostics, completion.prompt_cache_options),
    )


def decode_stream(body: bytes) -> Reply:
    """Put a streamed reply together; of several choices, the first.

    Raises:
        ProviderError: The stream holds an error.
        UnreadableReplyError: A chunk is no chat completion chunk.
    """
    texts: list[str] = []
    calls: dict[int, _OpenCall] = {}
    usage: dict[str, Any] | None = None
    response_id = model = finish_reason = diagnosis = None
    for chunk in decode_events(_Completion, body, _SURFACE):
        response_id = chunk.id or response_id
        model = chunk.model or model
        usage = chunk.usage or usage
        diagnosis = of_openai(chunk.prompt_cache_diagnostics, chunk.prompt_cache_options) or diagnosis
        for choice in chunk.choices:
            if choice.index == 0:
                finish_reason = choice.finish_reason or finish_reason
                _apply(choice.delta or _Message(), texts, calls)
    return Reply(
        text="".join(texts),
        calls=tuple(
            ToolCall(id=call.id, name=call.name, arguments="".join(call.arguments) or "{}")
            for _, call in sorted(calls.items())
        ),
        usage=_usage(usage),
        response_id=response_id,
        model=model,
        finish_reason=finish_reason,
        diagnosis=diagnosis,
    )


def _apply(delta: _Message, texts: list[str], calls: dict[int, _OpenCall]) -> None:
    texts.append(_text(delta.content) or delta.refusal or "")
    for call in delta.all_calls():
        # Some servers leave the index out: a fragment with an id then opens a call, one without continues.
        last = max(calls, default=-1)
        index = call.index if call.index is not None else (last + 1 if call.id else max(last, 0))
        calls.setdefault(index, _OpenCall()).add(call)


def _text(content: str | list[_Part] | None) -> str:
    if isinstance(content, list):
        return "".join(part.text or "" for part in content)
    return content or ""


def _arguments(function: _Function) -> str:
    """Give the arguments' text; a few servers send an object where a string is due."""
    if isinstance(function.arguments, msgspec.UnsetType):
        return ""
    if bytes(function.arguments).lstrip()[:1] == b'"':
        return sent_text(function.arguments)
    sent = as_sent(function.arguments)
    return "" if sent == "null" else sent


def _usage(reported: dict[str, Any] | None) -> Usage | None:
    """Normalise: cached and written tokens are parts of ``prompt_tokens``; DeepSeek names hits apart."""
    if reported is None:
        return None
    details = reported.get("prompt_tokens_details")
    read = count_of(details, "cached_tokens")
    return Usage(
        input_tokens=count_of(reported, "prompt_tokens"),
        output_tokens=count_of(reported, "completion_tokens"),
        cache_read_tokens=read if read is not None else count_of(reported, "prompt_cache_hit_tokens"),
        cache_write_tokens=count_of(details, "cache_write_tokens"),
        raw=raw_text(reported),
    )

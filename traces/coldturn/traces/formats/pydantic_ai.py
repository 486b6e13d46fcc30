"""Messages of a run of pydantic-ai, as ``result.all_messages_json()`` gives them: requests and responses.

Each response is a call behind all messages in front of it. The instructions are no part of the history: those
of the newest request were sent. Tools are not kept. Source: messages of pydantic-ai 2.68.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, TypeAlias

from coldturn.traces.classify import instant
from coldturn.traces.errors import InputTooLargeError, NoRequestsError, UnreadableJsonError
from coldturn.traces.exchange import EntryError
from coldturn.traces.formats.model import Format, Head, Layout, Record
from coldturn.traces.formats.observed import Observed, Records
from coldturn.traces.formats.talk import Message, Part, compact, parts_of
from coldturn.traces.formats.timed import listed, mapping, text
from coldturn.traces.kinds import InputKind
from coldturn.traces.limits import MAX_DOCUMENT
from coldturn.traces.pieces import pieces
from coldturn.traces.slices import NotJsonError, value_of
from coldturn.traces.usage_reply import Counts, counts

Json: TypeAlias = Any

_REQUEST, _RESPONSE = "request", "response"
_KINDS = (b'"request"', b'"response"')
_OWN = frozenset({"parts", "kind"})


def _recognise(head: Head) -> bool:
    if head.layout is not Layout.LIST:
        return False
    return any(one.keys() >= _OWN and one["kind"] in _KINDS for one in head.objects)


def read(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Every response as a call, in order.

    Raises:
        NoRequestsError: It holds no response.
        InputTooLargeError: A call repeats the messages before it, so that they are held, up to a bound.
        UnreadableJsonError: The list is damaged or cut off.
    """
    records = Records(name)
    before: list[Mapping[str, Json]] = []
    held = calls = unread = 0
    try:
        for piece in pieces(stream, lambda path: not path):
            held += piece.length
            if held > MAX_DOCUMENT:
                raise InputTooLargeError(name, "the list of messages", MAX_DOCUMENT)
            message = _message(piece.content, calls, name)
            if isinstance(message, EntryError):
                unread += 1
                yield message
                continue
            if message.get("kind") == _RESPONSE:
                yield from records.of(_call(before, message, calls))
                calls += 1
            before.append(message)
    except NotJsonError as error:
        raise UnreadableJsonError(name, str(error)) from error
    if not calls and not unread:
        raise NoRequestsError(
            name, [f"{len(before)} message{'s'[: len(before) != 1]}, none of them a model's"]
        )


def _message(content: bytes, entry: int, name: str) -> Mapping[str, Json] | EntryError:
    try:
        value = value_of(content)
    except NotJsonError as error:
        return EntryError(name, entry, f"a message cannot be read: {error}")
    return value if isinstance(value, Mapping) else EntryError(name, entry, "a message is no object")


def _call(before: Sequence[Mapping[str, Json]], answer: Mapping[str, Json], entry: int) -> Observed:
    asked = next((one for one in reversed(before) if one.get("kind") == _REQUEST), {})
    return Observed(
        entry=entry,
        model=text(answer.get("model_name")),
        provider=text(answer.get("provider_name")),
        messages=_messages(before, text(asked.get("instructions"))),
        usage=_usage(mapping(answer.get("usage"))),
        started=_time(asked),
        conversation=text(answer.get("conversation_id")) or text(answer.get("run_id")),
    )


def _time(asked: Mapping[str, Json]) -> float | None:
    """When a request was made; older versions tell the times of its parts alone."""
    times = [asked, *map(mapping, listed(asked.get("parts")))]
    known = [at for at in (instant(one.get("timestamp")) for one in times) if at is not None]
    return max(known, default=None)


def _usage(told: Mapping[str, Json]) -> Counts:
    """The input includes what was read and written."""
    return counts(
        told.get("input_tokens", told.get("request_tokens")),
        told.get("cache_read_tokens"),
        told.get("cache_write_tokens"),
        told.get("output_tokens", told.get("response_tokens")),
    )


def _messages(before: Sequence[Mapping[str, Json]], instructions: str) -> list[Message]:
    """What was sent: the system text in front, then the history."""
    said: list[Message] = []
    for message in before:
        parts = [mapping(one) for one in listed(message.get("parts"))]
        if message.get("kind") == _RESPONSE:
            said.append(Message("assistant", tuple(map(_said, parts))))
        else:
            said += map(_sent, parts)
    front = next((place for place, one in enumerate(said) if one.role != "system"), len(said))
    if instructions:
        said.insert(front, Message("system", (Part("text", instructions),)))
    return said


def _said(part: Mapping[str, Json]) -> Part:
    """A part of an answer."""
    kind, content = part.get("part_kind"), part.get("content")
    if kind in ("text", "thinking") and isinstance(content, str):
        return Part("text" if kind == "text" else "reasoning", content)
    if kind == "tool-call":
        arguments = part.get("args")
        whole = arguments if isinstance(arguments, str) else compact({} if arguments is None else arguments)
        return Part("call", whole, text(part.get("tool_call_id")), text(part.get("tool_name")))
    return Part("other", raw=part)


def _sent(part: Mapping[str, Json]) -> Message:
    """A part of a request, which is a message by itself."""
    kind, content, called = part.get("part_kind"), part.get("content"), text(part.get("tool_call_id"))
    if kind == "system-prompt":
        return Message("system", parts_of(content))
    if kind == "tool-return" or (kind == "retry-prompt" and part.get("tool_name")):
        whole = content if isinstance(content, str) else compact(content)
        return Message("tool", (Part("result", whole, called, text(part.get("tool_name"))),))
    return Message("user", parts_of(content))


FORMATS = (Format(InputKind.PYDANTIC_AI, "messages of a run of pydantic-ai", _recognise, read),)

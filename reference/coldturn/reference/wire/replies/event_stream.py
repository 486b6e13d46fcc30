"""AWS event streams (``application/vnd.amazon.eventstream``), in which Bedrock streams its answers.

A message is framed by its length, typed headers and two CRC-32 sums (AWS, "event stream encoding"). The
libraries that read it come with botocore, or ask for a newer Python than we do.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire.errors import ProviderError, UnreadableReplyError

_TYPE = "application/vnd.amazon.eventstream"
_PRELUDE, _SUM, _LEAST = 12, 4, 16
_FIXED = {2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Sizes of header values by type: byte, short, integer, long, timestamp, UUID."""
_BYTES, _STRING = 6, 7


class DamagedStreamError(ValueError):
    """Bytes that are no event stream; the message says where and why."""


@dataclass(frozen=True, slots=True)
class EventMessage:
    """One message: the headers that hold text, and the payload as sent."""

    headers: Mapping[str, str]
    payload: bytes


class _Chunk(msgspec.Struct):
    bytes: str = ""


class _Said(msgspec.Struct):
    message: str | None = None
    capital: str | None = msgspec.field(name="Message", default=None)


def is_aws_event_stream(body: bytes, content_type: str) -> bool:
    """Tell whether `body` is one; recordings that lost the content type are recognised by the first sum."""
    if content_type.partition(";")[0].strip().lower() == _TYPE:
        return True
    if len(body) < _LEAST or body[:1] in {b"{", b"["}:
        return False
    return _number(body, 8) == zlib.crc32(body[:8])


def messages(body: bytes) -> Iterator[EventMessage]:
    """Yield the messages of a stream; one that was cut off within its last message ends before it.

    Raises:
        DamagedStreamError: A sum does not fit, or a message is no message.
    """
    position = 0
    while len(body) - position >= _PRELUDE:
        size, headers = _number(body, position), _number(body, position + 4)
        if zlib.crc32(body[position : position + 8]) != _number(body, position + 8):
            raise DamagedStreamError(f"the event stream is damaged at byte {position}: its sum does not fit")
        end = position + size
        if end > len(body):
            return
        start = position + _PRELUDE
        if size < _LEAST or start + headers > end - _SUM:
            raise DamagedStreamError(
                f"the event stream's message at byte {position} has an impossible length"
            )
        if zlib.crc32(body[position : end - _SUM]) != _number(body, end - _SUM):
            raise DamagedStreamError(f"the event stream's message at byte {position} is damaged")
        yield EventMessage(_headers(body[start : start + headers]), body[start + headers : end - _SUM])
        position = end


def events(body: bytes, surface: Surface) -> Iterator[tuple[str, bytes]]:
    """Yield each event's type and payload.

    Raises:
        ProviderError: The stream holds an exception.
        UnreadableReplyError: The stream is damaged.
    """
    try:
        for message in messages(body):
            kind = message.headers.get(":message-type", "event")
            if kind != "event":
                raise _reported(message, surface)
            yield message.headers.get(":event-type", ""), message.payload
    except DamagedStreamError as error:
        raise UnreadableReplyError(surface, str(error)) from error


def chunk_of(payload: bytes, surface: Surface) -> bytes:
    """What the model's maker would have sent, from an event of type ``chunk`` (invoke-with-response-stream).

    Raises:
        UnreadableReplyError: It holds no base64.
    """
    try:
        return base64.b64decode(msgspec.json.decode(payload, type=_Chunk).bytes, validate=True)
    except (msgspec.DecodeError, binascii.Error) as error:
        raise UnreadableReplyError(surface, f"a chunk of its event stream: {error}") from error


def server_sent(body: bytes, surface: Surface) -> bytes:
    """The chunks of a stream as the server-sent events that the model's maker would have sent.

    Raises:
        ProviderError: The stream holds an exception.
        UnreadableReplyError: The stream is damaged.
    """
    chunks = (chunk_of(payload, surface) for kind, payload in events(body, surface) if kind == "chunk")
    return b"".join(b"data: %b\n\n" % chunk for chunk in chunks)


def _reported(message: EventMessage, surface: Surface) -> ProviderError:
    headers = message.headers
    kind = headers.get(":exception-type") or headers.get(":error-code") or "error"
    try:
        said = msgspec.json.decode(message.payload, type=_Said)
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = _Said()
    return ProviderError(
        surface, kind, said.message or said.capital or headers.get(":error-message") or "no message"
    )


def _headers(data: bytes) -> dict[str, str]:
    """The headers that hold text.

    Raises:
        DamagedStreamError: They do not end where they should, or have a type that does not exist.
    """
    found: dict[str, str] = {}
    position = 0
    try:
        while position < len(data):
            length = data[position]
            name = data[position + 1 : position + 1 + length].decode()
            position += 1 + length
            value, position = _value(data, position)
            if value is not None:
                found[name] = value
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise DamagedStreamError("a message of the event stream has damaged headers") from error
    return found


def _value(data: bytes, position: int) -> tuple[str | None, int]:
    """A header's text, None for values of other types; and where the next header starts."""
    kind = data[position]
    position += 1
    if kind in {0, 1}:
        return None, position
    if kind in _FIXED:
        end = position + _FIXED[kind]
    elif kind in {_BYTES, _STRING}:
        (size,) = struct.unpack_from(">H", data, position)
        position += 2
        end = position + size
    else:
        raise DamagedStreamError(f"a header of the event stream has the unknown type {kind}")
    if end > len(data):
        raise DamagedStreamError("a header of the event stream is cut off")
    return (data[position:end].decode() if kind == _STRING else None), end


def _number(data: bytes, position: int) -> int:
    return int.from_bytes(data[position : position + 4], "big")

"""Recorded response bodies: server-sent events with the times they came at, and this run's ids put in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY

from coldturn.replay.playback.rpc import Rpc

_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_PARTS = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True, slots=True)
class Event:
    """One event as recorded, with its separator; `message` is its JSON object, or empty."""

    at: float
    raw: bytes
    message: dict[str, Any]


def events(body: bytes, start: float, chunks: Sequence[tuple[float, int]]) -> Iterator[Event]:
    """Cut a stream into events; each came with the part that held its last byte.

    Args:
        body: The stored body.
        start: When the request was sent.
        chunks: Seconds since `start` and length of each part of `body`; without them all came at `start`.
    """
    position = 0
    ends = [match.end() for match in _EVENT_END.finditer(body)]
    for end in ends if ends and ends[-1] == len(body) else [*ends, len(body)]:
        raw = body[position:end]
        position = end
        if raw.strip():
            yield Event(_time_of(end, start, chunks), raw, _message(raw))


def _time_of(end: int, start: float, chunks: Sequence[tuple[float, int]]) -> float:
    reached = 0
    for offset, length in chunks:
        reached += length
        if reached >= end:
            return start + offset
    return start


def _data(raw: bytes) -> bytes:
    lines = (line for line in raw.splitlines() if line.startswith(b"data:"))
    return b"\n".join(line[5:].removeprefix(b" ") for line in lines)


def _message(raw: bytes) -> dict[str, Any]:
    try:
        message = json.loads(_data(raw))
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def with_ids(body: bytes, asked: Rpc, recorded: Rpc) -> bytes:
    """Put the ids and progress token of the request that is asked now into a recorded answer.

    Only messages that carry another id are touched; what they hold besides keeps its bytes.
    """
    if asked.id == recorded.id and asked.progress_token == recorded.progress_token:
        return body
    if body.lstrip()[:1] == b"{":
        return _rewritten(body, asked)
    return _map_events(body, lambda data: _rewritten(data, asked))


def _map_events(body: bytes, change: Callable[[bytes], bytes]) -> bytes:
    out: list[bytes] = []
    for event in events(body, 0.0, ()):
        data = _data(event.raw)
        changed = change(data)
        out.append(event.raw if changed == data else _with_data(event.raw, changed))
    return b"".join(out)


def _with_data(raw: bytes, data: bytes) -> bytes:
    kept = b"".join(
        line + b"\n" for line in raw.splitlines() if line.strip() and not line.startswith(b"data:")
    )
    return kept + b"data: " + data + b"\n\n"


def _rewritten(text: bytes, asked: Rpc) -> bytes:
    try:
        parts = _PARTS.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return text
    if "method" not in parts and "id" in parts:
        parts["id"] = msgspec.Raw(json.dumps(asked.id).encode())
        return msgspec.json.encode(parts)
    return _with_tokens(text, asked)


def _with_tokens(text: bytes, asked: Rpc) -> bytes:
    """Notifications: the progress token, and the id of the subscription they came on."""
    message = json.loads(text)
    params = message.get("params")
    if not isinstance(params, dict):
        return text
    if message.get("method") == "notifications/progress" and asked.progress_token is not None:
        params["progressToken"] = asked.progress_token
    elif isinstance(meta := params.get("_meta"), dict) and SUBSCRIPTION_ID_META_KEY in meta:
        meta[SUBSCRIPTION_ID_META_KEY] = asked.id
    else:
        return text
    return json.dumps(message, separators=(",", ":")).encode()


def result_of(body: bytes) -> dict[str, Any] | None:
    """The result in an answer, JSON or a stream; None when there is none or it is an error."""
    if body.lstrip()[:1] == b"{":
        found = [_message(b"data: " + body.replace(b"\r", b" ").replace(b"\n", b" "))]
    else:
        found = [event.message for event in events(body, 0.0, ())]
    results = [message["result"] for message in found if isinstance(message.get("result"), dict)]
    return results[-1] if results else None

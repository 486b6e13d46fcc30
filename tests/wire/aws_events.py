"""Writes AWS event streams by hand, as AWS documents their encoding."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any


def message(payload: bytes, **headers: str | int) -> bytes:
    """One message; an underscore in a header's name stands for the hyphen, and all begin with a colon."""
    head = b"".join(_header(":" + name.replace("_", "-"), value) for name, value in headers.items())
    prelude = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    framed = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + payload
    return framed + struct.pack(">I", zlib.crc32(framed))


def _header(name: str, value: str | int) -> bytes:
    named = bytes([len(name)]) + name.encode()
    if isinstance(value, int):
        return named + b"\x04" + struct.pack(">i", value)
    return named + b"\x07" + struct.pack(">H", len(value)) + value.encode()


def event(kind: str, payload: dict[str, Any]) -> bytes:
    """One event of ConverseStream."""
    return message(
        json.dumps(payload).encode(),
        event_type=kind,
        content_type="application/json",
        message_type="event",
    )


def chunk(event_of_maker: dict[str, Any]) -> bytes:
    """One event of invoke-with-response-stream."""
    inside = base64.b64encode(json.dumps(event_of_maker).encode()).decode()
    return event("chunk", {"bytes": inside, "p": "abc"})

"""HAR 1.2: what a browser or a proxy saw. Bodies are those that were sent, times those of the wire."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import IO, Any
from urllib.parse import urlsplit

from coldturn.reference.prefix.model import Fidelity
from coldturn.traces.classify import PackedBodyError, address, instant, kind_of, unpacked
from coldturn.traces.errors import UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange, cache_headers
from coldturn.traces.formats.model import Format, Head, Layout
from coldturn.traces.interaction import Headers
from coldturn.traces.kinds import InputKind
from coldturn.traces.pieces import Path, opening_members, pieces
from coldturn.traces.slices import NotJsonError, value_of

_ENTRIES = ("log", "entries")
_HELD = 4096
_MODEL_PATHS = ("/messages", "/chat/completions", "/responses")
_BEFORE_FIRST_BYTE = ("blocked", "dns", "connect", "send", "wait")
"""Phases up to the first byte of the answer, in milliseconds; -1 stands for one that did not happen."""


class _EntryProblemError(ValueError):
    """An entry that is no HTTP request."""


def _recognise(head: Head) -> bool:
    if head.layout is not Layout.OBJECT or "log" not in head.keys:
        return False
    inside = opening_members(head.member("log"), _HELD)
    return bool({"entries", "creator", "version"} & inside.keys())


def _opens(path: Path) -> bool:
    return path == _ENTRIES[: len(path)]


def _read(stream: IO[bytes], name: str) -> Iterator[Exchange | EntryError]:
    listed = False
    try:
        for piece in pieces(stream, _opens):
            if piece.path[:2] == _ENTRIES and len(piece.path) == 3 and isinstance(piece.path[2], int):
                listed = True
                yield _entry(piece.content, piece.path[2], name)
            elif piece.path[:2] == _ENTRIES:
                raise UnreadableJsonError(name, "log.entries is no list of entries")
    except NotJsonError as error:
        where = "" if listed else ", in front of the first entry"
        raise UnreadableJsonError(name, f"{error}{where}") from error


def _entry(content: bytes, entry: int, name: str) -> Exchange | EntryError:
    try:
        return _exchange(value_of(content), entry, name)
    except (NotJsonError, _EntryProblemError, PackedBodyError) as error:
        return EntryError(name, entry, str(error))


def _exchange(value: object, entry: int, name: str) -> Exchange:
    if not isinstance(value, dict) or not isinstance(value.get("request"), dict):
        raise _EntryProblemError("it is no entry with a request")
    request = value["request"]
    response = _mapping(value.get("response"))
    url, method = request.get("url"), request.get("method", "GET")
    if not isinstance(url, str) or not isinstance(method, str):
        raise _EntryProblemError("its request has no method and url")
    url = address(url)
    body = _request_body(request, method, url)
    headers = _headers(response.get("headers"))
    content = _mapping(response.get("content"))
    started, answered = _times(value)
    return Exchange(
        source=name,
        entry=entry,
        kind=kind_of(body, url),
        method=method.upper(),
        url=url,
        request_body=body,
        response_body=_text(content, "the response"),
        status=_status(response.get("status")),
        content_type=_content_type(content, headers),
        started=started,
        fidelity=Fidelity.WIRE,
        headers=headers,
        request_headers=cache_headers(_headers(request.get("headers"))),
        answered=answered,
        undated=started is None and value.get("startedDateTime") is not None,
    )


def _request_body(request: Mapping[str, Any], method: str, url: str) -> bytes:
    data = _mapping(request.get("postData"))
    text = _text(data, "the request")
    if text is None:
        if method.upper() == "POST" and urlsplit(url).path.rstrip("/").endswith(_MODEL_PATHS):
            raise _EntryProblemError("its request body was not kept: export the HAR with content")
        return b""
    return unpacked(text, _headers(request.get("headers")))


def _text(holder: Mapping[str, Any], what: str) -> bytes | None:
    text = holder.get("text")
    if not isinstance(text, str):
        return None
    if holder.get("encoding") != "base64":
        return text.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _EntryProblemError(f"the body of {what} is no base64") from error


def _headers(value: object) -> Headers:
    listed = value if isinstance(value, list) else []
    pairs = ((one.get("name"), one.get("value")) for one in listed if isinstance(one, dict))
    return tuple((key.lower(), text) for key, text in pairs if isinstance(key, str) and isinstance(text, str))


def _status(value: object) -> int | None:
    """0 stands for a request that got no answer."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 100 <= value < 1000 else None


def _content_type(content: Mapping[str, Any], headers: Headers) -> str:
    named = content.get("mimeType")
    return named if isinstance(named, str) and named else dict(headers).get("content-type", "")


def _times(value: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """When the request began, and when the first byte of its answer came."""
    started = instant(value.get("startedDateTime"))
    timings = _mapping(value.get("timings"))
    wait = timings.get("wait")
    if started is None or not isinstance(wait, int | float) or isinstance(wait, bool):
        return started, None
    phases = (timings.get(phase) for phase in _BEFORE_FIRST_BYTE)
    passed = [one for one in phases if isinstance(one, int | float) and 0 <= one < 1e9]
    return started, started + sum(passed) / 1000


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


FORMATS = (Format(InputKind.HAR, "a HAR file", _recognise, _read, streams=True),)

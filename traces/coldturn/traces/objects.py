"""One JSON object of a file as an exchange: a bare body, or a body with what was recorded around it."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

import msgspec

from coldturn.reference.prefix.model import Fidelity
from coldturn.reference.prefix.request import recognise_surface
from coldturn.traces.classify import address, instant, kind_of
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.slices import NotJsonError, object_parts, value_of
from coldturn.traces.usage_reply import bare_reply, bare_usage

REQUEST_KEYS = ("request", "request_raw", "request_base64")
LOGGED_KEY = "request_params"


@dataclass(frozen=True, slots=True)
class LoggedAnswer:
    """The response of a logged call, which stands in a line of its own behind the request's."""

    body: bytes | None


def exchange_of_object(text: bytes, *, source: str, entry: int) -> Exchange | EntryError | LoggedAnswer:
    """Read one line of JSONL or one element of an array.

    A bare body's bytes are those of the line. ``{url, request | request_raw | request_base64, response,
    started, answered}`` carries them inside; `request` counts as sent the way it stands there.
    """
    kind = kind_of(text, "")
    if kind is not ExchangeKind.OTHER:
        return bare(text, kind, source=source, entry=entry)
    try:
        parts = _parts(text)
        if any(key in parts for key in REQUEST_KEYS):
            return _wrapped(parts, source, entry)
        if LOGGED_KEY in parts:
            return _logged(parts, source, entry)
        if parts.get("type") == b'"response"' and "response" in parts:
            return LoggedAnswer(answer_of(parts["response"])[0])
    except NotJsonError as error:
        return EntryError(source, entry, str(error))
    return bare(text, kind, source=source, entry=entry)


def _parts(text: bytes) -> dict[str, bytes]:
    if text[:1] != b"{":
        raise NotJsonError(f"it is {_kind(text)}, not an object")
    return object_parts(text)


def _kind(text: bytes) -> str:
    """What a JSON text is, by its first byte."""
    kinds = {b"[": "a list", b'"': "a text", b"t": "a boolean", b"f": "a boolean", b"n": "null", b"N": "NaN"}
    found = kinds.get(text[:1])
    return found or ("a number" if text[:1] in b"-0123456789" else "no JSON")


def bare(text: bytes, kind: ExchangeKind, *, source: str, entry: int) -> Exchange:
    """A request of which nothing but the body was kept."""
    return Exchange(
        source=source,
        entry=entry,
        kind=kind,
        method="POST",
        url="",
        request_body=text,
        response_body=None,
        status=None,
        content_type="",
        started=None,
        fidelity=Fidelity.WIRE,
    )


def _wrapped(parts: dict[str, bytes], source: str, entry: int) -> Exchange:
    url = address(_optional_text(parts, "url"))
    body = _request_body(parts)
    response, content_type = answer_of(parts.get("response"))
    usage = None if response is None else bare_usage(response)
    surface = None if usage is None else recognise_surface(body, url)
    if usage is not None and surface is not None:
        response = bare_reply(surface, usage)
    started = _started(parts.get("started"))
    return Exchange(
        source=source,
        entry=entry,
        kind=kind_of(body, url),
        method="POST",
        url=url,
        request_body=body,
        response_body=response,
        status=None,
        content_type=content_type,
        started=started,
        fidelity=Fidelity.WIRE,
        undated=started is None and parts.get("started", b"null") != b"null",
        answered=_started(parts.get("answered")),
    )


def _logged(parts: dict[str, bytes], source: str, entry: int) -> Exchange:
    """The arguments of a client library's call: values as sent, the bytes as somebody wrote them later."""
    body = parts[LOGGED_KEY]
    return Exchange(
        source=source,
        entry=entry,
        kind=kind_of(body, ""),
        method="POST",
        url="",
        request_body=body,
        response_body=None,
        status=None,
        content_type="",
        started=_started(parts.get("timestamp")),
        fidelity=Fidelity.CANONICAL,
    )


def _request_body(parts: dict[str, bytes]) -> bytes:
    if "request_base64" in parts:
        try:
            return base64.b64decode(_text(parts["request_base64"], "request_base64"), validate=True)
        except binascii.Error as error:
            raise NotJsonError("request_base64 is no base64") from error
    if "request_raw" in parts:
        return _text(parts["request_raw"], "request_raw").encode("utf-8", "surrogatepass")
    return parts["request"]


def answer_of(raw: bytes | None) -> tuple[bytes | None, str]:
    """A `response` member: an object as it stands, or the text of a stream; with its content type."""
    if raw is None or raw == b"null":
        return None, ""
    if raw[:1] != b'"':
        return raw, "application/json"
    text = _text(raw, "response")
    content_type = "application/json" if text.lstrip()[:1] in ("{", "[") else "text/event-stream"
    return text.encode("utf-8", "surrogatepass"), content_type


def _started(raw: bytes | None) -> float | None:
    return None if raw is None else instant(value_of(raw))


def _optional_text(parts: dict[str, bytes], key: str) -> str:
    raw = parts.get(key, b"null")
    return "" if raw == b"null" else _text(raw, key)


def _text(raw: bytes, key: str) -> str:
    """A JSON string; msgspec first, since most are long and well formed."""
    try:
        return msgspec.json.decode(raw, type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = value_of(raw)
    if not isinstance(value, str):
        raise NotJsonError(f"{key} is no text")
    return value

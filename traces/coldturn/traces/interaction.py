"""One entry of a cassette, whatever file format it came from."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from coldturn.reference.prefix.model import Fidelity
from coldturn.traces.yaml_values import Opaque

_WRAPPED = frozenset({"b64", "base64_string", "string"})
"""Keys of which one stands in a body that holds its bytes."""
Headers: TypeAlias = tuple[tuple[str, str], ...]


class EntryValueError(ValueError):
    """An entry that is no interaction; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Interaction:
    """A recorded request with its response.

    Attributes:
        entry: Index in the cassette, from 0.
        request_headers: Lower-case names with their values, repeated ones one by one; likewise
            `response_headers`.
        request_body: Bytes as recorded; what `fidelity` says of them holds.
        response_body: Bytes as recorded (still compressed where `content-encoding` says so and the bytes
            are), None when the cassette has none.
        timing: The ``x-coldturn`` object of our own recordings: seq, start, end, chunks.
    """

    entry: int
    method: str
    uri: str
    request_headers: Headers
    request_body: bytes
    fidelity: Fidelity
    status: int | None
    reason: str
    response_headers: Headers
    response_body: bytes | None
    timing: Mapping[str, Any] = field(default_factory=dict)


def interaction_of(value: object, entry: int) -> Interaction:
    """Read ``{"request": {...}, "response": {...}}`` in any of the dialects that we know.

    Raises:
        EntryValueError: Something that must be there is missing or of another type.
    """
    if not isinstance(value, dict):
        what = "null" if value is None else _kind(value)
        raise EntryValueError(f"it is {what}, not an object with request and response")
    request, response = value.get("request"), value.get("response")
    if not isinstance(request, dict):
        raise EntryValueError(f"its request is {_kind(request)}, not an object")
    if response is not None and not isinstance(response, dict):
        raise EntryValueError(f"its response is {_kind(response)}, not an object")
    return _interaction(request, response or {}, entry)


def _interaction(request: Mapping[str, Any], response: Mapping[str, Any], entry: int) -> Interaction:
    uri = request.get("uri", request.get("url"))
    if not isinstance(uri, str):
        raise EntryValueError("its request has no uri")
    method = request.get("method", "POST")
    if not isinstance(method, str):
        raise EntryValueError(f"its request's method is {_kind(method)}, not text")
    body, fidelity = _body(request, "request")
    answer, _ = _body(response, "response")
    status, reason = _status(response)
    timing = response.get("x-coldturn")
    return Interaction(
        entry=entry,
        method=method,
        uri=uri,
        request_headers=_headers(request.get("headers")),
        request_body=body or b"",
        fidelity=fidelity,
        status=status,
        reason=reason,
        response_headers=_headers(response.get("headers")),
        response_body=answer,
        timing=timing if isinstance(timing, dict) else {},
    )


def _body(holder: Mapping[str, Any], where: str) -> tuple[bytes | None, Fidelity]:
    """The body's bytes, and whether they are those that went over the wire."""
    if "parsed_body" in holder:
        return _compact_json(holder["parsed_body"], where), Fidelity.CANONICAL
    body = holder.get("body")
    if isinstance(body, list) or (isinstance(body, dict) and body and _WRAPPED.isdisjoint(body)):
        return _compact_json(body, where), Fidelity.CANONICAL  # vcrpy keeps aiohttp's json= as it was given
    if isinstance(body, dict) and "b64" not in body:
        body = {"b64": body["base64_string"]} if "base64_string" in body else body.get("string")
    return _bytes(body, where), Fidelity.WIRE


def _bytes(body: object, where: str) -> bytes | None:
    match body:
        case None:
            return None
        case bytes():
            return body
        case str():
            return body.encode("utf-8", "surrogatepass")
        case {"b64": str(text)}:
            try:
                return base64.b64decode(text, validate=True)
            except binascii.Error as error:
                raise EntryValueError(f"its {where} body is no base64") from error
        case Opaque(tag=tag):
            raise EntryValueError(f"its {where} body carries the tag {tag}, which is never executed")
        case _:
            raise EntryValueError(f"its {where} body is {_kind(body)}, not text")


def _compact_json(value: object, where: str) -> bytes:
    """The JSON of a `parsed_body`: values as recorded, key order as the cassette has it."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise EntryValueError(f"its {where} parsed_body is no JSON: {error}") from error
    return text.encode("utf-8", "surrogatepass")


def _headers(headers: object) -> Headers:
    """Names in lower case, values one by one. What is tagged as somebody's class is left out."""
    pairs: list[tuple[str, str]] = []
    if isinstance(headers, dict):
        for name, value in headers.items():
            lower = str(name).lower()
            if type(value) is list:
                pairs += [(lower, one if type(one) is str else _text(one)) for one in value]
            else:
                pairs.append((lower, _text(value)))
    elif isinstance(headers, list):
        pairs += [
            (_text(item[0]).lower(), _text(item[1]))
            for item in headers
            if isinstance(item, list) and len(item) == 2
        ]
    return tuple(pairs)


def _text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _status(response: Mapping[str, Any]) -> tuple[int | None, str]:
    status: object = response.get("status", response.get("status_code"))
    reason: object = response.get("reason")
    if isinstance(status, dict):
        reason = status.get("message")
        status = status.get("code")
    return (status if isinstance(status, int) else None), (reason if isinstance(reason, str) else "")


def _kind(value: object) -> str:
    """What a value is, in words."""
    names = {dict: "an object", list: "a list", str: "text", bytes: "bytes", bool: "a boolean"}
    if value is None:
        return "missing"
    if isinstance(value, Opaque):
        return f"tagged {value.tag} (which is never executed)"
    return names.get(
        type(value), "a number" if isinstance(value, int | float) else f"a {type(value).__name__}"
    )

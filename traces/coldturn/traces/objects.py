"""One JSON object of a file as an exchange: a bare body, or a body with what was recorded around it."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

import msgspec

from coldturn.reference.prefix.errors import UnreadableBodyError
from coldturn.reference.prefix.model import Fidelity
from coldturn.reference.prefix.request import recognise_surface, settings_in
from coldturn.traces.classify import address, instant, kind_of
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind, cache_headers
from coldturn.traces.genai_call import as_sent
from coldturn.traces.opening import BOM
from coldturn.traces.slices import NotJsonError, array_parts, object_parts, value_of
from coldturn.traces.usage_reply import bare_reply, bare_usage

REQUEST_KEYS = ("request", "request_raw", "request_base64", "body")
CALL_KEYS = ("request_params", "kwargs", "complete_input_dict")
"""Under these stand the arguments of a client library's call; the last is what LiteLLM logs before a call."""
_SIGNS = frozenset({"response", "usage", "timestamp"})
_OF_LOGS = frozenset({
    "answered", "cost", "duration", "duration_ms", "end_time", "endTime", "error", "headers", "id", "kwargs",
    "latency", "latency_ms", "method", "model_type", "outputs", "response", "response_model", "start_time",
    "startTime", "started", "status", "status_code", "time", "timestamp", "ts", "url", "uuid",
})  # fmt: skip
"""What logs write beside a request's members; no request has a response, or the time that it was sent at."""
_NO_PROMPT = ("prompt", b"null")
_START_KEYS = ("started", "start_time", "startTime")
_TIME_KEYS = (*_START_KEYS, "timestamp", "time", "ts")
_YEAR_2000 = 946_684_800
_MILLISECONDS = 100_000_000_000
"""From here on a number is no second of this millennium or the next two, and a millisecond since 1973."""
_NO_ROLES = (
    "its messages have no role, so it is no request as it was sent; LangChain's are read as runs of LangSmith"
    " or events of callbacks (coldturn docs inputs)"
)
_HISTORIES = frozenset({"messages", "input", "contents"})


@dataclass(frozen=True, slots=True)
class LoggedAnswer:
    """The response of a logged call, which stands in a line of its own behind the request's."""

    body: bytes | None


def exchange_of_object(text: bytes, *, source: str, entry: int) -> Exchange | EntryError | LoggedAnswer:
    """Read one line of JSONL or one element of an array.

    A bare body's bytes are those of the line. ``{url, request | request_raw | request_base64, response,
    started, answered}`` carries them inside; `request` counts as sent the way it stands there, or is its
    text.
    So does ``{method, url, headers, body}``, also with the answer's as ``{request: ..., response: ...}``.
    Arguments of a call (`CALL_KEYS`) are values as sent, whose bytes somebody wrote later.
    """
    kind = kind_of(text, "")
    if kind is not ExchangeKind.OTHER:
        return _body_or_more(text, kind, source=source, entry=entry)
    try:
        parts = _parts(text)
        if any(key in parts for key in REQUEST_KEYS):
            parts = _flattened(parts)
            return _recorded(parts, _request_body(parts), Fidelity.WIRE, source=source, entry=entry)
        for key in CALL_KEYS:
            if key in parts:
                body = _as_text(parts[key], key)
                return _recorded(parts, body, Fidelity.CANONICAL, source=source, entry=entry)
        if parts.get("type") == b'"response"' and "response" in parts:
            return LoggedAnswer(answer_of(parts["response"])[0])
    except NotJsonError as error:
        return EntryError(source, entry, str(error))
    return bare(text, kind, source=source, entry=entry)


def _body_or_more(text: bytes, kind: ExchangeKind, *, source: str, entry: int) -> Exchange | EntryError:
    """A body, or a line of a log that holds a body's members beside others."""
    if kind is ExchangeKind.MODEL and _lacks_roles(text):
        return EntryError(source, entry, _NO_ROLES)
    logged = _beside(text) if kind is ExchangeKind.MODEL else None
    if logged is None:
        return bare(text, kind, source=source, entry=entry)
    parts, body = logged
    return _recorded(parts, body, Fidelity.CANONICAL, source=source, entry=entry)


def _lacks_roles(text: bytes) -> bool:
    """Whether these are some library's own messages: in no format of a provider's do they all lack a role.

    Few bodies lack the key altogether, and the others are not looked into.
    """
    if b'"role"' in text or b'"messages"' not in text:
        return False
    try:
        said = array_parts(object_parts(text).get("messages", b""))
        return bool(said) and all(one[:1] in (b"{", b"[") for one in said)
    except NotJsonError:
        return False


def _beside(text: bytes) -> tuple[dict[str, bytes], bytes] | None:
    """A log's line with the request's members beside the answer's, and the request alone; None for a body."""
    try:
        if _SIGNS.isdisjoint(settings_in(text)):
            return None
        parts = object_parts(text)
    except (NotJsonError, UnreadableBodyError):
        return None
    usage = parts.get("usage")
    counted = usage is not None and bare_usage(usage) is not None
    if not counted and not any(parts.get(key, b"null") != b"null" for key in ("response", "timestamp")):
        return None
    settings = parts.get("kwargs", b"")
    sent = {**parts, **(object_parts(settings) if settings[:1] == b"{" else {})}
    kept = [
        (key, raw) for key, raw in sent.items() if key not in _OF_LOGS and (key != "usage" or not counted)
    ]
    if counted and parts.get("response", b"null") == b"null":
        parts["response"] = b'{"usage":' + parts["usage"] + b"}"
    body = b",".join(msgspec.json.encode(key) + b":" + raw for key, raw in kept if (key, raw) != _NO_PROMPT)
    return parts, b"{" + body + b"}"


def _parts(text: bytes) -> dict[str, bytes]:
    bare_text = text.removeprefix(BOM).strip()
    if bare_text[:1] != b"{":
        raise NotJsonError(f"it is {_kind(bare_text)}, not an object")
    return object_parts(bare_text)


def _kind(text: bytes) -> str:
    """What a JSON text is, by its first byte."""
    kinds = {b"[": "a list", b'"': "a text", b"t": "a boolean", b"f": "a boolean", b"n": "null", b"N": "NaN"}
    found = kinds.get(text[:1])
    return found or ("a number" if text[:1] in b"-0123456789" else "no JSON")


def bare(text: bytes, kind: ExchangeKind, *, source: str, entry: int) -> Exchange:
    """A request of which nothing but the body was kept."""
    body, fidelity = _sent(text, Fidelity.WIRE)
    return Exchange(
        source=source,
        entry=entry,
        kind=kind,
        method="POST",
        url="",
        request_body=body,
        response_body=None,
        status=None,
        content_type="",
        started=None,
        fidelity=fidelity,
    )


def _sent(body: bytes, fidelity: Fidelity) -> tuple[bytes, Fidelity]:
    """A body, or what a client library makes of the arguments that stand in its place."""
    sent = as_sent(body)
    return (body, fidelity) if sent is None else (sent, Fidelity.CANONICAL)


def _recorded(
    parts: dict[str, bytes], body: bytes, fidelity: Fidelity, *, source: str, entry: int
) -> Exchange:
    url = address(_optional_text(parts, "url"))
    body, fidelity = _sent(body, fidelity)
    response, content_type = answer_of(parts.get("response", parts.get("response_body")))
    usage = None if response is None else bare_usage(response)
    surface = None if usage is None else recognise_surface(body, url)
    if usage is not None and surface is not None:
        response = bare_reply(surface, usage)
    started, undated = _started(parts)
    return Exchange(
        source=source,
        entry=entry,
        kind=kind_of(body, url),
        method=_optional_text(parts, "method") if parts.get("method", b"")[:1] == b'"' else "POST",
        url=url,
        request_body=body,
        response_body=response,
        status=_status(parts),
        content_type=content_type,
        started=started,
        fidelity=fidelity,
        undated=undated,
        answered=None if "answered" not in parts else instant(value_of(parts["answered"])),
        request_headers=cache_headers(_headers(parts.get("headers"))),
    )


def _flattened(parts: dict[str, bytes]) -> dict[str, bytes]:
    """The same with an HTTP request's members, and its answer's, in place of the objects around them."""
    flat = dict(parts)
    request = _http(parts.get("request"))
    if request is not None and _HISTORIES.isdisjoint(request):
        del flat["request"]
        flat |= {key: request[key] for key in ("method", "url", "headers", "body") if key in request}
    answer = _http(parts.get("response"))
    if answer is not None and not {"status", "status_code", "headers"}.isdisjoint(answer):
        flat["response"] = answer["body"]
        flat |= {key: answer[key] for key in ("status", "status_code") if key in answer}
    return flat


def _http(raw: bytes | None) -> dict[str, bytes] | None:
    """The members of an object that has a body; None for anything else."""
    if raw is None or raw[:1] != b"{" or b'"body"' not in raw:
        return None
    members = object_parts(raw)
    return members if "body" in members else None


def _status(parts: dict[str, bytes]) -> int | None:
    for key in ("status", "status_code"):
        raw = parts.get(key, b"")
        if len(raw) == len("200") and raw.isdigit():
            return int(raw)
    return None


def _headers(raw: bytes | None) -> list[tuple[str, str]]:
    """Headers as an object, or as a list of pairs; what is neither is left out."""
    value = None if raw is None else value_of(raw)
    pairs = list(value.items()) if isinstance(value, dict) else value
    if not isinstance(pairs, list):
        return []
    found: list[tuple[str, str]] = []
    for pair in pairs:
        match pair:
            case (str() as name, str() as content) | [str() as name, str() as content]:
                found.append((name.lower(), content))
            case _:
                continue
    return found


def _request_body(parts: dict[str, bytes]) -> bytes:
    if "request_base64" in parts:
        try:
            return base64.b64decode(_text(parts["request_base64"], "request_base64"), validate=True)
        except binascii.Error as error:
            raise NotJsonError("request_base64 is no base64") from error
    if "request_raw" in parts:
        return _text(parts["request_raw"], "request_raw").encode("utf-8", "surrogatepass")
    given = [key for key in ("request", "body") if key in parts]
    likely = [key for key in given if parts[key][:1] == b"{" or parts[key][:2] == b'"{']
    key = (likely or given)[0]
    return b"" if parts[key] == b"null" else _as_text(parts[key], key)


def _as_text(raw: bytes, key: str) -> bytes:
    """A member that stands there as an object, or as the text of one."""
    return _text(raw, key).encode("utf-8", "surrogatepass") if raw[:1] == b'"' else raw


def answer_of(raw: bytes | None) -> tuple[bytes | None, str]:
    """A `response` member: an object as it stands, or the text of a stream; with its content type."""
    if raw is None or raw == b"null":
        return None, ""
    if raw[:1] != b'"':
        return raw, "application/json"
    text = _text(raw, "response")
    content_type = "application/json" if text.lstrip()[:1] in ("{", "[") else "text/event-stream"
    return text.encode("utf-8", "surrogatepass"), content_type


def began(parts: dict[str, bytes]) -> float | None:
    """When a call began whose line holds a request's messages or arguments beside that time; else None."""
    if _HISTORIES.isdisjoint(parts) and not any(key in parts for key in CALL_KEYS):
        return None
    return _started({key: parts[key] for key in _START_KEYS if key in parts})[0]


def _started(parts: dict[str, bytes]) -> tuple[float | None, bool]:
    """When a request was sent, and whether a time stands there that is none."""
    for key in _TIME_KEYS:
        raw = parts.get(key, b"null")
        if raw == b"null":
            continue
        value = value_of(raw)
        if key != "started" and isinstance(value, int | float):
            if value < _YEAR_2000:
                continue  # a duration, or a count
            value = value / 1000 if _MILLISECONDS <= value < 1000 * _MILLISECONDS else value
        moment = instant(value)
        return moment, moment is None
    return None, False


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

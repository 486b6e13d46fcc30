"""What LiteLLM logs of a call: its standard logging payload, and the rows of its spend logs.

Messages are logged in the form of the interface that was called. For a provider with that interface the body
is theirs, in canonical JSON. A chat call that went to Claude or to Gemini was put into another format on its
way: its body is written afresh, as for other observers, without markers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import IO, Any
from urllib.parse import urlsplit

from coldturn.reference.prefix.model import Fidelity, Surface, Zone
from coldturn.traces.classify import instant
from coldturn.traces.errors import UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.formats.genai_content import parsed
from coldturn.traces.formats.model import Format, Head, Layout, Record
from coldturn.traces.formats.observed import Observed, Records
from coldturn.traces.formats.talk import messages_of
from coldturn.traces.kinds import InputKind
from coldturn.traces.limits import MAX_LINE
from coldturn.traces.pieces import holds_lines, pieces
from coldturn.traces.slices import NotJsonError, to_json, value_of
from coldturn.traces.usage_reply import Counts, counts, usage_reply

_ALWAYS = frozenset({"call_type", "startTime"})
_ITS_OWN = frozenset({"response_cost", "spend", "custom_llm_provider", "model_map_information"})
_SURFACES = {
    "completion": Surface.CHAT_COMPLETIONS,
    "acompletion": Surface.CHAT_COMPLETIONS,
    "anthropic_messages": Surface.MESSAGES,
    "responses": Surface.RESPONSES,
    "aresponses": Surface.RESPONSES,
}
_PATHS = {
    Surface.CHAT_COMPLETIONS: ("/v1/chat/completions", "messages"),
    Surface.MESSAGES: ("/v1/messages", "messages"),
    Surface.RESPONSES: ("/v1/responses", "input"),
}
_ANSWERED_BY = {
    Surface.CHAT_COMPLETIONS: "choices",
    Surface.MESSAGES: "content",
    Surface.RESPONSES: "output",
}
"""The member that tells a whole answer of a surface."""
_TRANSLATED = ("anthropic", "bedrock", "gemini", "vertex", "google")
"""Providers whose own format is not Chat Completions."""
_NOT_SENT = frozenset({"model", "messages", "input", "metadata", "litellm_metadata"})
"""What the proxy itself takes out of a request, and what the body names on its own."""
_REDACTED = "redacted-by-litellm"
_LATE = float("inf")


@dataclass(frozen=True, slots=True, order=True)
class _Place:
    """Where a call stands in the file, ordered by its time."""

    started: float
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class _Call:
    """One logged call."""

    entry: int
    told: Mapping[str, Any]

    @property
    def surface(self) -> Surface | None:
        """Of the interface that was called; None for calls that send no prompt to a chat model."""
        return _SURFACES.get(_text(self.told.get("call_type")))

    @property
    def provider(self) -> str:
        return _text(self.told.get("custom_llm_provider")).lower()

    @property
    def model(self) -> str:
        """Its name without the provider that LiteLLM puts in front of it."""
        named = _text(self.told.get("model"))
        return named.removeprefix(f"{self.provider}/") if self.provider else named

    @property
    def host(self) -> str:
        try:
            return urlsplit(_text(self.told.get("api_base"))).hostname or ""
        except ValueError:
            return ""

    @property
    def started(self) -> float | None:
        return instant(self.told.get("startTime"))

    @property
    def answered(self) -> float | None:
        first = instant(self.told.get("completionStartTime"))
        return first if first is not None and self.started is not None and first >= self.started else None

    @property
    def asked(self) -> Mapping[str, Any]:
        """The request as the proxy received it, where the proxy kept it."""
        kept = _mapping(self.told.get("proxy_server_request"))
        return _mapping(kept.get("body")) or kept

    @property
    def settings(self) -> Mapping[str, Any]:
        """What was asked for beside the messages, tools included."""
        return _mapping(self.told.get("model_parameters"))

    @property
    def talk(self) -> list[Any]:
        """The messages; nothing where they were not kept or taken out."""
        given = parsed(self.told.get("messages"))
        kept = given or self.asked.get("messages") or self.asked.get("input")
        said = [{"role": "user", "content": kept}] if isinstance(kept, str) else kept
        if not isinstance(said, list):
            return []
        return [] if any(_mapping(one).get("content") == _REDACTED for one in said) else said

    @property
    def sent(self) -> bool:
        """Whether the provider saw it: LiteLLM answers some calls from a cache of its own."""
        return str(self.told.get("cache_hit")).lower() != "true"

    @property
    def status(self) -> int | None:
        """Of the provider's answer; None where a failed call tells none."""
        if _text(self.told.get("status")) != "failure":
            return 200
        within = _mapping(self.told.get("metadata"))
        error = _mapping(self.told.get("error_information")) or _mapping(within.get("error_information"))
        code = str(error.get("error_code", ""))
        return int(code) if len(code) == 3 and code.isascii() and code.isdigit() and code >= "400" else None

    @property
    def usage(self) -> Counts:
        """As LiteLLM counts: the input includes what was read and written."""
        usage = _mapping(_mapping(self.told.get("response")).get("usage"))
        if not usage:
            usage = _mapping(_mapping(self.told.get("metadata")).get("usage_object"))
        details = _mapping(usage.get("prompt_tokens_details") or usage.get("input_tokens_details"))
        return counts(
            _first(usage, "prompt_tokens", "input_tokens", otherwise=self.told.get("prompt_tokens")),
            _first(usage, "cache_read_input_tokens", otherwise=details.get("cached_tokens")),
            _first(usage, "cache_creation_input_tokens", otherwise=details.get("cache_write_tokens")),
            _first(usage, "completion_tokens", "output_tokens", otherwise=self.told.get("completion_tokens")),
            excludes_cache="input_tokens" in usage and "input_tokens_details" not in usage,
        )


def _recognise(head: Head) -> bool:
    if head.layout is Layout.TEXT:
        return False
    return any(one.keys() >= _ALWAYS and _ITS_OWN & one.keys() for one in head.objects)


def read(stream: IO[bytes], name: str) -> Iterator[Record]:
    """Each call in the order of the times: callbacks write from threads, and lists begin with the newest."""
    records = Records(name)
    places: list[_Place] = []
    for offset, content in _objects(stream, name):
        call = _call(content, len(places), name)
        if isinstance(call, EntryError):
            yield call
        started = _LATE if isinstance(call, EntryError) or call.started is None else call.started
        places.append(_Place(started, offset, 0 if isinstance(call, EntryError) else len(content)))
    for entry, place in enumerate(sorted(one for one in places if one.length)):
        stream.seek(place.offset)
        yield from _records(_call(stream.read(place.length), entry, name), records, name)


def _objects(stream: IO[bytes], name: str) -> Iterator[tuple[int, bytes]]:
    """Where each call stands: an element of a list, a line, or all of a file that is one object."""
    first = stream.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    stream.seek(0)
    if first != b"[" and holds_lines(stream):
        offset = 0
        while line := stream.readline(MAX_LINE):
            if line.strip():
                yield offset, line
            offset += len(line)
        return
    depth = 1 if first == b"[" else 0
    try:
        for piece in pieces(stream, lambda path: len(path) < depth):
            yield piece.offset, piece.content
    except NotJsonError as error:
        raise UnreadableJsonError(name, str(error)) from error


def _call(content: bytes, entry: int, name: str) -> _Call | EntryError:
    try:
        value = value_of(content)
    except NotJsonError as error:
        return EntryError(name, entry, str(error))
    if not isinstance(value, dict):
        return EntryError(name, entry, "it is no object")
    return _Call(entry, value)


def _records(call: _Call | EntryError, records: Records, name: str) -> Iterator[Record]:
    """What a logged call tells; a call that never reached a provider is passed over and counted."""
    if isinstance(call, EntryError):
        yield call
        return
    try:
        surface = call.surface
        if surface is None or not call.sent or call.status is None:
            yield _exchange(call, name, "", b"{}", ExchangeKind.OTHER)
        elif not call.talk or _is_translated(call, surface):
            for one in records.of(_observed(call)):
                yield replace(one, status=call.status) if isinstance(one, Exchange) else one
        else:
            path, member = _PATHS[surface]
            body = _body(call, member)
            yield _exchange(call, name, path, body, ExchangeKind.MODEL, _reply(call, surface))
    except RecursionError:
        yield EntryError(name, call.entry, "it is nested too deeply")


def _is_translated(call: _Call, surface: Surface) -> bool:
    return surface is Surface.CHAT_COMPLETIONS and any(word in call.provider for word in _TRANSLATED)


def _observed(call: _Call) -> Observed:
    """A call whose body has to be written afresh, or of which nothing but numbers was kept."""
    tools = call.settings.get("tools", call.asked.get("tools"))
    known = bool(call.settings or call.asked)
    return Observed(
        entry=call.entry,
        model=call.model,
        provider=call.provider,
        messages=messages_of(call.talk) if call.talk else None,
        tools=(tools if isinstance(tools, list) else []) if known else None,
        usage=call.usage,
        started=call.started,
        answered=call.answered,
        host=call.host if call.host == "api.anthropic.com" else "",
        conversation=_text(call.told.get("session_id")) or _text(call.told.get("trace_id")),
    )


def _body(call: _Call, member: str) -> bytes:
    """The request in the form of the interface: settings, then messages, in canonical JSON."""
    beside = {key: value for key, value in (call.asked or call.settings).items() if key not in _NOT_SENT}
    body = {"model": call.model, **beside, member: call.talk}
    return to_json(body)


def _reply(call: _Call, surface: Surface) -> bytes | None:
    """The answer as it was logged where it is one of that interface; else its usage."""
    answer = _mapping(call.told.get("response"))
    if _ANSWERED_BY[surface] in answer and "usage" in answer:
        return to_json(answer)
    return usage_reply(surface, call.usage) if call.usage.known else None


def _exchange(
    call: _Call, name: str, path: str, body: bytes, kind: ExchangeKind, reply: bytes | None = None
) -> Exchange:
    missing = set() if call.settings or call.asked else {Zone.TOOLS}
    if path == _PATHS[Surface.MESSAGES][0] and "system" not in (call.asked or call.settings):
        missing |= set() if call.asked else {Zone.SYSTEM}
    return Exchange(
        source=name,
        entry=call.entry,
        kind=kind,
        method="POST",
        url=f"https://{call.host}{path}" if call.host else path,
        request_body=body,
        response_body=reply,
        status=call.status,
        content_type="application/json",
        started=call.started,
        fidelity=Fidelity.CANONICAL,
        answered=call.answered,
        undated=call.started is None and call.told.get("startTime") is not None,
        parts_missing=frozenset(missing),
    )


def _mapping(value: object) -> Mapping[str, Any]:
    found = parsed(value)
    return found if isinstance(found, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _first(usage: Mapping[str, Any], *keys: str, otherwise: object) -> object:
    """The first of the members that is a count."""
    return next((usage[key] for key in keys if usage.get(key) is not None), otherwise)


FORMATS = (Format(InputKind.LITELLM, "LiteLLM's log of calls", _recognise, read),)

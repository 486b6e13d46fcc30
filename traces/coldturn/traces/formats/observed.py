"""A model call as an observer kept it: what was said and counted, not the bytes that were sent.

A request body is written afresh in the format of the provider that the source names (Anthropic Messages,
Gemini's generateContent, else Chat Completions), with fidelity ``messages``. Its usage becomes the reply, in
the fields of that format.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from coldturn.reference.prefix.model import Fidelity, Surface, Zone
from coldturn.reference.prefix.request import recognise_surface
from coldturn.traces.classify import kind_of
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.formats.bodies import body_of
from coldturn.traces.formats.model import Record
from coldturn.traces.formats.talk import Message
from coldturn.traces.formats.too_few import has_too_few
from coldturn.traces.slices import to_json
from coldturn.traces.usage_record import UsageRecord
from coldturn.traces.usage_reply import Counts, bare_reply, bare_usage, usage_reply

_PATHS = {
    Surface.MESSAGES: "/v1/messages",
    Surface.CHAT_COMPLETIONS: "/v1/chat/completions",
    Surface.RESPONSES: "/v1/responses",
    Surface.CONVERSE: "/model/-/converse",
}
_GOOGLE = ("google", "gemini", "vertex", "gcp")
_BEDROCK = ("bedrock", "aws")
_CLOUDS = (*_BEDROCK, *_GOOGLE)
"""Providers of several makers' models; a Claude there takes its maker's format."""
_MODEL_OF_BEDROCK = re.compile(r"(?:[a-z-]+\.)?anthropic\.claude-")
_HOST_OF_BEDROCK = "bedrock-runtime.amazonaws.com"
"""Where a provider is told and no server: Bedrock's, of no region."""

_TOO_FEW = "are reported for {:,} bytes, which cannot be all of them: counts like that are left out here"


@dataclass(frozen=True, slots=True)
class Observed:
    """One call.

    Attributes:
        messages: What was sent, system text in front; None when no content was kept.
        tools: Their definitions; None when the source did not keep any, which is not the same as none sent.
        body: The request itself as somebody logged it, where it was; it goes before `messages`.
        usage_raw: The provider's own usage object, where it was kept.
        provider: ``gen_ai.provider.name``, or the source's own word; empty when not told.
        host: The server's name where the source tells it.
        span_id: Of the span that tells of it, where one does.
        response_id: The provider's, which two observers of one call share.
        conversation: What calls without content are numbered by.
    """

    entry: int
    model: str = ""
    provider: str = ""
    messages: Sequence[Message] | None = None
    tools: Sequence[Any] | None = None
    body: bytes | None = None
    usage: Counts = field(default_factory=Counts)
    usage_raw: bytes | None = None
    started: float | None = None
    answered: float | None = None
    host: str = ""
    conversation: str = ""
    span_id: str = ""
    response_id: str = ""

    @property
    def has_content(self) -> bool:
        """Whether there is anything to compare."""
        return bool(self.body) or bool(self.messages)


class Records:
    """Turns the calls of one source into records, numbering those that have no content."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._calls: Counter[str] = Counter()
        self._told = False

    def of(self, call: Observed) -> Iterator[Record]:
        """The call as a record; nothing when it has neither content nor numbers."""
        if not call.has_content:
            if call.usage.known:
                yield self._numbers(call)
            return
        try:
            yield from self._checked(self._exchange(call), call)
        except RecursionError:
            yield EntryError(self._source, call.entry, "its messages are nested too deeply")

    def _checked(self, exchange: Exchange, call: Observed) -> Iterator[Record]:
        """The call without counts that cannot be true of it; said once."""
        tokens = call.usage.input
        if not has_too_few(exchange.request_body, tokens):
            yield exchange
            return
        if not self._told:
            self._told = True
            size = len(exchange.request_body)
            yield EntryError(self._source, call.entry, f"{tokens:,} input tokens {_TOO_FEW.format(size)}")
        yield replace(exchange, response_body=None)

    def _numbers(self, call: Observed) -> UsageRecord:
        ordinal = self._calls[call.conversation]
        self._calls[call.conversation] += 1
        return UsageRecord(
            source=self._source,
            entry=call.entry,
            conversation=call.conversation,
            call=ordinal,
            model=call.model,
            provider=call.provider,
            input_tokens=call.usage.input,
            cached_tokens=call.usage.read,
            written_tokens=call.usage.written,
            output_tokens=call.usage.output,
            started=call.started,
            raw=call.usage_raw,
        )

    def _exchange(self, call: Observed) -> Exchange:
        surface = _logged_surface(call) or _surface_of(call.provider, call.model)
        body = call.body if call.body is not None else _body_of(call, surface)
        path = _path_of(surface, call.model)
        host = call.host or (_HOST_OF_BEDROCK if _is_claude_on_bedrock(call) else "")
        address = f"https://{host}{path}" if host else path
        kept = call.body is not None or call.tools is not None
        return Exchange(
            source=self._source,
            entry=call.entry,
            kind=kind_of(body, address) if call.body is not None else ExchangeKind.MODEL,
            method="POST",
            url=address,
            request_body=body,
            response_body=_reply(surface, call),
            status=None,
            content_type="application/json",
            started=call.started,
            fidelity=Fidelity.MESSAGES if call.body is None else Fidelity.CANONICAL,
            answered=call.answered,
            parts_missing=frozenset() if kept else frozenset({Zone.TOOLS}),
        )


def _reply(surface: Surface, call: Observed) -> bytes | None:
    if call.usage_raw is not None and bare_usage(call.usage_raw) is not None:
        return bare_reply(surface, call.usage_raw)
    return usage_reply(surface, call.usage) if call.usage.known else None


def _logged_surface(call: Observed) -> Surface | None:
    return None if call.body is None else recognise_surface(call.body)


def _surface_of(provider: str, model: str) -> Surface:
    """The format of a provider, or of the model's maker where no provider is told."""
    host, name = provider.lower(), model.lower()
    cloud = not host or any(word in host for word in _CLOUDS)
    if "anthropic" in host or (cloud and "claude" in name) or _MODEL_OF_BEDROCK.match(name):
        return Surface.MESSAGES
    if any(word in host for word in _GOOGLE) or (not host and "gemini" in name):
        return Surface.GENERATE_CONTENT
    return Surface.CHAT_COMPLETIONS


def _is_claude_on_bedrock(call: Observed) -> bool:
    """Told by its provider, or by the name that only Bedrock gives to a model."""
    provider, model = call.provider.lower(), call.model.lower()
    there = any(word in provider for word in _BEDROCK) or _MODEL_OF_BEDROCK.match(model) is not None
    return there and "claude" in model


def _path_of(surface: Surface, model: str) -> str:
    if surface is Surface.GENERATE_CONTENT:
        named = quote(model.rsplit("/", 1)[-1], safe="-._", errors="replace")
        return f"/v1beta/models/{named}:generateContent"
    return _PATHS[surface]


def _body_of(call: Observed, surface: Surface) -> bytes:
    body = body_of(surface, call.model, call.messages or (), call.tools)
    return to_json(body)

"""A model call as an observer kept it: what was said and counted, not the bytes that were sent.

A request body is written afresh in the format of the provider that the source names (Anthropic Messages, else
Chat Completions), with fidelity ``messages``. Its usage becomes the reply, in the fields of that format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from coldturn.reference.prefix.model import Fidelity, Surface, Zone
from coldturn.reference.prefix.request import recognise_surface
from coldturn.traces.classify import kind_of
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.formats.model import Record
from coldturn.traces.formats.talk import Message, anthropic_body, chat_body, compact
from coldturn.traces.usage_record import UsageRecord
from coldturn.traces.usage_reply import Counts, usage_reply

_PATHS = {
    Surface.MESSAGES: "/v1/messages",
    Surface.CHAT_COMPLETIONS: "/v1/chat/completions",
    Surface.RESPONSES: "/v1/responses",
}
_ANTHROPIC = ("anthropic", "claude")


@dataclass(frozen=True, slots=True)
class Observed:
    """One call.

    Attributes:
        messages: What was sent, system text in front; None when no content was kept.
        tools: Their definitions; None when the source did not keep any, which is not the same as none sent.
        body: The request itself as somebody logged it, where it was; it goes before `messages`.
        provider: ``gen_ai.provider.name``, or the source's own word; empty when not told.
        host: The server's name where the source tells it.
        conversation: What calls without content are numbered by.
    """

    entry: int
    model: str = ""
    provider: str = ""
    messages: Sequence[Message] | None = None
    tools: Sequence[Any] | None = None
    body: bytes | None = None
    usage: Counts = field(default_factory=Counts)
    started: float | None = None
    answered: float | None = None
    host: str = ""
    conversation: str = ""

    @property
    def has_content(self) -> bool:
        """Whether there is anything to compare."""
        return bool(self.body) or bool(self.messages)


class Records:
    """Turns the calls of one source into records, numbering those that have no content."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._calls: Counter[str] = Counter()

    def of(self, call: Observed) -> Iterator[Record]:
        """The call as a record; nothing when it has neither content nor numbers."""
        if not call.has_content:
            if call.usage.known:
                yield self._numbers(call)
            return
        try:
            yield self._exchange(call)
        except RecursionError:
            yield EntryError(self._source, call.entry, "its messages are nested too deeply")

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
        )

    def _exchange(self, call: Observed) -> Exchange:
        surface = _logged_surface(call) or _surface_of(call.provider, call.model)
        body = call.body if call.body is not None else _body_of(call, surface)
        address = f"https://{call.host}{_PATHS[surface]}" if call.host else _PATHS[surface]
        kept = call.body is not None or call.tools is not None
        return Exchange(
            source=self._source,
            entry=call.entry,
            kind=kind_of(body, address) if call.body is not None else ExchangeKind.MODEL,
            method="POST",
            url=address,
            request_body=body,
            response_body=usage_reply(surface, call.usage) if call.usage.known else None,
            status=None,
            content_type="application/json",
            started=call.started,
            fidelity=Fidelity.MESSAGES if call.body is None else Fidelity.CANONICAL,
            answered=call.answered,
            parts_missing=frozenset() if kept else frozenset({Zone.TOOLS}),
        )


def _logged_surface(call: Observed) -> Surface | None:
    surface = None if call.body is None else recognise_surface(call.body)
    return surface if surface in _PATHS else None


def _surface_of(provider: str, model: str) -> Surface:
    told = f"{provider}/{model}".lower()
    return Surface.MESSAGES if any(word in told for word in _ANTHROPIC) else Surface.CHAT_COMPLETIONS


def _body_of(call: Observed, surface: Surface) -> bytes:
    build = anthropic_body if surface is Surface.MESSAGES else chat_body
    return compact(build(call.model, call.messages or (), call.tools)).encode("utf-8", "surrogatepass")

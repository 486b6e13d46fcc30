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
from coldturn.reference.tokens import ReportedTokens
from coldturn.traces.classify import kind_of
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.formats.model import Record
from coldturn.traces.formats.talk import Message, anthropic_body, chat_body, compact
from coldturn.traces.usage_record import UsageRecord

_PATHS = {
    Surface.MESSAGES: "/v1/messages",
    Surface.CHAT_COMPLETIONS: "/v1/chat/completions",
    Surface.RESPONSES: "/v1/responses",
}
_ANTHROPIC = ("anthropic", "claude")
_MOST_TOKENS = 1 << 53
"""Above this no count of tokens is one: JSON's numbers end there."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Tokens as a source reports them. `input` includes read and written ones; None means not reported."""

    input: ReportedTokens | None = None
    read: ReportedTokens | None = None
    written: ReportedTokens | None = None
    output: ReportedTokens | None = None

    @property
    def known(self) -> bool:
        """Whether anything was reported."""
        return any(one is not None for one in (self.input, self.read, self.written, self.output))


def counted(value: object) -> ReportedTokens | None:
    """A count of tokens, also as the text of a number; None when it is none."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 17:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST_TOKENS:
        return None
    return ReportedTokens(value)


def counts(
    whole: object, read: object, written: object, output: object, *, excludes_cache: bool = False
) -> Counts:
    """Counts as reported.

    Args:
        whole: The input.
        read: Read from a cache.
        written: Written to a cache.
        output: Of the answer.
        excludes_cache: The source's input leaves out what was read and written. This is also certain where
            these are more than the input.
    """
    total, cached, stored = counted(whole), counted(read), counted(written)
    beside = (cached or 0) + (stored or 0)
    if total is not None and (excludes_cache or beside > total):
        total = ReportedTokens(total + beside)
    return Counts(total, cached, stored, counted(output))


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


def usage_reply(surface: Surface, usage: Counts) -> bytes:
    """A reply of which nothing but its usage is known, in the fields of a surface."""
    told: dict[str, int | dict[str, int] | None]
    match surface:
        case Surface.MESSAGES:
            fresh = None
            if usage.input is not None:
                fresh = max(usage.input - (usage.read or 0) - (usage.written or 0), 0)
            told = {
                "input_tokens": fresh,
                "cache_creation_input_tokens": usage.written,
                "cache_read_input_tokens": usage.read,
                "output_tokens": usage.output,
            }
        case Surface.RESPONSES:
            told = {
                "input_tokens": usage.input,
                "input_tokens_details": _details(usage),
                "output_tokens": usage.output,
            }
        case _:
            told = {
                "prompt_tokens": usage.input,
                "prompt_tokens_details": _details(usage),
                "completion_tokens": usage.output,
            }
    known = {key: value for key, value in told.items() if value is not None}
    return bare_reply(surface, compact(known).encode())


def bare_reply(surface: Surface, usage: bytes) -> bytes:
    """A reply that holds a usage object of a surface and nothing else."""
    empty = {Surface.MESSAGES: b"content", Surface.RESPONSES: b"output"}.get(surface, b"choices")
    return b'{"' + empty + b'":[],"usage":' + usage + b"}"


def _details(usage: Counts) -> dict[str, int] | None:
    known = {"cached_tokens": usage.read, "cache_write_tokens": usage.written}
    told: dict[str, int] = {key: value for key, value in known.items() if value is not None}
    return told or None

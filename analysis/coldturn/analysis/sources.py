"""What the analyses of a stream of exchanges share: what an input held, and its answers read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from coldturn.reference.prefix.errors import UnreadableBodyError
from coldturn.reference.prefix.model import NO_LABELS, Labels
from coldturn.reference.prefix.request import PromptRequest, read_request
from coldturn.reference.prefix.strings import Flag
from coldturn.reference.wire import decode_reply
from coldturn.reference.wire.errors import ProviderError, UnreadableReplyError
from coldturn.reference.wire.model import Reply
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.slices import NotJsonError, object_parts
from coldturn.traces.sniff import named_keys

_BAD_REQUEST = 400
_COMPACTED = Labels(compacted=True)

Note: TypeAlias = Callable[[str, int | None, str, str | None], None]
"""Takes source, entry, message and slug of what cannot be read."""


def seen_words(kinds: Counter[ExchangeKind]) -> list[str]:
    """What there is besides requests to models, counted in words."""
    words = {ExchangeKind.MCP: "MCP message", ExchangeKind.OTHER: "other request"}
    counted = ((kinds[kind], word) for kind, word in words.items())
    return [f"{count} {word}{'s'[: count != 1]}" for count, word in counted if count]


@dataclass(slots=True)
class SourceState:
    """What has been seen of one input.

    Attributes:
        failed: Entries that could not be read.
        read: Model requests that could.
        undated: Entries whose recorded time is none.
        keys: Of the first that is neither a request to a model nor an MCP message, where it is an object.
    """

    kinds: Counter[ExchangeKind] = field(default_factory=Counter)
    failed: int = 0
    read: int = 0
    undated: list[int] = field(default_factory=list)
    keys: tuple[str, ...] = ()

    def model_request(self, item: Exchange | EntryError, note: Note) -> tuple[int, PromptRequest] | None:
        """Count an item; of a model request that can be read give its number in this source and what it says.

        Args:
            item: The next of its source.
            note: Called with source, entry, message and slug of what cannot be read.
        """
        if isinstance(item, EntryError):
            self.failed += 1
            note(item.source, item.entry, item.message, None)
            return None
        number = self.kinds[ExchangeKind.MODEL]
        self.kinds[item.kind] += 1
        if item.kind is ExchangeKind.OTHER and self.kinds[item.kind] == 1:
            self.keys = _keys(item.request_body)
        if item.kind is not ExchangeKind.MODEL:
            return None
        try:
            request = read_request(
                item.request_body, url=item.url, fidelity=item.fidelity, labels=_labels(item)
            )
        except UnreadableBodyError as error:
            self.failed += 1
            note(item.source, item.entry, str(error), error.slug)
            return None
        self.read += 1
        return number, request

    def seen(self) -> list[str]:
        """What else it held, in words."""
        words = seen_words(self.kinds)
        if self.keys:
            others = self.kinds[ExchangeKind.OTHER]
            words[-1] += f"{', the first' if others > 1 else ''} with the keys {named_keys(self.keys)}"
        return words

    def note_time(self, exchange: Exchange) -> None:
        """Remember an entry whose time cannot be used."""
        if exchange.undated:
            self.undated.append(exchange.entry)

    def undated_words(self) -> str:
        """What is wrong with times, once for all entries."""
        count = len(self.undated)
        entries = "its time is" if count == 1 else f"the times of {count} entries from here on are"
        return f"{entries} no moment that a clock shows; read as if none had been recorded"


def _keys(body: bytes) -> tuple[str, ...]:
    try:
        return tuple(object_parts(body))
    except NotJsonError:
        return ()


@dataclass(slots=True)
class Conversations:
    """Requests of agents' sessions that later ones go on from though no byte tells: behind a compaction."""

    _placed: dict[tuple[str, int], int] = field(default_factory=dict)

    def parent_of(self, exchange: Exchange) -> int | None:
        """Index of the request that an exchange goes on from; None where its source tells none."""
        earlier = exchange.compacted_from
        return None if earlier is None else self._placed.get((exchange.source, earlier))

    def note(self, exchange: Exchange, index: int) -> None:
        """Remember the index under which a request was placed."""
        # Only sessions, which keep no whole requests, tell of compactions.
        if exchange.parts_missing:
            self._placed[exchange.source, exchange.entry] = index


def _labels(exchange: Exchange) -> Labels:
    return NO_LABELS if exchange.compacted_from is None else _COMPACTED


NO_TEXT = "its body holds bytes that are no UTF-8, which providers refuse; they are compared as they stand"


def holds_no_text(request: PromptRequest) -> bool:
    """Whether a body is no UTF-8."""
    return not request.body.isascii() and Flag.INVALID_UTF8 in request.flags


def reply_of(exchange: Exchange, request: PromptRequest) -> Reply | None:
    """The recorded answer; None when there is none that says anything of usage."""
    if exchange.response_body is None:
        return None
    try:
        return decode_reply(request.surface, exchange.response_body, exchange.content_type)
    except (UnreadableReplyError, ProviderError):
        return None


def was_refused(exchange: Exchange) -> bool:
    """Whether the server did not answer the request: then it cached nothing."""
    return exchange.status is not None and exchange.status >= _BAD_REQUEST

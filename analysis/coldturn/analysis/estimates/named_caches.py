"""Explicit caches of Gemini's that a recording tells of: what they hold, how long, and who reads them.

Calls of their own make, renew and delete them. What a recording does not hold the making of is unknown,
though an answer that lists or renews a cache still tells its size and its end.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

from xxhash import xxh3_128_digest

from coldturn.analysis.entries.resources import Resource
from coldturn.reference.prefix.errors import UnreadableBodyError
from coldturn.reference.prefix.model import Surface
from coldturn.reference.prefix.request import PromptRequest, read_request
from coldturn.reference.tokens import ReportedTokens, estimate_tokens
from coldturn.traces.cached_content import CacheAction, CacheCall, cache_calls, cache_id
from coldturn.traces.exchange import Exchange

MOST_CACHES = 1_000
"""Caches of all sources that are remembered, the latest of them."""


class State(StrEnum):
    """What is known of the cache that a request names, at the time of the request."""

    LIVES = "lives"
    EXPIRED = "expired"
    DELETED = "deleted"
    UNKNOWN = "unknown"


@dataclass(slots=True)
class NamedCache:
    """One explicit cache.

    Attributes:
        entry: Index in the file of the first call that told of it.
        tokens: Its size as the provider counted it; None when it told none.
        resource: The same for the entry model; its size is estimated where none was told.
        content: What was put in, read; None when the recording does not hold its making.
        digest: Equal ones hold the same tools, system text and contents for the same model.
        same_as: Name of an earlier cache that holds the same; `overlaps` says that it lived still.
        told: Whether a finding has told of its making.
        requests: How many requests named it and were answered; `read_reported` is what they read.
    """

    name: str
    source: str
    entry: int
    model: str | None
    tokens: ReportedTokens | None
    resource: Resource
    content: PromptRequest | None = None
    digest: bytes | None = None
    same_as: str | None = None
    overlaps: bool = False
    renewals: int = 0
    told: bool = False
    requests: int = 0
    read_reported: ReportedTokens | None = None

    def used(self, read: ReportedTokens | None) -> None:
        """Count a request that was answered, and what it read by the provider's report."""
        self.requests += 1
        if read is not None:
            self.read_reported = ReportedTokens((self.read_reported or 0) + read)


@dataclass(frozen=True, slots=True)
class Naming:
    """The cache that a request names.

    Attributes:
        cache: None when the recording tells nothing of it.
        over: Seconds since its end; None when it lives, or without times.
    """

    name: str
    state: State
    cache: NamedCache | None = None
    over: float | None = None

    @property
    def gone(self) -> bool:
        """Whether the provider refuses requests that name it."""
        return self.state in (State.EXPIRED, State.DELETED)


@dataclass(slots=True)
class NamedCaches:
    """Takes the exchanges of recordings in their order.

    Attributes:
        ttl: Seconds that a cache lives of which nobody told a lifetime.
    """

    ttl: float | None = None
    _caches: OrderedDict[tuple[str, str], NamedCache] = field(default_factory=OrderedDict)
    _by_digest: dict[tuple[str, bytes], NamedCache] = field(default_factory=dict)

    def __iter__(self) -> Iterator[NamedCache]:
        """All that are remembered, in the order in which they were first told of."""
        return iter(self._caches.values())

    def take(self, exchange: Exchange) -> None:
        """Take an exchange; nothing happens unless it is about explicit caches."""
        for call in cache_calls(exchange):
            key = exchange.source, call.id
            known = self._caches.get(key)
            if call.action is CacheAction.DELETED:
                if known is not None:
                    known.resource = replace(known.resource, deleted=True, ended=exchange.started)
            elif known is None:
                self._add(key, call, exchange)
            elif call.action is CacheAction.RENEWED:
                known.renewals += 1
                known.resource = replace(known.resource, expires=_end(_begin(call, exchange), call.lifetime))

    def of(self, request: PromptRequest, source: str, started: float | None) -> Naming | None:
        """The cache that a request names; None when it names none."""
        name = request.cached_content
        if name is None:
            return None
        known = self._caches.get((source, cache_id(name)))
        if known is None:
            return Naming(name, State.UNKNOWN)
        held = known.resource
        if held.deleted:
            over = None if held.ended is None or started is None else max(started - held.ended, 0.0)
            return Naming(name, State.DELETED, known, over)
        if started is not None and held.expires is not None and held.expired(started):
            return Naming(name, State.EXPIRED, known, started - held.expires)
        return Naming(name, State.LIVES, known)

    def _add(self, key: tuple[str, str], call: CacheCall, exchange: Exchange) -> None:
        content = _content(call, exchange)
        size: int = call.tokens or 0
        if call.tokens is None and content is not None:
            size = estimate_tokens(content.content_bytes)
        lifetime = self.ttl if call.lifetime is None else call.lifetime
        begun = _begin(call, exchange)
        made = begun if call.action is CacheAction.MADE else None
        resource = Resource(size, made, _end(begun, lifetime))
        cache = NamedCache(
            call.name, exchange.source, exchange.entry, call.model, call.tokens, resource, content
        )
        self._caches[key] = cache
        if len(self._caches) > MOST_CACHES:
            _, oldest = self._caches.popitem(last=False)
            if oldest.digest is not None:
                self._by_digest.pop((oldest.source, oldest.digest), None)
        if content is not None:
            self._compare(cache, content, exchange.started)

    def _compare(self, cache: NamedCache, content: PromptRequest, now: float | None) -> None:
        """Find the latest earlier cache with the same content."""
        cache.digest = digest = _digest(content, cache.model)
        known = self._by_digest.get((cache.source, digest))
        if known is not None:
            cache.same_as = known.name
            cache.overlaps = known.resource.lives(now)
        self._by_digest[cache.source, digest] = cache


def _begin(call: CacheCall, exchange: Exchange) -> float | None:
    """When a lifetime begins: by the recording's clock, else by the provider's."""
    if exchange.started is not None or call.action is CacheAction.TOLD:
        return exchange.started
    return call.told_at


def _end(now: float | None, lifetime: float | None) -> float | None:
    return None if now is None or lifetime is None else now + lifetime


def _content(call: CacheCall, exchange: Exchange) -> PromptRequest | None:
    if not call.content:
        return None
    try:
        found = read_request(call.content, surface=Surface.GENERATE_CONTENT, fidelity=exchange.fidelity)
    except UnreadableBodyError:
        return None
    return found.without_body()


def _digest(content: PromptRequest, model: str | None) -> bytes:
    tool_config = content.settings.get("toolConfig") or content.settings.get("tool_config") or b""
    return xxh3_128_digest(
        b"\0".join([(model or "").encode("utf-8", "surrogatepass"), tool_config, *_digests(content)])
    )


def _digests(content: PromptRequest) -> Iterable[bytes]:
    return (element.digest for element in content.contents)

"""Requests in order, each beside the one that it continues: findings with verdicts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import msgspec

from coldturn.analysis.breaks.findings import Finding, Verdict
from coldturn.analysis.breaks.pair import PairOptions, finding_of
from coldturn.analysis.estimates.estimator import usage_of
from coldturn.analysis.estimates.named_caches import NamedCaches
from coldturn.analysis.estimates.placement import request_ttl
from coldturn.analysis.estimates.ruleset import EntryModel
from coldturn.analysis.estimates.usage import ProviderUsage
from coldturn.analysis.sources import was_refused
from coldturn.analysis.verdicts.aliases import aliases_of
from coldturn.analysis.verdicts.branch import of_branch
from coldturn.analysis.verdicts.cached_content import by_cached_content
from coldturn.analysis.verdicts.combine import combined, priced
from coldturn.analysis.verdicts.earlier import Beginnings, Earlier, own_cache
from coldturn.analysis.verdicts.entry_book import EntryBook, Look, longest_lifetimes
from coldturn.analysis.verdicts.image_detail import told_by_detail
from coldturn.analysis.verdicts.model import Case, Known, Sent, Thresholds
from coldturn.analysis.verdicts.refusals import refused_for_markers
from coldturn.analysis.verdicts.rulebook import Rulebook
from coldturn.analysis.verdicts.serving import upstream_of
from coldturn.analysis.verdicts.settings import are_equal
from coldturn.analysis.verdicts.signs import SignReader
from coldturn.analysis.verdicts.vendor import with_vendor
from coldturn.reference.prefix.causes.branches import BRANCHES
from coldturn.reference.prefix.model import Comparison
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.tokens import EstimatedTokens
from coldturn.reference.wire.model import Reply
from coldturn.traces.exchange import Exchange

MOST_REQUESTS = 10_000
_MOST_ANCESTORS = 64
NEWER_REFUSED = "the server refused this request: it read and cost nothing"
OLDER_REFUSED = "the server refused the older request, so nothing of it was kept"
_NO_USAGE = ProviderUsage()


@dataclass(slots=True)
class Observed:
    """A request as the judge took it in; `index` is what later requests name it by.

    `look` and `earlier` tell what earlier requests left for it, with markers and without.
    """

    index: int
    exchange: Exchange
    request: PromptRequest
    reply: Reply | None
    sent: Sent
    look: Look | None
    earlier: Earlier | None = None


@dataclass(slots=True)
class Judge:
    """Takes requests with `observe`, in the order in which they were sent; then `judge` tells of each.

    What is kept: some figures of the latest requests, and the entries that they wrote.

    Attributes:
        rulebook: Rules of providers.
        thresholds: From when on a reported read is a miss.
        caches: Explicit caches that requests may name; told of by `caches.take`.
    """

    rulebook: Rulebook = field(default_factory=Rulebook)
    thresholds: Thresholds = field(default_factory=Thresholds)
    caches: NamedCaches = field(default_factory=NamedCaches)
    _sent: OrderedDict[int, Sent] = field(default_factory=OrderedDict)
    _books: dict[tuple[object, ...], EntryBook] = field(default_factory=dict)
    _cleared: set[str] = field(default_factory=set)
    _signs: SignReader = field(default_factory=SignReader)
    _beginnings: Beginnings = field(default_factory=Beginnings)

    def observe(
        self,
        exchange: Exchange,
        request: PromptRequest,
        reply: Reply | None,
        *,
        index: int,
        parent: int | None = None,
    ) -> Observed:
        """Take the next request.

        Args:
            exchange: As recorded.
            request: The same, read.
            reply: Its answer, where that could be read.
            index: Names it for later requests.
            parent: Index of the request that it continues.

        Raises:
            ParameterError: The user's parameters do not fit the rules.
            UnknownRulesError: There are no rules of the name that was given.
        """
        known = self.rulebook.known(request, exchange.url)
        places = look = None
        served = not was_refused(exchange)
        ttl = request_ttl(request, known.parameters) if known.parameters.ttls else None
        earlier = self._beginnings.observe(exchange, request, known, ttl=ttl, served=served)
        if known.model is EntryModel.WRITTEN_ENTRIES and request.previous_response_id is None:
            places, look = self._book(exchange, request, known).observe(
                request, exchange.started, exchange.answered, served=served
            )
        before = None if parent is None else self._sent.get(parent)
        sent = Sent(
            known=known,
            model=request.model,
            bytes=request.content_bytes,
            started=exchange.started,
            answered=exchange.answered,
            refused=not served,
            usage=usage_of(exchange, reply) if reply is not None or exchange.headers else _NO_USAGE,
            continues=request.previous_response_id is not None or bool(exchange.parts_missing),
            places=places,
            ttl=ttl,
            lifetimes=longest_lifetimes(ttl, places, None if before is None else before.lifetimes),
            routes=exchange.request_headers,
            upstream=upstream_of(exchange.response_body),
            envelope=_keys(exchange.request_body) if known.parameters.envelope_order else None,
            naming=self.caches.of(request, exchange.source, exchange.started),
            parent=parent,
            latest=exchange.started,
            signs=self._signs.of(exchange, request, provider=known.provider, host=known.host),
        )
        self._keep(index, sent)
        return Observed(index, exchange, request, reply, sent, look, earlier)

    def judge(
        self,
        observed: Observed,
        parent: PromptRequest,
        comparison: Comparison,
        options: PairOptions,
    ) -> Finding | None:
        """What the pair tells, numbered as the second request of two; None when it is intact.

        Args:
            observed: The child, just observed.
            parent: The request that it continues.
            comparison: What the bytes of both tell.
            options: What the finding carries.
        """
        found = finding_of(parent, observed.request, comparison, options)
        found = told_by_detail(found, comparison.first, parent, observed.request)
        was = None if observed.sent.parent is None else self._sent.get(observed.sent.parent)
        branch = found if found is not None and not BRANCHES.isdisjoint(found.kinds) else None
        if was is None or (branch is not None and observed.sent.usage.read is None):
            return found
        plain = was.naming is None and observed.sent.naming is None
        if plain and (was.refused or observed.sent.refused):
            status = observed.exchange.status
            wrong = refused_for_markers(observed.request, observed.sent, status, found, options)
            return wrong or _unpaid(found, NEWER_REFUSED if observed.sent.refused else OLDER_REFUSED)
        if plain and found is None and comparison.stable and _says_nothing(observed, parent, was):
            self._repeats(observed.sent)
            return None
        case = Case(
            parent=parent,
            child=observed.request,
            was=was,
            now=observed.sent,
            comparison=comparison,
            stable_bytes=_stable_bytes(comparison),
            thresholds=self.thresholds,
            missing=observed.exchange.parts_missing,
            look=observed.look,
            ancestors=lambda: self._ancestors(was),
            earlier_bytes=0 if observed.earlier is None else observed.earlier.bytes,
            cleared=self._cleared,
        )
        if branch is not None:
            return (
                priced(case, of_branch(case, branch, options), observed.exchange.started) if plain else branch
            )
        if plain:
            judged = combined(case, found, options, started=observed.exchange.started)
        else:
            judged = by_cached_content(case, found, options)
        if comparison.stable:
            self._repeats(observed.sent)
        diagnosis = observed.reply.diagnosis if observed.reply else None
        told = with_vendor(case, judged, diagnosis, options)
        return None if told is None else replace(told, aliases=aliases_of(told.cause, told.zone))

    def _book(self, exchange: Exchange, request: PromptRequest, known: Known) -> EntryBook:
        key = (
            exchange.source,
            request.surface.value,
            known.host,
            request.model or "",
            own_cache(request, exchange.request_headers, known),
        )
        book = self._books.get(key)
        if book is None:
            book = self._books[key] = EntryBook(known.parameters)
        return book

    def _keep(self, index: int, sent: Sent) -> None:
        self._sent[index] = sent
        if len(self._sent) > MOST_REQUESTS:
            self._sent.popitem(last=False)

    def _repeats(self, sent: Sent) -> None:
        """Note that a request repeats what its ancestors sent, which starts the lifetime of that anew."""
        sent.intact = True
        started = sent.started
        if started is None or sent.refused:
            return
        for one in self._ancestors(sent):
            if one.latest is not None and one.latest >= started:
                return
            one.latest = started

    def _ancestors(self, one: Sent) -> Iterator[Sent]:
        for _ in range(_MOST_ANCESTORS):
            if one.parent is None or not one.intact:
                return
            held = self._sent.get(one.parent)
            if held is None:
                return
            yield held
            one = held


def _unpaid(found: Finding | None, evidence: str) -> Finding | None:
    """A difference from, or of, a request that the server did not answer: no cache holds it."""
    if found is None or found.verdict is Verdict.PLANNED:
        return found
    return replace(
        found,
        verdict=Verdict.BROKEN_HARMLESS,
        evidence=evidence,
        lost_tokens_estimated=EstimatedTokens(0),
        aliases=aliases_of(found.cause, found.zone),
    )


def _says_nothing(observed: Observed, parent: PromptRequest, was: Sent) -> bool:
    """Whether a request that repeats its parent brings nothing else that could tell of a miss."""
    now = observed.sent
    return (
        now.is_plain
        and (now.started is None or was.started is None)
        and are_equal(parent, observed.request, was, now)
        and (observed.reply is None or observed.reply.diagnosis is None)
    )


def _stable_bytes(comparison: Comparison) -> int:
    first = comparison.first
    if comparison.stable or first is None:
        return comparison.common_bytes
    return first.offset + first.lost_bytes


def _keys(body: bytes) -> tuple[str, ...] | None:
    try:
        return tuple(msgspec.json.decode(body, type=dict[str, msgspec.Raw]))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None

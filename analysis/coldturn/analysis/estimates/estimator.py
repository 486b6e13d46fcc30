"""Requests one at a time into the three columns: ceiling, what the rules say, what was reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from coldturn.analysis.entries.request import CacheRequest
from coldturn.analysis.estimates.by_name import ByName
from coldturn.analysis.estimates.chains import Chains
from coldturn.analysis.estimates.from_usage import UsageEstimator
from coldturn.analysis.estimates.layout import Layout
from coldturn.analysis.estimates.named_caches import NamedCaches
from coldturn.analysis.estimates.partial import broken_parent, loses_reasoning, partial_of
from coldturn.analysis.estimates.placement import Placed, place, request_ttl
from coldturn.analysis.estimates.prices import cost_by_rules
from coldturn.analysis.estimates.registry import Registry, shipped
from coldturn.analysis.estimates.report import BLOCK, Flag, RequestEstimate, Told
from coldturn.analysis.estimates.ruleset import RuleSet
from coldturn.analysis.estimates.scope import EstimateOptions, Scope, open_scope
from coldturn.analysis.estimates.tokens import Weigh
from coldturn.analysis.estimates.usage import ProviderUsage, from_bedrock_headers, normalise
from coldturn.reference.prefix.model import BlockKind
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.tokens import EstimatedTokens, ReportedTokens, estimate_tokens
from coldturn.reference.wire.model import Reply
from coldturn.traces.exchange import Exchange
from coldturn.traces.usage_record import UsageRecord

_NO_ANSWERS: frozenset[int] = frozenset()
_ANSWERED = frozenset({BlockKind.TOOL_CALL, BlockKind.REASONING})
_HIDDEN_FACTOR = 3
_HIDDEN_LEAST = 1_000


class RequestEstimator:
    """Estimates requests in the order in which they were sent.

    Args:
        options: What a user asks for.
        registry: The rules; those that ship with coldturn when None.
    """

    def __init__(self, options: EstimateOptions | None = None, registry: Registry | None = None) -> None:
        self._options = options or EstimateOptions()
        self._registry = registry or shipped()
        self._scopes: dict[tuple[str, ...], Scope] = {}
        self._chains = Chains()
        self._numbers = UsageEstimator(self._options, self._registry)
        self._counted: dict[int, UsageRecord] = {}
        self._by_name = ByName(self._options, self._registry)

    @property
    def caches(self) -> NamedCaches:
        """Explicit caches that the recordings tell of."""
        return self._by_name.caches

    @property
    def rules_by_name(self) -> RuleSet | None:
        """Rules of explicit caches; None without any."""
        return self._by_name.rules

    def take_other(self, exchange: Exchange) -> None:
        """Take an exchange that is no request to a model: it may make or end an explicit cache."""
        self._by_name.take(exchange)

    @property
    def numbers(self) -> UsageEstimator:
        """For calls of which only numbers are known; prompts that were not kept whole go through it too."""
        return self._numbers

    @property
    def scopes(self) -> Mapping[tuple[str, ...], Scope]:
        """By source, surface, host and model."""
        return self._scopes

    def observe(
        self,
        exchange: Exchange,
        request: PromptRequest,
        reply: Reply | None,
        *,
        parent: PromptRequest | None = None,
        lineage: str | None = None,
        number: int = 0,
    ) -> Told:
        """Take the next request.

        Args:
            exchange: As recorded.
            request: The same, read.
            reply: Its answer, where that could be read.
            parent: The request that it was compared with.
            lineage: Name of its lineage.
            number: Its number among the model requests of its source.

        Raises:
            ParameterError: The user's parameters do not fit the rules.
            UnknownRulesError: There are no rules of the name that was given.
        """
        told = usage_of(exchange, reply)
        if exchange.parts_missing:
            return self._by_counts(exchange, request, told, parent, lineage, number)
        key = scope_key(exchange, request)
        named = self._by_name.observe(
            exchange, request, reply, told, scope_key=key, lineage=lineage, number=number
        )
        if named is not None:
            return named
        usage = told.trusted()
        scope, opened = self._scope(exchange, request)
        earlier = self._chains.earlier(request)
        self._chains.answered(request, earlier or (), reply)
        late = scope.tick(exchange.started)
        layout = scope.layouts.make(request, earlier or ())
        ends = scope.measure.ends(layout.links, layout.weights, usage.input)
        broken = broken_parent(scope.layouts, request, parent)
        partial = None if broken is None else partial_of(broken, layout, ends)
        placed = place(request, layout, scope.parameters)
        cached = _cache_request(exchange, request, scope, layout, placed)
        cached = replace(cached, ends=ends, partial=partial, answer_tokens=usage.output)
        ceiling = scope.highest(layout, ends, partial)
        contested = placed.contested is not None or scope.assumes_hidden(ceiling)
        reading = scope.read(cached, usage)
        scope.learn(layout, placed, usage)
        if earlier is None or (placed.refused is not None and usage.input is not None):
            reading = None
        flags = {
            Flag.NO_RULES: scope.rules is None,
            Flag.HOST_ASSUMED: self._assumes_host(exchange, scope),
            Flag.NO_TIME: late is Flag.NO_TIME,
            Flag.TIME_GOES_BACK: late is Flag.TIME_GOES_BACK,
            Flag.EARLIER_RESPONSE_MISSING: earlier is None,
            Flag.REFUSED: placed.refused is not None,
            Flag.CONTESTED: contested,
            Flag.REASONING_INVALIDATED: broken is not None
            and loses_reasoning(scope.parameters, broken, layout),
            Flag.HIDDEN_INPUT: _has_hidden_input(usage, layout, self._options.weigh),
            Flag.READ_EXCEEDS_INPUT: told.exceeds_input,
            Flag.NEGATIVE_COUNT: told.negative,
        }
        row = RequestEstimate(
            source=exchange.source,
            request=number,
            entry=exchange.entry,
            lineage=lineage,
            model=request.model,
            rules=scope.rules.name if scope.rules else None,
            input_reported=usage.input,
            input_estimated=EstimatedTokens(usage.input or cached.tokens),
            # An answer that is sent back can be read, though no earlier request held it.
            ceiling_estimated=EstimatedTokens(max(ceiling, reading.read if reading else 0)),
            read_estimated=None if reading is None else EstimatedTokens(reading.read),
            written_estimated=None if reading is None else EstimatedTokens(reading.written),
            read_reported=usage.read,
            written_reported=usage.written,
            block=max(scope.parameters.granularity, BLOCK),
            flags=tuple(flag for flag, holds in flags.items() if holds),
            cost_estimated=cost_by_rules(scope.rules, request.model, exchange.started, usage),
            diagnosis=reply.diagnosis if reply else None,
        )
        return Told(row, scope.parameters.reliability, scope.problem if opened else None)

    def pass_over(self, exchange: Exchange, request: PromptRequest, reply: Reply | None) -> None:
        """Take a request whose row is made elsewhere: only what requests of other scopes need of it is kept.

        Raises:
            ParameterError: The user's parameters do not fit the rules.
            UnknownRulesError: There are no rules of the name that was given.
        """
        if request.cached_content is not None:
            self._by_name.count(request, exchange.source, usage_of(exchange, reply).trusted())
            return
        self._scope(exchange, request)
        self._chains.answered(request, self._chains.earlier(request) or (), reply)

    def _by_counts(
        self,
        exchange: Exchange,
        request: PromptRequest,
        usage: ProviderUsage,
        parent: PromptRequest | None,
        lineage: str | None,
        number: int,
    ) -> Told:
        """A request of which tools, system text or markers were not kept: its bytes tell no sizes.

        They still tell which request it repeats in full; the rest follows from reported counts.
        """
        record = UsageRecord(
            source=exchange.source,
            entry=exchange.entry,
            conversation=lineage or "",
            call=number,
            model=request.model or "",
            input_tokens=usage.input,
            cached_tokens=usage.read,
            written_tokens=usage.written,
            written_long_tokens=usage.written_long,
            output_tokens=usage.output,
            started=exchange.started,
        )
        # A request that was observed and still lives has its `contents` to itself, copies of it included.
        self._counted[id(request.contents)] = record
        goes_on = parent is not None and request.contents[: len(parent.contents)] == parent.contents
        before = self._counted.get(id(parent.contents)) if parent is not None and goes_on else None
        flags = {Flag.NO_TIME: exchange.started is None, Flag.NEGATIVE_COUNT: usage.negative}
        told = self._numbers.compare(
            record,
            before,
            number=number,
            surface=request.surface,
            url=exchange.url,
            flags=[flag for flag, holds in flags.items() if holds],
        )
        if told.row.input_reported is not None:
            return told
        sent = estimate_tokens(request.content_bytes)
        return replace(told, row=replace(told.row, input_estimated=sent))

    def _scope(self, exchange: Exchange, request: PromptRequest) -> tuple[Scope, bool]:
        """The request's scope, and whether it is the first one in it."""
        key = scope_key(exchange, request)
        known = self._scopes.get(key)
        if known is not None:
            return known, False
        found = open_scope(self._options, self._registry, request.surface, exchange.url, request.model)
        self._scopes[key] = found
        return found, True

    def _assumes_host(self, exchange: Exchange, scope: Scope) -> bool:
        return not host_of(exchange.url) and scope.rules is not None and self._options.rules is None


def scope_key(exchange: Exchange, request: PromptRequest) -> tuple[str, str, str, str]:
    """What can share a cache: source, surface, host and model."""
    return exchange.source, request.surface.value, host_of(exchange.url), request.model or ""


def usage_of(exchange: Exchange, reply: Reply | None) -> ProviderUsage:
    """What the provider reported of an exchange, in its answer or in response headers."""
    if reply is not None and reply.usage is not None and reply.usage.raw:
        found = normalise(msgspec.json.decode(reply.usage.raw))
        if found is not None:
            # Google leaves zeros out; whether a count is one of them depends on the answer around it.
            left_out = found.read is None and reply.usage.cache_read_tokens == 0
            return replace(found, read=ReportedTokens(0)) if left_out else found
    return from_bedrock_headers(dict(exchange.headers)) or ProviderUsage()


def _cache_request(
    exchange: Exchange, request: PromptRequest, scope: Scope, layout: Layout, placed: Placed
) -> CacheRequest:
    return CacheRequest(
        keys=layout.keys,
        ends=(),
        started=scope.latest or 0.0,
        readable=exchange.answered if exchange.started is not None else None,
        probes=placed.probes,
        writes=placed.writes,
        answers=frozenset(_answers(layout)) if scope.parameters.fed_back else _NO_ANSWERS,
        ttl=request_ttl(request, scope.parameters),
    )


def _answers(layout: Layout) -> Iterator[int]:
    """Boundaries behind which the model's own words stand."""
    for index, unit in enumerate(layout.units):
        if index and (unit.role == "assistant" or unit.kind in _ANSWERED):
            yield layout.block_ends[index - 1]


def _has_hidden_input(usage: ProviderUsage, layout: Layout, weigh: Weigh) -> bool:
    """Whether a provider counts much more than was sent: its own tools, pages it fetched, files by id."""
    if usage.input is None:
        return False
    sent = sum(layout.weights) * weigh.tokens_per_unit
    return usage.input > _HIDDEN_FACTOR * sent + _HIDDEN_LEAST


def host_of(url: str) -> str:
    """The host of an address; empty where there is none, or only a path."""
    return (urlsplit(url).hostname or "") if url else ""


def registry_with(paths: list[Path]) -> Registry:
    """The shipped rules with a user's files added or in their place.

    Raises:
        RuleFileError: One cannot be read or is wrong.
    """
    return shipped().with_files(paths) if paths else shipped()

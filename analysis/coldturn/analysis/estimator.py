"""Requests one at a time into the three columns: ceiling, what the rules say, what was reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from coldturn.analysis.chains import Chains
from coldturn.analysis.entries.ceiling import Ceiling
from coldturn.analysis.entries.prefix import PrefixCache
from coldturn.analysis.entries.request import CacheRequest, Partial, Reading, Simulator
from coldturn.analysis.estimates import BLOCK, Flag, RequestEstimate
from coldturn.analysis.hidden import HiddenGauge
from coldturn.analysis.layout import Layout
from coldturn.analysis.layout_maker import LayoutMaker
from coldturn.analysis.partial import partial_of
from coldturn.analysis.placement import Placed, place, request_ttl
from coldturn.analysis.prices import CostEstimate, cost_of, price_of
from coldturn.analysis.registry import CannotEvaluateError, Registry, shipped, with_parameters
from coldturn.analysis.ruleset import Parameters, RuleSet
from coldturn.analysis.simulate import simulator
from coldturn.analysis.tokens import BytesWeigh, Measure, Weigh
from coldturn.analysis.usage import ProviderUsage, from_bedrock_headers, normalise
from coldturn.reference.prefix.model import BlockKind
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.tokens import EstimatedTokens
from coldturn.reference.wire.model import Reply
from coldturn.traces.exchange import Exchange

_NOTHING = Parameters(minimum=0)
_NO_ANSWERS: frozenset[int] = frozenset()
_ANSWERED = frozenset({BlockKind.TOOL_CALL, BlockKind.REASONING})
_HIDDEN_FACTOR = 3
_HIDDEN_LEAST = 1_000


@dataclass(frozen=True, slots=True)
class EstimateOptions:
    """What a user asks for.

    Attributes:
        rules: Name of the rules to use whatever the recording says; None to choose.
        parameters: Values of parameters, as text.
        capacity: Blocks or entries that fit into each scope's cache.
        weigh: How tokens are estimated.
    """

    rules: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    capacity: int | None = None
    weigh: Weigh = field(default_factory=BytesWeigh)

    def settled(self, known: Parameters) -> Parameters:
        """Parameters with the user's values in place of the rules'.

        Raises:
            ParameterError: There is no such parameter, or it cannot have that value.
        """
        given = dict(self.parameters)
        if self.capacity is not None:
            given["capacity"] = str(self.capacity)
        return with_parameters(known, given) if given else known


@dataclass(slots=True)
class Scope:
    """What can share a cache: the model of one source at one host, with everything known of its cache.

    Attributes:
        rules: None, with `problem`, when there are none.
        problem: Why nothing can be evaluated; told once.
    """

    rules: RuleSet | None
    parameters: Parameters
    simulator: Simulator | None
    measure: Measure
    layouts: LayoutMaker
    problem: CannotEvaluateError | None = None
    ceiling: Ceiling = field(default_factory=Ceiling)
    gauge: HiddenGauge | None = None
    latest: float | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """One request's estimate.

    Attributes:
        reliability: Share of readable tokens that are read in practice, by its rules.
        problem: Why its scope cannot be evaluated, for the first request of that scope.
    """

    row: RequestEstimate
    reliability: float = 1.0
    problem: CannotEvaluateError | None = None


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
        first, scope = self._scope(exchange, request)
        flags = list(self._flags(exchange, scope))
        usage = usage_of(exchange, reply)
        earlier = self._chains.earlier(request)
        if earlier is None:
            flags.append(Flag.EARLIER_RESPONSE_MISSING)
        self._chains.answered(request, earlier or (), reply)
        layout = scope.layouts.make(request, earlier or ())
        ends = scope.measure.ends(layout.links, layout.weights, usage.input)
        partial = self._partial(scope, layout, ends, request, parent)
        cached, placed = _cache_request(exchange, request, scope, layout, ends)
        cached = replace(cached, partial=partial, answer_tokens=usage.output)
        ceiling = _ceiling(scope, layout, ends, partial)
        reading = _read(scope, cached, usage)
        _learn(scope, layout, placed, usage)
        if placed.refused:
            flags.append(Flag.REFUSED)
        if placed.contested:
            flags.append(Flag.CONTESTED)
        if usage.input is not None and _has_hidden_input(usage.input, layout, self._options.weigh):
            flags.append(Flag.HIDDEN_INPUT)
        unknown = earlier is None or (placed.refused is not None and usage.input is not None)
        told = None if unknown else reading
        row = RequestEstimate(
            source=exchange.source,
            request=number,
            entry=exchange.entry,
            lineage=lineage,
            model=request.model,
            rules=scope.rules.name if scope.rules else None,
            input_reported=usage.input,
            input_estimated=EstimatedTokens(usage.input or (ends[-1] if ends else 0)),
            ceiling_estimated=EstimatedTokens(ceiling),
            read_estimated=None if told is None else EstimatedTokens(told.read),
            written_estimated=None if told is None else EstimatedTokens(told.written),
            read_reported=usage.read,
            written_reported=usage.written,
            block=max(scope.parameters.granularity, scope.parameters.interval or 0, BLOCK),
            flags=tuple(flags),
            cost_estimated=_cost(exchange, request, scope, usage),
        )
        return Told(row, scope.parameters.reliability, scope.problem if first else None)

    def _scope(self, exchange: Exchange, request: PromptRequest) -> tuple[bool, Scope]:
        host = (urlsplit(exchange.url).hostname or "") if exchange.url else ""
        key = (exchange.source, request.surface.value, host, request.model or "")
        known = self._scopes.get(key)
        if known is not None:
            return False, known
        scope = self._scopes[key] = self._open(exchange, request)
        return True, scope

    def _open(self, exchange: Exchange, request: PromptRequest) -> Scope:
        model = request.model or ""
        weigh = self._options.weigh
        measure = Measure(weigh.tokens_per_unit)
        rules: RuleSet | None = None
        try:
            if self._options.rules is not None:
                rules = self._registry.named(self._options.rules)
            else:
                rules = self._registry.choose(request.surface, exchange.url, request.model)
            parameters = self._options.settled(rules.parameters_for(model))
            cache = simulator(rules, parameters, model=model)
        except CannotEvaluateError as error:
            return Scope(None, _NOTHING, None, measure, LayoutMaker(_NOTHING, weigh), error)
        scope = Scope(rules, parameters, cache, measure, LayoutMaker(parameters, weigh))
        if parameters.interval is not None and "hidden_tokens" not in self._options.parameters:
            scope.gauge = HiddenGauge(parameters.interval, parameters.granularity)
        return scope

    def _flags(self, exchange: Exchange, scope: Scope) -> list[Flag]:
        found = [Flag.NO_RULES] if scope.rules is None else []
        if not exchange.url and scope.rules is not None and self._options.rules is None:
            found.append(Flag.HOST_ASSUMED)
        if exchange.started is None:
            found.append(Flag.NO_TIME)
        elif scope.latest is not None and exchange.started < scope.latest:
            found.append(Flag.TIME_GOES_BACK)
        else:
            scope.latest = exchange.started
        return found

    def _partial(
        self,
        scope: Scope,
        layout: Layout,
        ends: list[int],
        request: PromptRequest,
        parent: PromptRequest | None,
    ) -> Partial | None:
        if parent is None or request.previous_response_id is not None:
            return None
        if request.contents[: len(parent.contents)] == parent.contents:
            return None
        return partial_of(scope.layouts.make(parent), layout, ends)


def usage_of(exchange: Exchange, reply: Reply | None) -> ProviderUsage:
    """What the provider reported of an exchange, in its answer or in response headers."""
    if reply is not None and reply.usage is not None and reply.usage.raw:
        found = normalise(msgspec.json.decode(reply.usage.raw))
        if found is not None:
            return found
    return from_bedrock_headers(dict(exchange.headers)) or ProviderUsage()


def _cache_request(
    exchange: Exchange, request: PromptRequest, scope: Scope, layout: Layout, ends: list[int]
) -> tuple[CacheRequest, Placed]:
    placed = place(request, layout, scope.parameters)
    answers = frozenset(_answers(layout)) if scope.parameters.fed_back else _NO_ANSWERS
    cached = CacheRequest(
        keys=layout.keys,
        ends=ends,
        started=scope.latest if exchange.started is not None else scope.latest or 0.0,
        readable=exchange.answered if exchange.started is not None else None,
        probes=placed.probes,
        writes=placed.writes,
        answers=answers,
        ttl=request_ttl(request, scope.parameters),
    )
    return cached, placed


def _answers(layout: Layout) -> Iterator[int]:
    """Boundaries behind which the model's own words stand."""
    for index, unit in enumerate(layout.units):
        if index and (unit.role == "assistant" or unit.kind in _ANSWERED):
            yield layout.block_ends[index - 1]


def _ceiling(scope: Scope, layout: Layout, ends: list[int], partial: Partial | None) -> int:
    shared = scope.ceiling.observe(layout.links)
    common = ends[shared - 1] if shared else 0
    return max(common, partial.tokens if partial is not None else 0)


def _read(scope: Scope, cached: CacheRequest, usage: ProviderUsage) -> Reading | None:
    if scope.simulator is None:
        return None
    gauge = scope.gauge
    if gauge is not None and gauge.hidden is not None and isinstance(scope.simulator, PrefixCache):
        scope.simulator.grid = replace(scope.simulator.grid, hidden=gauge.hidden)
    reading = scope.simulator.observe(cached)
    if gauge is not None and usage.read:
        gauge.add(usage.read)
    return reading


def _learn(scope: Scope, layout: Layout, placed: Placed, usage: ProviderUsage) -> None:
    """What was read and written ends at the last marker: later requests know how many tokens that is."""
    if placed.writes and usage.written is not None and usage.read is not None:
        tokens = usage.read + usage.written
        if tokens:
            scope.measure.learn(layout.links, layout.weights, placed.writes[-1].boundary, tokens)


def _has_hidden_input(reported: int, layout: Layout, weigh: Weigh) -> bool:
    """Whether a provider counts much more than was sent: its own tools, pages it fetched, files by id."""
    sent = sum(layout.weights) * weigh.tokens_per_unit
    return reported > _HIDDEN_FACTOR * sent + _HIDDEN_LEAST


def _cost(
    exchange: Exchange, request: PromptRequest, scope: Scope, usage: ProviderUsage
) -> CostEstimate | None:
    if scope.rules is None:
        return None
    price = price_of(scope.rules, request.model or "", _day(exchange.started))
    return None if price is None else cost_of(usage, price)


def _day(started: float | None) -> date | None:
    try:
        return None if started is None else datetime.fromtimestamp(started, UTC).date()
    except (OverflowError, ValueError, OSError):
        return None


def registry_with(paths: list[Path]) -> Registry:
    """The shipped rules with a user's files added or in their place.

    Raises:
        RuleFileError: One cannot be read or is wrong.
    """
    return shipped().with_files(paths) if paths else shipped()

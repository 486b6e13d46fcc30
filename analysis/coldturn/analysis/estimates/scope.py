"""What can share a cache, with everything that is known of its cache so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite

from coldturn.analysis.entries.ceiling import Ceiling
from coldturn.analysis.entries.prefix import PrefixCache
from coldturn.analysis.entries.request import CacheRequest, Partial, Reading, Simulator
from coldturn.analysis.estimates.hidden import HiddenGauge
from coldturn.analysis.estimates.layout import Layout
from coldturn.analysis.estimates.layout_maker import LayoutMaker
from coldturn.analysis.estimates.placement import Placed
from coldturn.analysis.estimates.registry import CannotEvaluateError, Registry, with_parameters
from coldturn.analysis.estimates.report import Flag
from coldturn.analysis.estimates.ruleset import Parameters, RuleSet
from coldturn.analysis.estimates.simulate import simulator
from coldturn.analysis.estimates.tokens import BytesWeigh, Measure, Weigh
from coldturn.analysis.estimates.usage import ProviderUsage
from coldturn.reference.prefix.model import Surface

_NOTHING = Parameters(minimum=0)


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
    """The model of one source at one host.

    Attributes:
        rules: None, with `problem`, when there are none.
        problem: Why nothing can be evaluated.
        gauge: Follows reported reads where a hidden message decides on them.
        latest: Latest start of a request, epoch seconds.
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

    def tick(self, started: float | None) -> Flag | None:
        """Go on to the next request's start. One before an earlier request's is taken for simultaneous."""
        if started is None or not isfinite(started):
            return Flag.NO_TIME
        if self.latest is not None and started < self.latest:
            return Flag.TIME_GOES_BACK
        self.latest = started
        return None

    def highest(self, layout: Layout, ends: Sequence[int], partial: Partial | None) -> int:
        """Tokens that a cache without bounds could have served; the request is remembered."""
        shared = self.ceiling.observe(layout.links)
        common = ends[shared - 1] if shared else 0
        return max(common, partial.tokens if partial is not None else 0)

    def assumes_hidden(self, ceiling: int) -> bool:
        """Whether a read would hang on hidden tokens of which nothing was reported yet."""
        return (
            self.gauge is not None and self.gauge.hidden is None and ceiling >= (self.parameters.minimum or 0)
        )

    def read(self, cached: CacheRequest, usage: ProviderUsage) -> Reading | None:
        """What the rules say of the next request; None without any. Its own report counts for later ones."""
        if self.simulator is None:
            return None
        gauge = self.gauge
        if gauge is not None and gauge.hidden is not None and isinstance(self.simulator, PrefixCache):
            self.simulator.grid = replace(self.simulator.grid, hidden=gauge.hidden)
        reading = self.simulator.observe(cached)
        if gauge is not None and usage.read:
            gauge.add(usage.read)
        return reading

    def learn(self, layout: Layout, placed: Placed, usage: ProviderUsage) -> None:
        """What was read and written ends at the last marker: later requests know how many tokens that is."""
        if placed.writes and usage.written is not None and usage.read is not None:
            tokens = usage.read + usage.written
            if tokens:
                self.measure.learn(layout.links, layout.weights, placed.writes[-1].boundary, tokens)


def open_scope(
    options: EstimateOptions, registry: Registry, surface: Surface, url: str, model: str | None
) -> Scope:
    """A scope with an empty cache, by the rules that a user names or that fit.

    Raises:
        ParameterError: The user's parameters do not fit the rules.
        UnknownRulesError: There are no rules of the name that was given.
    """
    try:
        if options.rules is not None:
            rules = registry.named(options.rules)
        else:
            rules = registry.choose(surface, url, model)
        parameters = options.settled(rules.parameters_for(model or ""))
        cache = simulator(rules, parameters, model=model or "")
    except CannotEvaluateError as error:
        return bare_scope(options, error)
    measure = Measure(options.weigh.tokens_per_unit)
    scope = Scope(rules, parameters, cache, measure, LayoutMaker(parameters, options.weigh))
    if parameters.interval is not None and "hidden_tokens" not in options.parameters:
        scope.gauge = HiddenGauge(parameters.interval, parameters.granularity)
    return scope


def bare_scope(options: EstimateOptions, problem: CannotEvaluateError | None = None) -> Scope:
    """A scope without rules: only its ceiling is estimated."""
    measure = Measure(options.weigh.tokens_per_unit)
    return Scope(None, _NOTHING, None, measure, LayoutMaker(_NOTHING, options.weigh), problem)

"""Estimates of requests that name an explicit cache: they read exactly that, whole, while it lives.

Nothing that Google documents says that what stands behind it is read as well, and public measurements see no
such reads; so the rest of such a request counts as fresh, and leaves nothing for others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from coldturn.analysis.estimates.layout import Layout, Unit
from coldturn.analysis.estimates.named_caches import NamedCache, NamedCaches, Naming, State
from coldturn.analysis.estimates.prices import cost_by_rules
from coldturn.analysis.estimates.registry import Registry
from coldturn.analysis.estimates.report import BLOCK, Flag, RequestEstimate, Told
from coldturn.analysis.estimates.ruleset import EntryModel, RuleSet
from coldturn.analysis.estimates.scope import EstimateOptions, Scope, bare_scope, open_scope
from coldturn.analysis.estimates.usage import ProviderUsage
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.tokens import EstimatedTokens
from coldturn.reference.wire.model import Reply
from coldturn.traces.exchange import Exchange


@dataclass(slots=True)
class ByName:
    """The explicit caches of recordings, and the requests that name them.

    Args:
        options: What a user asks for.
        registry: The rules.
    """

    options: EstimateOptions
    registry: Registry
    caches: NamedCaches = field(default_factory=NamedCaches)
    _scopes: dict[tuple[str, ...], Scope] = field(default_factory=dict)

    @property
    def rules(self) -> RuleSet | None:
        """Those of explicit caches; None where the registry has none, or where a user names others."""
        if self.options.rules is not None:
            named = self.registry.named(self.options.rules)
            return named if named.model is EntryModel.EXPLICIT_RESOURCE else None
        found = (one for one in self.registry if one.model is EntryModel.EXPLICIT_RESOURCE)
        return next(found, None)

    def take(self, exchange: Exchange) -> None:
        """Take an exchange that is no request to a model: it may make, renew or delete a cache."""
        if self.caches.ttl is None:
            rules = self.rules
            self.caches.ttl = None if rules is None else self.options.settled(rules.parameters).ttl
        self.caches.take(exchange)

    def count(self, request: PromptRequest, source: str, usage: ProviderUsage) -> None:
        """Note that a request that was answered used the cache it names."""
        naming = self.caches.of(request, source, None)
        if naming is not None and naming.cache is not None:
            naming.cache.used(usage.read)

    def observe(
        self,
        exchange: Exchange,
        request: PromptRequest,
        reply: Reply | None,
        told: ProviderUsage,
        *,
        scope_key: tuple[str, ...],
        lineage: str | None,
        number: int,
    ) -> Told | None:
        """The estimate of a request that names a cache; None when it names none.

        Args:
            exchange: As recorded.
            request: The same, read.
            reply: Its answer, where that could be read.
            told: What the provider reported.
            scope_key: What can share a cache.
            lineage: Name of its lineage.
            number: Its number among the model requests of its source.

        Raises:
            ParameterError: The user's parameters do not fit the rules.
        """
        naming = self.caches.of(request, exchange.source, exchange.started)
        if naming is None:
            return None
        usage = told.trusted()
        self.count(request, exchange.source, usage)
        scope = self._scope(scope_key, request, exchange)
        late = scope.tick(exchange.started)
        layout, held = _layout(scope, request, naming.cache)
        ends = scope.measure.ends(layout.links, layout.weights, usage.input)
        shared = scope.ceiling.observe(layout.links) if held else 0
        own = ends[-1] if ends else 0
        size = _size(naming.cache, ends, held)
        whole = usage.input or (own if held else own + size)
        read = _read(naming, size, usage)
        flags = {
            Flag.NO_TIME: late is Flag.NO_TIME,
            Flag.TIME_GOES_BACK: late is Flag.TIME_GOES_BACK,
            Flag.NO_RULES: scope.rules is None,
            Flag.REFUSED: naming.gone and usage.input is not None,
            Flag.CACHED_CONTENT_UNKNOWN: naming.state is State.UNKNOWN,
            Flag.CACHED_CONTENT_GONE: naming.gone,
            Flag.READ_EXCEEDS_INPUT: told.exceeds_input,
            Flag.NEGATIVE_COUNT: told.negative,
        }
        read = None if scope.rules is None else read
        common = ends[shared - 1] if shared else 0
        row = RequestEstimate(
            source=exchange.source,
            request=number,
            entry=exchange.entry,
            lineage=lineage,
            model=request.model,
            rules=None if scope.rules is None else scope.rules.name,
            input_reported=usage.input,
            input_estimated=EstimatedTokens(whole),
            ceiling_estimated=EstimatedTokens(max(common, read or 0)),
            read_estimated=None if read is None else EstimatedTokens(read),
            written_estimated=None if read is None else EstimatedTokens(0),
            read_reported=usage.read,
            written_reported=usage.written,
            block=BLOCK,
            flags=tuple(flag for flag, holds in flags.items() if holds),
            cost_estimated=cost_by_rules(scope.rules, request.model, exchange.started, usage),
            diagnosis=reply.diagnosis if reply else None,
        )
        return Told(row)

    def _scope(self, key: tuple[str, ...], request: PromptRequest, exchange: Exchange) -> Scope:
        known = self._scopes.get(key)
        if known is None:
            rules = self.rules
            if rules is None:
                known = bare_scope(self.options)
            else:
                options = replace(self.options, rules=rules.name)
                known = open_scope(options, self.registry, request.surface, exchange.url, request.model)
            self._scopes[key] = known
        return known


def _layout(scope: Scope, request: PromptRequest, cache: NamedCache | None) -> tuple[Layout, int]:
    """A request behind the content that it names, and how many segments that content has."""
    content = None if cache is None else cache.content
    units = [] if content is None else list(_units(content))
    layout = scope.layouts.make(request, units)
    held = layout.block_ends[len(units) - 1] + 1 if units else 0
    if held and cache is not None and cache.tokens:
        scope.measure.learn(layout.links, layout.weights, held - 1, cache.tokens)
    return layout, held


def _units(content: PromptRequest) -> Sequence[Unit]:
    return [Unit(one.kind, one.role, one.message, one.zone, one.facts) for one in content.blocks]


def _size(cache: NamedCache | None, ends: Sequence[int], held: int) -> int:
    """Tokens of a cache: as the provider counted them, else by what was put in."""
    if cache is None:
        return 0
    if cache.tokens is not None:
        return cache.tokens
    return ends[held - 1] if held else cache.resource.tokens


def _read(naming: Naming, size: int, usage: ProviderUsage) -> int | None:
    """What the rules say; None where they cannot be right, since they say that nobody would have answered."""
    if naming.state is State.UNKNOWN or (naming.gone and usage.input is not None):
        return None
    if naming.gone:
        return 0
    return size if usage.input is None else min(size, usage.input)

"""From rules to a simulator of one scope."""

from __future__ import annotations

from coldturn.analysis.entries.prefix import Grid, PrefixCache
from coldturn.analysis.entries.request import Simulator
from coldturn.analysis.entries.resources import HOUR, ResourceCache
from coldturn.analysis.entries.slots import SlotPrefixes, SlotRules
from coldturn.analysis.entries.store import EntryStore
from coldturn.analysis.entries.units import UnitCache, UnitRules
from coldturn.analysis.entries.written import WrittenEntries
from coldturn.analysis.estimates.registry import MissingParameterError
from coldturn.analysis.estimates.ruleset import EntryModel, Parameters, RuleSet


def simulator(rules: RuleSet, parameters: Parameters | None = None, *, model: str = "") -> Simulator:
    """A cache of one scope, empty.

    Args:
        rules: Which entry model it follows.
        parameters: As they hold for `model`; the rules' own when None.
        model: Name of the model, for the message when something is missing.

    Raises:
        MissingParameterError: The rules do not know the minimum of this model.
    """
    known = rules.parameters_for(model) if parameters is None else parameters
    if rules.model is EntryModel.EXPLICIT_RESOURCE:
        # The provider refuses to make one that is too small: none that exists lacks anything.
        return ResourceCache(minimum=known.minimum or 0, ttl=known.ttl or HOUR)
    if known.minimum is None:
        raise MissingParameterError(rules, "minimum", model)
    match rules.model:
        case EntryModel.LONGEST_PREFIX:
            return _prefix(known)
        case EntryModel.WRITTEN_ENTRIES:
            return WrittenEntries(
                minimum=known.minimum,
                ttl=known.ttl,
                long_ttl=known.long_ttl,
                store=_store(known, known.capacity),
            )
        case EntryModel.WHOLE_UNITS:
            units = UnitRules(known.granularity, known.minimum, known.fed_back, known.common_prefixes)
            return UnitCache(units, _store(known, known.capacity))


def grid_of(parameters: Parameters) -> Grid:
    """Where a match may end by these parameters."""
    return Grid(
        minimum=parameters.minimum or 0,
        granularity=parameters.granularity,
        interval=parameters.interval,
        hidden=parameters.hidden_tokens,
        recompute_last=parameters.recompute_last,
    )


def block_store(parameters: Parameters) -> EntryStore:
    """A store for a trace of block hashes, of which each stands for one block."""
    return _store(parameters, parameters.capacity)


def _prefix(known: Parameters) -> Simulator:
    if known.slots is not None:
        return SlotPrefixes(SlotRules(known.slots, known.similarity, known.recompute_last))
    capacity = None if known.capacity is None else known.capacity * known.granularity
    return PrefixCache(grid_of(known), _store(known, capacity), weighted=capacity is not None)


def _store(known: Parameters, capacity: int | None) -> EntryStore:
    return EntryStore(ttl=known.ttl, sliding=known.sliding, capacity=capacity, touch=known.touch)

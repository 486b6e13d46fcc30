"""Estimates from usage numbers alone: what a call should have read, given the counts of the one before it.

Without bytes one thing has to be assumed, and only where a conversation is known: that its prompts were
appended to. A call goes on from the longest of the last few that is no longer than it is. Nothing is
estimated for the first call of a conversation, of which nobody knows what was cached before it.

The rules are the registry's. Where entries end at markers, which numbers do not show, the chain of the
provider's own counts stands in: what the call before read and wrote is what this one can read.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from coldturn.analysis.estimates.conversation import Conversation, parent_of
from coldturn.analysis.estimates.expected import ModelRules, expected
from coldturn.analysis.estimates.hidden import HiddenGauge
from coldturn.analysis.estimates.misses import Outcome
from coldturn.analysis.estimates.prices import CostEstimate, cost_of, day_of, price_of
from coldturn.analysis.estimates.registry import CannotEvaluateError, NoRulesError, Registry, shipped
from coldturn.analysis.estimates.report import BLOCK, Flag, RequestEstimate, Told
from coldturn.analysis.estimates.ruleset import EntryModel, Parameters, RuleSet
from coldturn.analysis.estimates.scope import EstimateOptions
from coldturn.analysis.estimates.simulate import simulator
from coldturn.analysis.estimates.usage import ProviderUsage
from coldturn.reference.prefix.model import Surface
from coldturn.reference.tokens import EstimatedTokens
from coldturn.traces.usage_record import UsageRecord

_YEAR_2000 = 946_684_800
"""Epoch seconds; a time before it counts from some zero of its own."""

_SURFACES = (Surface.MESSAGES, Surface.CHAT_COMPLETIONS, Surface.RESPONSES)
_OF_PROVIDER = {
    "anthropic": (Surface.MESSAGES,),
    "openai": (Surface.RESPONSES, Surface.CHAT_COMPLETIONS),
    "deepseek": (Surface.CHAT_COMPLETIONS,),
}


class UsageEstimator:
    """Takes calls in the order of their source.

    Args:
        options: What a user asks for.
        registry: The rules; those that ship with coldturn when None.
    """

    def __init__(self, options: EstimateOptions | None = None, registry: Registry | None = None) -> None:
        self._options = options or EstimateOptions()
        self._registry = registry or shipped()
        self._models: dict[tuple[str, str, str], ModelRules] = {}
        self._conversations: dict[tuple[str, str], Conversation] = {}

    def rules_of(self, source: str, model: str) -> Parameters | None:
        """Parameters of a model's rules in a source that was read; None without rules."""
        found = (
            known for (named, called, _), known in self._models.items() if (named, called) == (source, model)
        )
        return next((known.parameters for known in found if known.rules is not None), None)

    def observe(self, record: UsageRecord, *, number: int | None = None) -> Told:
        """Take the next call of its source; what it goes on from is told by the counts.

        Raises:
            ParameterError: The user's parameters do not fit the rules.
            UnknownRulesError: There are no rules of the name that was given.
        """
        known = self._conversation(record)
        before = parent_of(record, known.recent) if record.conversation else None
        late = known.tick(record.started)
        return self.compare(record, before, number=number, flags=() if late is None else (late,))

    def _conversation(self, record: UsageRecord) -> Conversation:
        return self._conversations.setdefault((record.source, record.conversation), Conversation())

    def compare(
        self,
        record: UsageRecord,
        before: UsageRecord | None,
        *,
        number: int | None = None,
        surface: Surface | None = None,
        url: str = "",
        flags: Sequence[Flag] = (),
    ) -> Told:
        """Hold a call against the one that it goes on from.

        Args:
            record: The call.
            before: The call whose prompt it repeats in full; None when that is not known.
            number: Its number among the requests of its source; the record's own in its conversation if None.
            surface: The request format, where the source tells it.
            url: Where it was sent, as far as the source tells.
            flags: What is odd about it besides.

        Raises:
            ParameterError: The user's parameters do not fit the rules.
            UnknownRulesError: There are no rules of the name that was given.
        """
        key = record.source, record.model, surface.value if surface is not None else record.provider
        opened = key not in self._models
        if opened:
            self._models[key] = self._open(record, surface, url)
        known = self._models[key]
        usage = usage_of_record(record)
        read = expected(known, before, record) if usage.input is not None else None
        if known.gauge is not None and usage.read:
            known.gauge.add(usage.read)
        all_flags = {
            **dict.fromkeys(flags, True),
            Flag.NO_RULES: known.rules is None,
            Flag.HOST_ASSUMED: known.rules is not None and self._options.rules is None and "//" not in url,
            Flag.PREFIX_UNKNOWN: before is None,
            Flag.READ_EXCEEDS_INPUT: _counts(record).exceeds_input,
        }
        row = _row(record, known, before, read, usage, number)
        told = tuple(flag for flag in Flag if all_flags.get(flag))
        miss = self._miss(record, before, known, row)
        self._conversation(record).add(record)
        problem = known.problem if opened else None
        return Told(replace(row, flags=told, miss=miss), known.parameters.reliability, problem)

    def _miss(
        self, record: UsageRecord, before: UsageRecord | None, known: ModelRules, row: RequestEstimate
    ) -> Outcome | None:
        """What a read is, where units are kept whole and a call goes on from the latest one."""
        conversation = self._conversation(record)
        latest = conversation.recent[-1] if conversation.recent else None
        units = known.rules is not None and known.rules.model is EntryModel.WHOLE_UNITS
        if not units or before is None or before is not latest:
            return None
        if row.read_estimated is None or row.read_reported is None:
            return None
        return conversation.miss(record, row.read_estimated, known.parameters)

    def _open(self, record: UsageRecord, surface: Surface | None, url: str) -> ModelRules:
        try:
            rules = self._choose(record, surface, url)
            parameters = self._options.settled(rules.parameters_for(record.model))
            simulator(rules, parameters, model=record.model)
        except CannotEvaluateError as error:
            return ModelRules(None, Parameters(minimum=0), error)
        known = ModelRules(rules, parameters)
        if parameters.interval is not None and "hidden_tokens" not in self._options.parameters:
            known.gauge = HiddenGauge(parameters.interval, parameters.granularity)
        return known

    def _choose(self, record: UsageRecord, surface: Surface | None, url: str) -> RuleSet:
        """The rules that a user names, or the first that fit a format that the call can have had."""
        if self._options.rules is not None:
            return self._registry.named(self._options.rules)
        if surface is not None:
            return self._registry.choose(surface, url, record.model)
        for one in _OF_PROVIDER.get(record.provider.lower(), _SURFACES):
            with suppress(NoRulesError):
                return self._registry.choose(one, url, record.model)
        raise NoRulesError("any format", "", record.model)


def usage_of_record(record: UsageRecord) -> ProviderUsage:
    """The counts of a call; none of input and reads when they contradict each other."""
    return _counts(record).trusted()


def _counts(record: UsageRecord) -> ProviderUsage:
    return ProviderUsage(
        input=record.input_tokens,
        read=record.cached_tokens,
        written=record.written_tokens,
        written_long=record.written_long_tokens,
        output=record.output_tokens,
    )


def _row(
    record: UsageRecord,
    known: ModelRules,
    before: UsageRecord | None,
    read: int | None,
    usage: ProviderUsage,
    number: int | None,
) -> RequestEstimate:
    rules = known.rules
    shared = min(before.input_tokens or 0, usage.input or 0) if before is not None else 0
    counts_writes = rules is not None and rules.model is EntryModel.WRITTEN_ENTRIES
    return RequestEstimate(
        source=record.source,
        request=record.call if number is None else number,
        entry=record.entry,
        lineage=record.conversation or None,
        model=record.model or None,
        rules=rules.name if rules is not None else None,
        input_reported=usage.input,
        input_estimated=EstimatedTokens(usage.input or 0),
        ceiling_estimated=EstimatedTokens(max(shared, read or 0)),
        read_estimated=None if read is None else EstimatedTokens(read),
        written_estimated=None if read is None or counts_writes else EstimatedTokens(0),
        read_reported=usage.read,
        written_reported=usage.written,
        block=max(known.parameters.granularity, BLOCK),
        cost_estimated=_cost(record, rules, usage),
    )


def _cost(record: UsageRecord, rules: RuleSet | None, usage: ProviderUsage) -> CostEstimate | None:
    """By the prices of its day; of a table that counts from its own zero the latest ones."""
    if rules is None:
        return None
    dated = record.started is not None and record.started > _YEAR_2000
    price = price_of(rules, record.model, day_of(record.started) if dated else None)
    return None if price is None else cost_of(usage, price)

"""What a call should read by the rules, given the counts of the call whose prompt it repeats."""

from __future__ import annotations

from dataclasses import dataclass

from coldturn.analysis.entries.request import CacheRequest
from coldturn.analysis.estimates.hidden import HiddenGauge
from coldturn.analysis.estimates.registry import CannotEvaluateError
from coldturn.analysis.estimates.ruleset import EntryModel, Parameters, RuleSet
from coldturn.analysis.estimates.simulate import simulator
from coldturn.traces.usage_record import UsageRecord


@dataclass(slots=True)
class ModelRules:
    """What is known of one model in one source.

    Attributes:
        rules: None, with `problem`, when there are none.
        gauge: Follows reported reads where a hidden message decides on them.
    """

    rules: RuleSet | None
    parameters: Parameters
    problem: CannotEvaluateError | None = None
    gauge: HiddenGauge | None = None

    @property
    def current(self) -> Parameters:
        """The parameters, with the hidden tokens that reported reads have shown so far."""
        hidden = self.gauge.hidden if self.gauge is not None else None
        return (
            self.parameters
            if hidden is None
            else self.parameters.model_copy(update={"hidden_tokens": hidden})
        )


def expected(known: ModelRules, before: UsageRecord | None, record: UsageRecord) -> int | None:
    """What a call reads by the rules when it repeats the whole prompt of another and goes on; None: unknown.

    Args:
        known: The rules of its model.
        before: The call whose prompt it repeats.
        record: The call itself.
    """
    rules = known.rules
    if rules is None or before is None or before.input_tokens is None or record.input_tokens is None:
        return None
    match rules.model:
        case EntryModel.EXPLICIT_RESOURCE:
            return None
        case EntryModel.WRITTEN_ENTRIES:
            return _chained(known.parameters, before, record)
        case _:
            return _simulated(rules, known.current, before, record)


def _chained(parameters: Parameters, before: UsageRecord, record: UsageRecord) -> int | None:
    """What the call before read and wrote, while that lives; unknown where writes are not counted."""
    if before.cached_tokens is None or before.written_tokens is None:
        return None
    entry = before.cached_tokens + before.written_tokens
    age = _age(before, record)
    lifetime = parameters.long_ttl if before.written_long_tokens else parameters.ttl
    if age is not None and lifetime is not None and age > lifetime:
        return 0
    return min(entry, record.input_tokens or 0)


def _simulated(rules: RuleSet, parameters: Parameters, before: UsageRecord, record: UsageRecord) -> int:
    """Both calls through the rules' cache: the second repeats the first and what that answered."""
    cache = simulator(rules, parameters, model=record.model)
    first, whole = before.input_tokens or 0, record.input_tokens or 0
    age = _age(before, record) or 0.0
    cache.observe(CacheRequest(keys=(0,), ends=(first,), started=0.0, answer_tokens=before.output_tokens))
    second = CacheRequest(keys=(0, 1), ends=(first, whole), started=age, answers=frozenset({0}))
    return cache.observe(second).read


def _age(before: UsageRecord, record: UsageRecord) -> float | None:
    if before.started is None or record.started is None:
        return None
    return max(record.started - before.started, 0.0)

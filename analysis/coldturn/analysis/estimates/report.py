"""What `estimate` says, as values and as JSON (schema ``coldturn.estimate/1``; keys are only ever added).

Three columns are kept apart: the ceiling (a cache without bounds), what the rules say should have hit, and
what the provider reported.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from coldturn.analysis.breaks.findings import ReadError
from coldturn.analysis.estimates.cached_rows import CachedContentRow
from coldturn.analysis.estimates.groups import ReportedRates
from coldturn.analysis.estimates.misses import Outcome
from coldturn.analysis.estimates.prices import CostEstimate
from coldturn.analysis.estimates.row import BLOCK, Difference, Flag, RequestEstimate, Told
from coldturn.analysis.estimates.usage import ProviderUsage
from coldturn.analysis.estimates.vendor import Reconciliation
from coldturn.analysis.rates import rate

__all__ = [
    "BLOCK",
    "SCHEMA",
    "Difference",
    "EstimateReport",
    "Flag",
    "RequestEstimate",
    "Told",
    "Totals",
    "Validation",
]

SCHEMA = "coldturn.estimate/1"


@dataclass(slots=True)
class Totals:
    """Sums over requests. A rate is one of sums over requests that have both of its numbers."""

    requests: int = 0
    input_reported: int | None = None
    input_estimated: int = 0
    ceiling_estimated: int = 0
    read_estimated: int | None = None
    written_estimated: int | None = None
    read_reported: int | None = None
    expected_estimated: float | None = None
    cost_estimated: CostEstimate | None = None
    flags: Counter[Flag] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    _input_of_read: int = 0
    _input_of_reported: int = 0
    _read_of_reported: int = 0

    def add(self, one: RequestEstimate, reliability: float) -> None:
        """Count one request."""
        self.requests += 1
        self.flags.update(one.flags)
        if one.rules is not None:
            self.rules[one.rules] += 1
        self.input_estimated += one.input_estimated
        self.ceiling_estimated += one.ceiling_estimated
        self.input_reported = _sum(self.input_reported, one.input_reported)
        self.read_reported = _sum(self.read_reported, one.read_reported)
        self.written_estimated = _sum(self.written_estimated, one.written_estimated)
        self.read_estimated = _sum(self.read_estimated, one.read_estimated)
        if one.read_estimated is not None:
            self._input_of_read += one.input_estimated
            self.expected_estimated = (self.expected_estimated or 0.0) + one.read_estimated * reliability
        if one.read_reported is not None and one.input_reported is not None:
            self._input_of_reported += one.input_reported
            self._read_of_reported += one.read_reported
        if one.cost_estimated is not None:
            before = self.cost_estimated
            self.cost_estimated = one.cost_estimated if before is None else before + one.cost_estimated

    @property
    def hit_rate_ceiling_estimated(self) -> float | None:
        """Of a cache without bounds."""
        return rate(self.ceiling_estimated, self.input_estimated)

    @property
    def hit_rate_estimated(self) -> float | None:
        """By the rules, over the requests that rules are known for."""
        return rate(self.read_estimated, self._input_of_read)

    @property
    def hit_rate_reported(self) -> float | None:
        """By the provider, over the requests of which it reported both numbers."""
        return rate(self._read_of_reported, self._input_of_reported)

    @property
    def reported(self) -> tuple[int, int]:
        """Read and whole input over the requests of which the provider reported both."""
        return self._read_of_reported, self._input_of_reported

    @property
    def estimated(self) -> tuple[int | None, int]:
        """Read and whole input over the requests that rules are known for."""
        return self.read_estimated, self._input_of_read

    def as_json(self) -> dict[str, Any]:
        """The published shape."""
        cost = self.cost_estimated
        return {
            "requests": self.requests,
            "input_reported": self.input_reported,
            "input_estimated": self.input_estimated,
            "ceiling_estimated": self.ceiling_estimated,
            "read_estimated": self.read_estimated,
            "written_estimated": self.written_estimated,
            "read_reported": self.read_reported,
            "hit_rate_ceiling_estimated": self.hit_rate_ceiling_estimated,
            "hit_rate_estimated": self.hit_rate_estimated,
            "hit_rate_reported": self.hit_rate_reported,
            "read_expected_estimated": self.expected_estimated,
            "cost_input_equivalents_estimated": cost and cost.input_equivalents_estimated,
            "cost_amount_estimated": cost and cost.amount_estimated,
            "currency": cost and cost.currency,
            "flags": {str(flag): count for flag, count in sorted(self.flags.items())},
        }


@dataclass(slots=True)
class Validation:
    """Estimated against reported reads.

    Attributes:
        n: Requests that have both.
        exact: Of them, those that are equal.
        within_block: Those that differ by at most a block, the equal ones included.
    """

    n: int = 0
    exact: int = 0
    within_block: int = 0
    by_difference: Counter[Difference] = field(default_factory=Counter)
    by_miss: Counter[Outcome] = field(default_factory=Counter)
    _estimated: int = 0
    _reported: int = 0

    def add(self, one: RequestEstimate) -> None:
        """Count one request; one that lacks a number is left out."""
        difference = one.difference
        if difference is None:
            return
        self.n += 1
        self.exact += difference is Difference.NONE
        self.within_block += difference in (Difference.NONE, Difference.WITHIN_BLOCK)
        self.by_difference[difference] += 1
        if one.miss is not None:
            self.by_miss[one.miss] += 1
        self._estimated += one.read_estimated or 0
        self._reported += one.read_reported or 0

    @property
    def total_error(self) -> float | None:
        """Estimated less reported reads, as a fraction of the reported; None when those are 0."""
        return None if not self._reported else (self._estimated - self._reported) / self._reported

    def as_json(self) -> dict[str, Any] | None:
        """The published shape; None without reported numbers."""
        if not self.n:
            return None
        return {
            "n": self.n,
            "exact": self.exact,
            "within_block": self.within_block,
            "total_error": self.total_error,
            "by_difference": {str(kind): count for kind, count in sorted(self.by_difference.items())},
            "by_miss": {kind.code: self.by_miss[kind] for kind in Outcome if self.by_miss[kind]},
        }


@dataclass(slots=True)
class EstimateReport:
    """Everything `estimate` found.

    Attributes:
        notes: Sentences for people about what reported numbers reveal.
        plateaus: The same for machines, where a small read recurs.
        rates: Reported hit rates per model and conversation.
        vendor: Providers' own diagnoses beside what the rules say.
        cached_contents: Explicit caches that the recordings tell of.
        keep: Whether `requests` is filled; without it memory does not grow with the number of requests.
    """

    keep: bool = True
    requests: list[RequestEstimate] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    validation: Validation = field(default_factory=Validation)
    errors: list[ReadError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    plateaus: list[dict[str, Any]] = field(default_factory=list)
    rates: ReportedRates = field(default_factory=ReportedRates)
    vendor: Reconciliation = field(default_factory=Reconciliation)
    cached_contents: list[CachedContentRow] = field(default_factory=list)

    def add(self, one: RequestEstimate, reliability: float = 1.0) -> None:
        """Take one request into everything."""
        if self.keep:
            self.requests.append(one)
        self.totals.add(one, reliability)
        self.validation.add(one)
        self.vendor.add(one.diagnosis, one.read_estimated, one.read_reported, one.block)
        usage = ProviderUsage(input=one.input_reported, read=one.read_reported, written=one.written_reported)
        self.rates.add(usage, source=one.source, conversation=one.lineage, model=one.model)

    def as_json(self) -> dict[str, Any]:
        """The published shape, all keys present."""
        return {
            "schema": SCHEMA,
            "requests": [one.as_json() for one in self.requests],
            "totals": self.totals.as_json(),
            "validation": self.validation.as_json(),
            **self.rates.as_json(),
            "vendor": self.vendor.as_json(),
            "plateaus": self.plateaus,
            "cached_contents": [one.as_json() for one in self.cached_contents],
            "notes": self.notes,
            "errors": [error.as_json() for error in self.errors],
        }


def _sum(total: int | None, value: int | None) -> int | None:
    return total if value is None else (total or 0) + value

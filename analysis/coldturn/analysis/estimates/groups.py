"""Reported hit rates per model and per conversation: sums of tokens, never means of rates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from coldturn.analysis.estimates.usage import ProviderUsage, UsageTotals
from coldturn.analysis.rates import rate

K = TypeVar("K")


@dataclass(slots=True)
class ReportedRates:
    """Totals of reported usage.

    Attributes:
        models: By model; an empty name is that of calls whose source names none.
        conversations: By source and conversation, of calls whose conversation is known.
    """

    models: dict[str, UsageTotals] = field(default_factory=dict)
    conversations: dict[tuple[str, str], UsageTotals] = field(default_factory=dict)

    def add(self, usage: ProviderUsage, *, source: str, conversation: str | None, model: str | None) -> None:
        """Count one call; one that reports only half of it makes no difference to any rate."""
        self.models.setdefault(model or "", UsageTotals()).add(usage)
        if conversation is not None:
            self.conversations.setdefault((source, conversation), UsageTotals()).add(usage)

    def worst(self, most: int) -> list[tuple[tuple[str, str], UsageTotals]]:
        """The conversations that sent most tokens which were not read."""
        ranked = sorted(self.conversations.items(), key=lambda one: one[1].read - one[1].input)
        return [one for one in ranked[:most] if one[1].requests]

    def as_json(self) -> dict[str, Any]:
        """Two lists, most input first."""
        return {
            "models": [
                {"model": model or None, **_counts(totals)}
                for model, totals in _by_input(self.models.items())
            ],
            "conversations": [
                {"source": source, "lineage": conversation, **_counts(totals)}
                for (source, conversation), totals in _by_input(self.conversations.items())
            ],
        }


def _by_input(items: Iterable[tuple[K, UsageTotals]]) -> list[tuple[K, UsageTotals]]:
    return sorted(items, key=lambda one: -one[1].input)


def _counts(totals: UsageTotals) -> dict[str, Any]:
    reported = totals.requests > 0
    return {
        "requests_reported": totals.requests,
        "input_reported": totals.input if reported else None,
        "read_reported": totals.read if reported else None,
        "written_reported": totals.written if reported else None,
        "hit_rate_reported": rate(totals.read, totals.input) if reported else None,
    }

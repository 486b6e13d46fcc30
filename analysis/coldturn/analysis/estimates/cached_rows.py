"""Explicit caches as `estimate` reports them: size, life, storage, use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from coldturn.analysis.estimates.named_caches import NamedCache, NamedCaches
from coldturn.analysis.estimates.prices import MILLION, day_of, price_of
from coldturn.analysis.estimates.ruleset import RuleSet
from coldturn.reference.tokens import ReportedTokens


@dataclass(frozen=True, slots=True)
class CachedContentRow:
    """One explicit cache that a recording tells of. None means unknown.

    Attributes:
        entry: Index in the file of the first call that told of it.
        tokens_reported: Its size, by the provider.
        made, expires: Epoch seconds; `deleted` when somebody took it away before.
        renewals: Calls that changed its end.
        requests: Requests that named it and were answered; `read_reported` is what they read together.
        same_as: An earlier cache that holds the same; it was paid for again although that one lived when
            `paid_again` is true.
        storage_token_hours_estimated: What is stored until its end, by the lifetimes told; what that costs is
            known only where the price table has it.
    """

    source: str
    entry: int
    name: str
    model: str | None
    tokens_reported: ReportedTokens | None
    made: float | None
    expires: float | None
    deleted: bool
    renewals: int
    requests: int
    read_reported: ReportedTokens | None
    same_as: str | None
    paid_again: bool
    storage_token_hours_estimated: float | None
    storage_amount_estimated: float | None
    currency: str | None

    def as_json(self) -> dict[str, Any]:
        """The published shape."""
        return asdict(self)


def cached_rows(caches: NamedCaches, rules: RuleSet | None) -> Iterator[CachedContentRow]:
    """All caches in the order in which they were told of.

    Args:
        caches: What the recordings tell.
        rules: Those of explicit caches, for their prices.
    """
    for cache in caches:
        hours = cache.resource.storage() if cache.tokens is not None else None
        amount, currency = _amount(cache, hours, rules)
        yield CachedContentRow(
            source=cache.source,
            entry=cache.entry,
            name=cache.name,
            model=cache.model,
            tokens_reported=cache.tokens,
            made=cache.resource.made,
            expires=cache.resource.expires,
            deleted=cache.resource.deleted,
            renewals=cache.renewals,
            requests=cache.requests,
            read_reported=cache.read_reported,
            same_as=cache.same_as,
            paid_again=cache.overlaps,
            storage_token_hours_estimated=hours,
            storage_amount_estimated=amount,
            currency=currency,
        )


def _amount(cache: NamedCache, hours: float | None, rules: RuleSet | None) -> tuple[float | None, str | None]:
    if hours is None or rules is None:
        return None, None
    price = price_of(rules, cache.model or "", day_of(cache.resource.made))
    if price is None or price.storage is None:
        return None, None
    return hours * price.storage / MILLION, price.currency

"""What requests cost, from usage and dated prices: an estimate, since discounts and tiers are unknown."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime

from coldturn.analysis.estimates.ruleset import Price, RuleSet, matches
from coldturn.analysis.estimates.usage import ProviderUsage

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """What one request, or many, cost.

    Attributes:
        input_equivalents_estimated: Input tokens at the full price that would have cost as much.
        amount_estimated: In `currency`, output included; None where no amount is known.
    """

    input_equivalents_estimated: float
    amount_estimated: float | None
    currency: str = "USD"

    def __add__(self, other: CostEstimate) -> CostEstimate:
        """The sum; its amount is unknown when one of the two is.

        Raises:
            ValueError: The currencies differ.
        """
        if self.currency != other.currency:
            raise ValueError(f"{self.currency} and {other.currency} cannot be added")
        amounts = self.amount_estimated, other.amount_estimated
        return CostEstimate(
            self.input_equivalents_estimated + other.input_equivalents_estimated,
            None if None in amounts else math.fsum(amount for amount in amounts if amount is not None),
            self.currency,
        )


def price_of(rules: RuleSet, model: str, day: date | None = None) -> Price | None:
    """The price of a model on a day (None: the latest): the first entry that matches and had begun."""
    for price in rules.prices:
        if matches(model, price.models) and (day is None or price.since is None or price.since <= day):
            return price
    return None


def day_of(started: float | None) -> date | None:
    """The day of a time in epoch seconds; None without one, and for one that no calendar shows."""
    try:
        return None if started is None else datetime.fromtimestamp(started, UTC).date()
    except (OverflowError, ValueError, OSError):
        return None


def cost_of(usage: ProviderUsage, price: Price) -> CostEstimate | None:
    """What a provider's reported usage cost; None when it does not report the input."""
    if usage.input is None:
        return None
    return cost(
        price,
        fresh=usage.fresh or 0,
        read=usage.read or 0,
        written=usage.written or 0,
        written_long=usage.written_long or 0,
        output=usage.output,
    )


def cost_by_rules(
    rules: RuleSet | None, model: str | None, started: float | None, usage: ProviderUsage
) -> CostEstimate | None:
    """The same at the price that rules have for a model on the day of a time; None where they have none."""
    price = None if rules is None else price_of(rules, model or "", day_of(started))
    return None if price is None else cost_of(usage, price)


def cost(
    price: Price,
    *,
    fresh: int,
    read: int = 0,
    written: int = 0,
    written_long: int = 0,
    output: int | None = None,
) -> CostEstimate:
    """What counts of tokens cost.

    `fresh` is input neither read nor written; `written` is all that was written, `written_long` included;
    without `output` the amount stays unknown.
    """
    long_price = price.write if price.write_long is None else price.write_long
    short = max(written - written_long, 0)
    tokens = fresh + read * price.read + short * price.write + written_long * long_price
    amount = None
    if price.input is not None and price.output is not None and output is not None:
        amount = (tokens * price.input + output * price.output) / MILLION
    return CostEstimate(tokens, amount, price.currency)


def lost_multiple(lost: int, usage: ProviderUsage, price: Price) -> float:
    """What tokens cost that were sent anew though a cache held them, less what reading them would have cost.

    Of what was not read they stand first, and what is written stands in front of what is not, the longer
    lifetime first: so they are counted as written for long, written, then neither.

    Args:
        lost: Tokens, at most those that were not read.
        usage: What the provider reported; `written` says how many of them were written again.
        price: Its multiples.

    Returns:
        Input tokens' worth at the plain input price.
    """
    long_price = price.write if price.write_long is None else price.write_long
    written = lost if usage.written is None else min(lost, usage.written)
    long = min(usage.written_long or 0, written)
    parts = ((long, long_price), (written - long, price.write), (lost - written, 1.0))
    return math.fsum(tokens * max(multiple - price.read, 0.0) for tokens, multiple in parts)


def total(costs: Iterable[CostEstimate]) -> CostEstimate | None:
    """The sum of many; None of none."""
    found: CostEstimate | None = None
    for one in costs:
        found = one if found is None else found + one
    return found


def break_even_tokens(minimum: int, price: Price, requests: int) -> int:
    """Length from which on it pays to fill a stable prefix up to the minimum, so that it is cached at all.

    A prefix of L tokens that is too short costs L each time; filled up to `minimum` it is written once and
    read afterwards. Both cost the same at L = minimum * (read + (write - read) / requests).

    Args:
        minimum: The rule's minimum, tokens.
        price: Its multiples for reading and writing.
        requests: How many requests share the prefix within its lifetime.

    Returns:
        The smallest whole L at which filling up costs no more.

    Raises:
        ValueError: `requests` is below one.
    """
    if requests < 1:
        raise ValueError("requests must be at least 1")
    return math.ceil(minimum * (price.read + (price.write - price.read) / requests))

"""Explicit caches as `estimate` prints them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coldturn.analysis.estimates.cached_rows import CachedContentRow
from coldturn.analysis.verdicts.words import seconds_words
from coldturn.replay.cli.finding_view import money

_SHOWN = 10
_NAME = 32
"""Characters of a cache's name that are shown."""


def cached_table(rows: Sequence[CachedContentRow]) -> list[tuple[str, ...]]:
    """A head, and a line for each of the first caches."""
    head = ("explicit cache", "tokens", "lives", "requests", "read", "stored (estimated)")
    return [head, *map(_line, rows[:_SHOWN])]


def cached_remarks(rows: Sequence[CachedContentRow]) -> Iterator[str]:
    """What the table does not show."""
    if len(rows) > _SHOWN:
        yield f"and {len(rows) - _SHOWN:,} more (all of them with --json)"
    for one in rows[:_SHOWN]:
        if one.same_as is not None:
            why = "which still lived" if one.paid_again else "which was over"
            yield f"{_name(one.name)} holds what {_name(one.same_as)} does, {why}: paid for again"


def _line(one: CachedContentRow) -> tuple[str, ...]:
    return (
        _name(one.name),
        "unknown" if one.tokens_reported is None else f"{one.tokens_reported:,}",
        _life(one),
        f"{one.requests:,}",
        "-" if one.read_reported is None else f"{one.read_reported:,}",
        _storage(one),
    )


def _life(one: CachedContentRow) -> str:
    renewed = f", renewed {one.renewals:,} times" if one.renewals > 1 else ", renewed" * one.renewals
    ended = ", deleted" if one.deleted else ""
    if one.made is None or one.expires is None:
        return f"unknown{renewed}{ended}"
    return f"{seconds_words(one.expires - one.made)}{renewed}{ended}"


def _storage(one: CachedContentRow) -> str:
    hours = one.storage_token_hours_estimated
    if hours is None:
        return "unknown"
    amount = one.storage_amount_estimated
    paid = "" if amount is None else f", {money(amount, one.currency)}"
    return f"{hours:,.0f} token hours{paid}"


def _name(name: str) -> str:
    own = name[name.find("cachedContents/") :] if "cachedContents/" in name else name
    return own if len(own) <= _NAME else f"{own[: _NAME - 1]}…"

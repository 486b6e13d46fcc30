"""Causes that stand in the times of two requests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from coldturn.analysis.breaks.findings import Verdict
from coldturn.analysis.estimates.ruleset import Placement
from coldturn.analysis.verdicts.model import Case, Named, tokens_words
from coldturn.analysis.verdicts.remedies import KEEP_WARM
from coldturn.analysis.verdicts.words import seconds_words
from coldturn.reference.prefix.model import BlockKind, Confidence

AT_ONCE = 0.1
"""Seconds within which no provider begins an answer: sent so close, two requests ran side by side."""
_SHORT = 300.0
_WRITTEN = frozenset({BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT, BlockKind.REASONING})


def timing_causes(case: Case) -> Iterator[Named]:
    """What the times tell; nothing where one of them is missing or they run backwards."""
    gap = case.gap
    if gap is None or gap < 0 or not case.same_cache:
        return
    yield from _concurrent(case)
    yield from _lifetime(case, gap)


def with_unread(named: Named, unread: int) -> Named:
    """A request that came too early, with how much could not be read yet; others as they are.

    Args:
        named: What was found.
        unread: Tokens that it would have read a moment later.
    """
    if named.cause != "concurrent_cold" or unread <= 0:
        return named
    return replace(
        named, evidence=f"{named.evidence}: {tokens_words(unread)} could not be read yet (estimated)"
    )


def lifetime(case: Case) -> float | None:
    """Seconds that the parent's entry lives; None where nobody says or nothing ends it."""
    if case.look is not None and case.look.text_hit is not None:
        return case.look.text_hit.ttl
    if case.was.places is not None and case.was.places.deepest is not None:
        return case.was.places.deepest.ttl
    return case.was.ttl if case.was.ttl is not None else case.known.parameters.ttl


def may_have_expired(case: Case) -> Named | None:
    """An entry that had perhaps expired, where nobody promises how long one lives; asked after a miss."""
    gap, ttl = case.gap, lifetime(case)
    if gap is None or ttl is None or not case.same_cache:
        return None
    least = _least(case, ttl)
    return _expired(case, gap, ttl) if least < gap <= ttl else None


def _expired(case: Case, gap: float, ttl: float) -> Named:
    least = _least(case, ttl)
    lives = seconds_words(ttl) if least == ttl else f"{seconds_words(least)} to {seconds_words(ttl)}"
    evidence = f"sent {seconds_words(gap)} after the last use, and an entry lives {lives}"
    remedy = _keep_longer(case, ttl)
    return Named("ttl_expired", Verdict.TTL_SUSPECTED, Confidence.INFERRED, evidence, remedy=remedy)


def _least(case: Case, ttl: float) -> float:
    """The shortest lifetime that sources give where they disagree; else the lifetime itself."""
    rules = case.known.rules
    if rules is None or ttl != rules.parameters.ttl:
        return ttl
    told = (value for one in rules.contested if one.parameter == "ttl" for value in one.values)
    return min((value for value in told if isinstance(value, int | float)), default=ttl)


def _keep_longer(case: Case, ttl: float) -> str:
    """What helps against an end of life: a longer one where the rules have it."""
    longer = {name: seconds for name, seconds in case.known.parameters.ttls.items() if seconds > ttl}
    if not longer:
        return KEEP_WARM
    name = min(longer, key=lambda one: longer[one])
    option = {None: "prompt_cache_retention: ", Placement.OPENAI: "prompt_cache_options.ttl: "}
    setting = option.get(case.known.parameters.placement, "")
    return (
        f"Ask for the longer lifetime ({setting}{name}), or send a small request before the shorter one ends."
    )


def _concurrent(case: Case) -> Iterator[Named]:
    was, now = case.was, case.now
    if was.started is None or now.started is None or now.started < was.started:
        return
    between = now.started - was.started
    if was.answered is not None and now.started < was.answered:
        early = seconds_words(was.answered - now.started)
        evidence = f"sent {early} before the answer to the request that it repeats began"
        yield Named("concurrent_cold", Verdict.BROKEN_HARMLESS, Confidence.OBSERVED, evidence)
    elif was.answered is None and between <= AT_ONCE and not _holds_an_answer(case):
        evidence = f"sent {seconds_words(between)} after the request that it repeats"
        yield Named("concurrent_cold", Verdict.BROKEN_HARMLESS, Confidence.INFERRED, evidence)


def _holds_an_answer(case: Case) -> bool:
    """Whether the newer request goes on with what a model wrote: then it waited for an answer."""
    added = case.child.blocks[len(case.parent.blocks) :]
    return any(block.role == "assistant" or block.kind in _WRITTEN for block in added)


def _lifetime(case: Case, gap: float) -> Iterator[Named]:
    ttl = lifetime(case)
    if ttl is None:
        return
    asked = _asked_for(case, ttl, gap)
    if asked is not None:
        evidence = (
            f"sent {seconds_words(gap)} after the last use: {asked[0]} would have kept the entry, "
            f"and {asked[1]}"
        )
        yield Named("ttl_downgraded", Verdict.TTL_SUSPECTED, Confidence.INFERRED, evidence)
    if gap > ttl:
        yield _expired(case, gap, ttl)


def _asked_for(case: Case, ttl: float, gap: float) -> tuple[str, str] | None:
    """A longer lifetime that was asked for the lost entry itself and not had, and how that shows."""
    usage, places = case.was.usage, case.was.places
    deepest = None if places is None else places.deepest
    own = deepest is None or deepest.ttl == ttl
    if usage.written and usage.written_long == 0 and own and ttl > _SHORT and _SHORT < gap <= ttl:
        return seconds_words(ttl), f"the provider wrote it for {seconds_words(_SHORT)}"
    lifetimes = case.was.lifetimes
    if lifetimes is None:
        return None
    longest = lifetimes.history if deepest is None else lifetimes.of(deepest)
    if own and longest is not None and longest > ttl and ttl < gap <= longest:
        return seconds_words(longest), f"it was written for {seconds_words(ttl)}"
    return None

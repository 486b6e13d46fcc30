"""One finding per request: what text, settings, markers and times tell, and which of them comes first."""

from __future__ import annotations

from dataclasses import replace

from coldturn.analysis.breaks.findings import Beside, Finding, Verdict
from coldturn.analysis.breaks.pair import UNKNOWN_CAUSE, PairOptions
from coldturn.analysis.estimates.prices import MILLION, day_of, lost_multiple, price_of
from coldturn.analysis.estimates.ruleset import EntryModel
from coldturn.analysis.verdicts.findings import beside, beside_text, placeless, with_figures
from coldturn.analysis.verdicts.model import Case, Named, tokens_words
from coldturn.analysis.verdicts.placement import placement_causes
from coldturn.analysis.verdicts.readable import (
    LEAST,
    Readable,
    nothing_yet,
    parent_tokens,
    readable_of,
)
from coldturn.analysis.verdicts.reasoning import loses_reasoning
from coldturn.analysis.verdicts.reports import by_reports
from coldturn.analysis.verdicts.serving import serving_causes
from coldturn.analysis.verdicts.setting_causes import of_settings, settings_causes
from coldturn.analysis.verdicts.settings import Changed, changed_settings
from coldturn.analysis.verdicts.timing import timing_causes, with_unread
from coldturn.analysis.verdicts.unjudged import unjudged_settings
from coldturn.reference.prefix.model import Confidence, Zone
from coldturn.reference.tokens import EstimatedTokens

_BY_TIME = frozenset({"ttl_expired", "ttl_downgraded", "concurrent_cold"})
"""Causes by which nothing is read, though the entry was written and is looked at."""
_WITHIN_A_STEP = (
    "by these estimates as many steps of the rules can still be read, so nothing is lost by them; "
    "only reported usage can show it"
)


def combined(
    case: Case, text: Finding | None, options: PairOptions, *, started: float | None
) -> Finding | None:
    """The finding of a pair.

    Args:
        case: The pair.
        text: What its bytes tell; None when the newer request repeats the older one.
        options: What a finding carries.
        started: When the newer one was sent, for dated prices.
    """
    settings = settings_causes(case)
    if text is None or text.verdict is Verdict.BROKEN_HARMLESS:
        other = _without_text(case, settings, options)
        found = _first_of(text, other)
    else:
        found = _with_text(case, text, settings)
    return None if found is None else priced(case, _bounded(case, found), started)


def _first_of(text: Finding | None, other: Finding | None) -> Finding | None:
    if text is None or other is None:
        return text if other is None else other
    if other.verdict is Verdict.BROKEN_HARMLESS:
        return replace(
            text, alongside=(*text.alongside, Beside(other.cause, other.confidence, other.evidence))
        )
    return replace(other, alongside=(*other.alongside, beside_text(text)))


def _with_text(case: Case, text: Finding, settings: list[tuple[Changed, Named]]) -> Finding:
    """A text break: what it cost by the entry model, and what else would have cost the same."""
    readable = readable_of(case, case.text_offset, earlier=True)
    besides = [named for _, named in settings]
    besides += placement_causes(case)
    if readable is not None and readable.whole_estimated >= LEAST:
        besides += timing_causes(case)
    found = replace(
        text,
        alongside=(*text.alongside, *(beside(one) for one in besides)),
        reasoning_invalidated=loses_reasoning(case),
    )
    found = with_figures(case, found, readable)
    return found if readable is None else _weighed(case, found, readable)


def _weighed(case: Case, found: Finding, readable: Readable) -> Finding:
    """A text break with what it cost by the rules, and softened where that is nothing for sure."""
    read = case.now.usage.read
    if not readable.whole_estimated:
        return found if read else _costs_nothing_yet(case, found)
    found = replace(found, lost_tokens_estimated=readable.lost_estimated)
    if found.verdict is Verdict.PLANNED:
        return found
    if read is not None and read >= readable.whole_estimated:
        return _harmless(found, f"the provider read {tokens_words(read)} all the same")
    if readable.lost_estimated:
        return found
    if case.known.model is not EntryModel.LONGEST_PREFIX:
        evidence = (
            f"behind the last entry that could be read ({tokens_words(readable.whole_estimated)}, estimated)"
        )
        return _harmless(found, evidence)
    # Within one step of an estimate nobody can tell whether a step ends in between.
    return _explained(found, _WITHIN_A_STEP)


def _costs_nothing_yet(case: Case, found: Finding) -> Finding:
    """A break of what nobody keeps: it loses nothing, and the same change will once something is kept."""
    later = f"about {tokens_words(found.lost_tokens_estimated)} (estimated) once it is kept"
    found = replace(found, lost_tokens_estimated=EstimatedTokens(0))
    return _explained(found, f"{nothing_yet(case)}, {later}")


def _explained(found: Finding, evidence: str) -> Finding:
    """With why nothing is lost by the rules; what it will cost, or might, keeps it a break."""
    return replace(found, evidence=f"{found.evidence}; {evidence}" if found.evidence else evidence)


def _harmless(found: Finding, evidence: str) -> Finding:
    return replace(
        found,
        verdict=Verdict.BROKEN_HARMLESS,
        evidence=evidence,
        lost_tokens_estimated=EstimatedTokens(0),
    )


def _without_text(case: Case, settings: list[tuple[Changed, Named]], options: PairOptions) -> Finding | None:
    """The text is intact: settings first, then markers, times, and who served it."""
    read = case.now.usage.read
    if settings:
        return of_settings(case, settings, options)
    if (case.now.is_plain and case.gap is None) or case.was.refused or case.now.refused:
        return None
    readable = by_reports(case, _at_least_as_before(case, readable_of(case, case.stable_bytes)))
    whole = EstimatedTokens(0) if readable is None else readable.whole_estimated
    causes = [*placement_causes(case), *(timing_causes(case) if whole >= LEAST else ())]
    if not causes or (read is not None and _was_read(read, whole, causes)):
        return _unexplained(case, readable, options)
    first, *others = causes
    return _told(case, with_unread(first, whole - (read or 0)), others, readable, options)


def _at_least_as_before(case: Case, readable: Readable | None) -> Readable | None:
    """What could be read, and of a stored prompt, which the body only names, no less than was."""
    before = case.was.usage.read or 0
    stored = "prompt" in case.parent.settings and "prompt" in case.child.settings
    if readable is None or not stored or not case.same_cache or before <= readable.whole_estimated:
        return readable
    return Readable(EstimatedTokens(before), EstimatedTokens(before))


def _was_read(read: int, whole: int, causes: list[Named]) -> bool:
    """Whether the provider's report shows that none of the causes held."""
    if not whole:
        return read > 0 and all(not one.counts for one in causes)
    if causes[0].cause == "breakpoint_missing" and not causes[0].counts:
        # What stands behind the last marker shows in no report of what stands in front of it.
        return False
    return whole - read <= max(LEAST, whole // 20)


def _told(
    case: Case,
    first: Named,
    others: list[Named],
    readable: Readable | None,
    options: PairOptions,
    zone: Zone = Zone.NONE,
) -> Finding:
    lost = _lost_estimated(case, first, readable)
    found = placeless(case.child.labels.turn, first, zone, lost, options)
    found = replace(found, alongside=tuple(beside(one) for one in others))
    found = with_figures(case, found, readable)
    if first.cause in _BY_TIME:
        found = replace(found, read_estimated=EstimatedTokens(0))
    return found


def _lost_estimated(case: Case, first: Named, readable: Readable | None) -> EstimatedTokens:
    """What was not read though it might have been; nothing where nothing was kept."""
    if not first.counts:
        return EstimatedTokens(0)
    whole = parent_tokens(case) if readable is None else readable.whole_estimated
    return EstimatedTokens(max(whole - (case.now.usage.read or 0), 0))


def _unexplained(case: Case, readable: Readable | None, options: PairOptions) -> Finding | None:
    """A reported miss that is large enough to be told, though no rule explains it."""
    read = case.now.usage.read
    if readable is None or read is None:
        return None
    unknown = unjudged_settings(case)
    if not case.thresholds.exceeded(readable.whole_estimated - read, readable.whole_estimated):
        case.cleared.update(one.key for one in unknown if readable.whole_estimated >= LEAST)
        return None
    suspects = [one for one in changed_settings(case) if one.tiers is None]
    suspects += [one for one in unknown if one.key not in case.cleared]
    if suspects:
        first, *others = [_suspected(one, read, readable.whole_estimated) for one in suspects]
        return _told(case, first, others, readable, options, Zone.SETTINGS)
    for named in serving_causes(case, read, readable.whole_estimated):
        zone = Zone.SETTINGS if named.keys else Zone.NONE
        return _told(case, named, [], readable, options, zone)
    return None


def _suspected(changed: Changed, read: int, readable: int) -> Named:
    """A setting of which nobody says what it takes, where the provider reports a miss."""
    evidence = (
        f"read {tokens_words(read)} of {readable:,} that could have been read (estimated), and "
        f"{changed.key} differs, of which no rule says what it takes"
    )
    nameless = changed.cause == UNKNOWN_CAUSE
    return Named(
        changed.cause,
        Verdict.UNKNOWN if nameless else Verdict.BROKEN,
        Confidence.UNKNOWN if nameless else Confidence.INFERRED,
        evidence,
        keys=(changed.key,),
        was=changed.was,
        now=changed.now,
    )


def _bounded(case: Case, found: Finding) -> Finding:
    """With no more lost than the request paid for: what is not sent again is not lost."""
    usage = case.now.usage
    if usage.input is None and case.now.continues:
        return found
    whole = case.tokens_estimated(case.now.bytes) if usage.input is None else usage.input
    paid = EstimatedTokens(max(whole - (usage.read or 0), 0))
    return found if found.lost_tokens_estimated <= paid else replace(found, lost_tokens_estimated=paid)


def priced(case: Case, found: Finding, started: float | None) -> Finding:
    """With what the lost tokens cost more than a read of them, where usage and dated prices are known."""
    rules = case.known.rules
    if rules is None or case.now.usage.input is None or not found.lost_tokens_estimated:
        return found
    price = price_of(rules, case.now.model or "", day_of(started))
    if price is None or price.input is None:
        return found
    amount = lost_multiple(found.lost_tokens_estimated, case.now.usage, price) * price.input / MILLION
    return replace(found, cost_amount_estimated=amount, currency=price.currency)

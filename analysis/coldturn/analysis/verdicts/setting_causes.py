"""Changed settings as causes: what each takes, and what is left where an earlier request had the same."""

from __future__ import annotations

from dataclasses import replace

from coldturn.analysis.breaks.findings import Finding, Verdict
from coldturn.analysis.breaks.pair import PairOptions
from coldturn.analysis.verdicts.findings import beside, placeless, with_figures
from coldturn.analysis.verdicts.model import Case, Named, tokens_words
from coldturn.analysis.verdicts.readable import LEAST, Readable, earlier_bytes, readable_of
from coldturn.analysis.verdicts.settings import Changed, changed_settings, kept_bytes
from coldturn.reference.prefix.model import Confidence, Zone
from coldturn.reference.tokens import EstimatedTokens, estimate_tokens


def settings_causes(case: Case) -> list[tuple[Changed, Named]]:
    """Changed settings that take something from the cache by the rules."""
    return [(one, _named(case, one)) for one in changed_settings(case) if one.tiers]


def of_settings(case: Case, settings: list[tuple[Changed, Named]], options: PairOptions) -> Finding | None:
    """The finding of a pair whose text is intact and whose settings are not; None when nothing is lost.

    Args:
        case: The pair.
        settings: What `settings_causes` gives, not empty.
        options: What a finding carries.
    """
    changed, first = settings[0]
    others = tuple(beside(named) for _, named in settings[1:])
    kept = kept_bytes(case.child, changed.tiers or ())
    readable = readable_of(case, kept, earlier=True)
    first = _went_back(case, first, kept, readable)
    read = case.now.usage.read
    lost = estimate_tokens(first.lost_bytes) if readable is None else readable.lost_estimated
    if readable is not None and not readable.whole_estimated:
        first = replace(
            first, verdict=Verdict.BROKEN_HARMLESS, evidence=f"{first.evidence}; nothing was kept"
        )
    elif readable is not None and not readable.lost_estimated:
        return None
    elif readable is not None and read is not None and _nearly_all(readable, read):
        told = f"{first.evidence}; the provider read {tokens_words(read)} all the same"
        first = replace(first, verdict=Verdict.BROKEN_HARMLESS, evidence=told)
        lost = EstimatedTokens(0)
    found = placeless(case.child.labels.turn, first, Zone.SETTINGS, lost, options)
    return with_figures(case, replace(found, alongside=others), readable)


def _named(case: Case, changed: Changed) -> Named:
    tiers = changed.tiers or ()
    lost = max(min(case.stable_bytes, case.child.content_bytes) - kept_bytes(case.child, tiers), 0)
    known = case.known.rules
    by = f"by the rules {known.name}" if known is not None else "no cache rules are known for this model"
    evidence = f"{changed.key} differs: {', '.join(tiers)} lost ({by})"
    return Named(
        changed.cause,
        Verdict.BROKEN,
        Confidence.OBSERVED,
        evidence,
        tiers=tiers,
        keys=(changed.key,),
        was=changed.was,
        now=changed.now,
        lost_bytes=lost,
    )


def _nearly_all(readable: Readable, read: int) -> bool:
    """Whether so little of what a setting takes was not read that it took nothing."""
    return readable.whole_estimated - read <= min(
        max(LEAST, readable.lost_estimated // 20), readable.lost_estimated // 2
    )


def _went_back(case: Case, named: Named, kept: int, readable: Readable | None) -> Named:
    """With what is left where an earlier request had the same settings: lost is what came since."""
    alone = readable_of(case, kept)
    if alone is None or readable is None or readable.left_estimated <= alone.left_estimated:
        return named
    evidence = (
        f"{named.evidence}; an earlier request with the same settings left "
        f"{tokens_words(readable.left_estimated)} that can still be read (estimated)"
    )
    size = min(case.stable_bytes, case.child.content_bytes)
    return replace(named, evidence=evidence, lost_bytes=max(size - max(kept, earlier_bytes(case)), 0))

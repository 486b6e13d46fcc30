"""A provider's own diagnosis against ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from coldturn.analysis.breaks.findings import Finding, VendorWord, Verdict
from coldturn.analysis.breaks.pair import PairOptions
from coldturn.analysis.verdicts.aliases import ALIASES, Alias
from coldturn.analysis.verdicts.findings import placeless
from coldturn.analysis.verdicts.model import Case, Named, tokens_words
from coldturn.analysis.verdicts.settings import changed_settings
from coldturn.analysis.verdicts.words import plain
from coldturn.reference.prefix.model import Confidence, Zone
from coldturn.reference.tokens import EstimatedTokens
from coldturn.reference.wire.model import CacheDiagnosis

AGREED, FINER, CONFLICT = "agreed", "finer", "conflict"
_MISS = "cache_miss"


def with_vendor(
    case: Case, found: Finding | None, diagnosis: CacheDiagnosis | None, options: PairOptions
) -> Finding | None:
    """A finding scored against a provider's diagnosis; one made from it where we found nothing.

    Args:
        case: The pair.
        found: Ours, if there is one.
        diagnosis: The provider's, if the recording holds one.
        options: What a finding carries.
    """
    if diagnosis is None or diagnosis.type != _MISS or diagnosis.reason is None:
        return found
    told = {"source": diagnosis.source, "reason": plain(diagnosis.reason)}
    alias = ALIASES.get(diagnosis.source, {}).get(diagnosis.reason)
    if found is not None and found.verdict is not Verdict.BROKEN_HARMLESS:
        return replace(found, vendor={**told, "score": score(found, alias)})
    ours = _ours(case, diagnosis, alias, options)
    scored = {**told, "score": AGREED if ours.zone is Zone.SETTINGS else CONFLICT}
    return replace(ours, vendor=scored)


def unmatched(diagnosis: CacheDiagnosis | None, request: int) -> list[VendorWord]:
    """A provider's diagnosis of a miss, as a word that stands by itself; empty for anything else."""
    if diagnosis is None or diagnosis.type != _MISS or diagnosis.reason is None:
        return []
    return [VendorWord(request, diagnosis.source, plain(diagnosis.reason))]


def score(found: Finding, alias: Alias | None) -> str:
    """``agreed``, ``finer`` when ours says more of the same place, or ``conflict``."""
    if alias is None:
        return CONFLICT
    if alias.covers(found.cause, found.zone):
        return AGREED if alias.equals(found.cause) else FINER
    others = ((one.cause, one.zone) for one in found.later)
    if any(alias.covers(cause, zone) for cause, zone in others):
        return FINER
    return FINER if any(one.cause in alias.causes for one in found.alongside) else CONFLICT


def _ours(case: Case, diagnosis: CacheDiagnosis, alias: Alias | None, options: PairOptions) -> Finding:
    """A finding where the provider missed and we saw nothing that costs: a setting it names, or unknown."""
    missed = diagnosis.missed_tokens
    lost = EstimatedTokens(missed or 0)
    cost = "" if missed is None else f", {tokens_words(missed)} missed by its count"
    for changed in changed_settings(case):
        if alias is not None and changed.cause in alias.causes:
            evidence = f"{changed.key} differs, and the provider says that it counts{cost}"
            named = Named(
                changed.cause,
                Verdict.BROKEN,
                Confidence.OBSERVED,
                evidence,
                keys=(changed.key,),
                was=changed.was,
                now=changed.now,
            )
            return placeless(case.child.labels.turn, named, Zone.SETTINGS, lost, options)
    word = plain(diagnosis.reason or "a miss")
    evidence = f"the provider says {word}{cost}; the recorded requests do not show it"
    named = Named("unknown", Verdict.UNKNOWN, Confidence.UNKNOWN, evidence)
    return placeless(case.child.labels.turn, named, _zone(alias), lost, options)


def _zone(alias: Alias | None) -> Zone:
    zones = alias.zones if alias is not None else frozenset[Zone]()
    order = (Zone.TOOLS, Zone.SYSTEM, Zone.HISTORY)
    return next((zone for zone in order if zone in zones), Zone.NONE) if len(zones) < 3 else Zone.NONE


def vendor_words(vendor: Mapping[str, str]) -> str:
    """``anthropic says system_changed: agreed``."""
    words = {AGREED: "as we do", FINER: "ours says more", CONFLICT: "ours differs"}
    return f"{vendor['source']} says {vendor['reason']} ({words[vendor['score']]})"

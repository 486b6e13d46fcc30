"""Branches held against their reports: what stands in front of the place where two requests part is intact.

A new conversation, a fork or a side call pays for nothing twice behind that place. In front of it, it should
read what the other one left, as any request does that repeats another.
"""

from __future__ import annotations

from dataclasses import replace

from coldturn.analysis.breaks.findings import Finding, Verdict
from coldturn.analysis.breaks.pair import PairOptions
from coldturn.analysis.estimates.ruleset import EntryModel
from coldturn.analysis.verdicts.findings import beside_text, placeless
from coldturn.analysis.verdicts.model import Case, Named, tokens_words
from coldturn.analysis.verdicts.readable import LEAST, alive_tokens, readable_of
from coldturn.analysis.verdicts.serving import serving_causes
from coldturn.analysis.verdicts.settings import changed_settings, kept_bytes
from coldturn.analysis.verdicts.timing import timing_causes, with_unread
from coldturn.reference.prefix.model import Confidence, Zone
from coldturn.reference.tokens import EstimatedTokens


def of_branch(case: Case, text: Finding, options: PairOptions) -> Finding:
    """The finding of a branch: as its bytes tell, unless its report shows a miss in front of the place.

    Args:
        case: The pair.
        text: What its bytes tell, a harmless difference.
        options: What a finding carries.
    """
    read = case.now.usage.read
    if read is None or case.missing or case.by_reference:
        return text
    kept = min(
        (kept_bytes(case.child, one.tiers) for one in changed_settings(case) if one.tiers), default=None
    )
    common = case.comparison.common_bytes
    readable = readable_of(case, common if kept is None else min(kept, common), earlier=True)
    if readable is None:
        return text
    left = readable.left_estimated
    named = _cause(case, read, left) if left >= LEAST else _unmarked(case, read)
    if named is None:
        return text
    lost = EstimatedTokens(max(left - read, 0)) if named.counts else EstimatedTokens(0)
    found = placeless(case.child.labels.turn, named, Zone.NONE, lost, options)
    return replace(
        found,
        # The bytes in common say how far the two are one, and the kind that nothing behind is paid twice.
        offset=text.offset,
        kinds=text.kinds,
        alongside=(beside_text(text),),
        rules=case.known.name,
        readable_estimated=left,
        read_estimated=left if named.verdict is Verdict.PROVIDER_SIDE_SUSPECTED else EstimatedTokens(0),
        read_reported=case.now.usage.read,
    )


def _cause(case: Case, read: int, left: int) -> Named | None:
    if left - read <= max(LEAST, left // 20):
        return None
    if alive_tokens(case) < left - max(LEAST, left // 20):
        # Else some other request keeps the same beginning readable.
        for named in timing_causes(case):
            return with_unread(named, left - read)
    if not case.thresholds.exceeded(left - read, left):
        return None
    return next(serving_causes(case, read, left), None)


def _unmarked(case: Case, read: int) -> Named | None:
    """Markers that all stand behind the place: each request writes, and none can be read."""
    places = case.now.places
    if read or case.known.model is not EntryModel.WRITTEN_ENTRIES or places is None or not places.entries:
        return None
    tokens = case.tokens_estimated(case.comparison.common_bytes)
    first = min(entry.bytes for entry in places.entries)
    if first <= case.comparison.common_bytes or not case.same_cache:
        return None
    if tokens < max(case.thresholds.tokens, case.known.parameters.minimum or 0):
        return None
    evidence = (
        f"every marker stands behind the place where the two part, and {tokens_words(tokens)} in front of it "
        "are alike (estimated)"
    )
    return Named("breakpoint_on_volatile", Verdict.BROKEN_HARMLESS, Confidence.OBSERVED, evidence)

"""Pairs of requests that name explicit caches of Gemini's: another name, one that is over, or the same.

What such a request reads is the cache, whole, and nothing documents reads behind it. So the text in the body
decides nothing, and the entry model of implicit caches does not judge these pairs.
"""

from __future__ import annotations

from dataclasses import replace

from coldturn.analysis.breaks.findings import Finding, Verdict
from coldturn.analysis.breaks.pair import PairOptions
from coldturn.analysis.estimates.named_caches import NamedCache, Naming, State
from coldturn.analysis.verdicts.findings import beside_text, placeless
from coldturn.analysis.verdicts.model import Case, Named, tokens_words
from coldturn.analysis.verdicts.words import plain, seconds_words
from coldturn.reference.prefix.model import Confidence, Zone
from coldturn.reference.tokens import EstimatedTokens
from coldturn.traces.cached_content import cache_id

CHANGED, EXPIRED = "cached_content_changed", "cached_content_expired"
_KEY = "cachedContent"
_NAME = 40
_BEHIND = "it stands behind an explicit cache, and nothing documents reads there"


def by_cached_content(case: Case, text: Finding | None, options: PairOptions) -> Finding | None:
    """The finding of a pair of which at least one request names a cache.

    Args:
        case: The pair.
        text: What the bytes of the bodies tell; None when the newer one repeats the older one.
        options: What a finding carries.
    """
    was, now = case.was.naming, case.now.naming
    if case.now.refused:
        return _refused(case, now, options) if now is not None and now.gone else text
    if now is None:
        return text if was is None else _dropped(case, was, options)
    if was is None:
        return None
    if cache_id(was.name) != cache_id(now.name):
        return _renamed(case, was, now, options)
    return _same(case, now, text, options)


def _refused(case: Case, now: Naming, options: PairOptions) -> Finding:
    """A request that was not answered because its cache is over. Asking costs nothing."""
    evidence = f"names {_name(now.name)}, which {_ended(now)}, and the provider refused it"
    verdict = Verdict.BROKEN if now.state is State.DELETED else Verdict.TTL_SUSPECTED
    named = Named(EXPIRED, verdict, Confidence.OBSERVED, evidence, keys=(_KEY,))
    return placeless(case.child.labels.turn, named, Zone.NONE, EstimatedTokens(0), options)


def _dropped(case: Case, was: Naming, options: PairOptions) -> Finding:
    """The newer request names no cache any more."""
    held = was.cache.tokens if was.cache is not None else None
    size, read = held if held is not None else case.was.usage.read, case.now.usage.read
    over = _over(was.cache, case.now.started)
    evidence = f"names no explicit cache any more, before {_name(was.name)}"
    if size is not None:
        evidence += f" ({tokens_words(size)})"
    if over:
        evidence += ", which was over"
    lost = max((size or 0) - (read or 0), 0)
    verdict = Verdict.TTL_SUSPECTED if over else Verdict.BROKEN
    if size is not None and read is not None and read >= size:
        verdict, evidence = Verdict.BROKEN_HARMLESS, f"{evidence}; the provider read {tokens_words(read)}"
    named = Named(
        EXPIRED if over else CHANGED, verdict, Confidence.OBSERVED, evidence, keys=(_KEY,), was=was.name
    )
    return _told(case, named, lost, options)


def _renamed(case: Case, was: Naming, now: Naming, options: PairOptions) -> Finding:
    older, newer = was.cache, now.cache
    names = f"names {_name(now.name)}, before {_name(was.name)}"
    if older is None or newer is None or older.digest is None or newer.digest is None:
        return _unrecorded(case, was, now, names, options)
    size = newer.tokens if newer.tokens is not None else newer.resource.tokens
    cause, verdict = CHANGED, Verdict.BROKEN
    if older.digest != newer.digest:
        why = "which holds something else"
    elif older.resource.lives(newer.resource.made):
        why = "which held the same and still lived when this one was made"
    else:
        why = "which held the same and was over when this one was made"
        cause, verdict = EXPIRED, Verdict.TTL_SUSPECTED
    evidence = f"{names}, {why}: {tokens_words(size)} paid for at the full price"
    if newer.told:
        verdict, size = Verdict.BROKEN_HARMLESS, 0
        evidence = f"{names}, {why}; its making is told with an earlier request"
    newer.told = True
    named = Named(cause, verdict, Confidence.OBSERVED, evidence, keys=(_KEY,), was=was.name, now=now.name)
    return _told(case, named, size, options)


def _unrecorded(case: Case, was: Naming, now: Naming, names: str, options: PairOptions) -> Finding:
    """Two names, of which the recording does not hold what was put in: only reports can tell a loss."""
    before, read = case.was.usage.read, case.now.usage.read
    evidence = f"{names}; the recording does not hold the making of both"
    lost, verdict = 0, Verdict.UNKNOWN
    if before is not None and read is not None:
        lost = max(before - read, 0)
        verdict = Verdict.BROKEN if lost else Verdict.BROKEN_HARMLESS
        evidence += f"; the provider read {tokens_words(read)}, before {before:,}"
    named = Named(CHANGED, verdict, Confidence.OBSERVED, evidence, keys=(_KEY,), was=was.name, now=now.name)
    return _told(case, named, lost, options)


def _same(case: Case, now: Naming, text: Finding | None, options: PairOptions) -> Finding | None:
    """One cache in both: it is read whole; a text that changed stands behind it."""
    before, read = case.was.usage.read, case.now.usage.read
    size = None if now.cache is None else now.cache.tokens
    if size is not None and read is not None and case.thresholds.exceeded(size - read, size):
        evidence = f"read {tokens_words(read)} of {size:,} in the explicit cache that it names"
        named = Named("provider_side", Verdict.PROVIDER_SIDE_SUSPECTED, Confidence.INFERRED, evidence)
        found = _told(case, named, size - read, options)
        return found if text is None else replace(found, alongside=(beside_text(text),))
    if text is None or text.verdict in (Verdict.PLANNED, Verdict.BROKEN_HARMLESS):
        return text
    if before is not None and read is not None and case.thresholds.exceeded(before - read, before):
        evidence = f"the provider read {tokens_words(read)}, and of the older request {before:,}"
        lost = EstimatedTokens(before - read)
        return replace(text, evidence=evidence, lost_tokens_estimated=lost, read_reported=read)
    return replace(
        text,
        verdict=Verdict.BROKEN_HARMLESS,
        evidence=_BEHIND,
        lost_tokens_estimated=EstimatedTokens(0),
        read_reported=read,
    )


def _told(case: Case, named: Named, lost: int, options: PairOptions) -> Finding:
    zone = Zone.SETTINGS if named.cause == CHANGED else Zone.NONE
    lost_estimated = EstimatedTokens(0 if named.verdict is Verdict.BROKEN_HARMLESS else lost)
    found = placeless(case.child.labels.turn, named, zone, lost_estimated, options)
    return replace(found, read_reported=case.now.usage.read)


def _over(cache: NamedCache | None, now: float | None) -> bool:
    return cache is not None and not cache.resource.lives(now)


def _ended(naming: Naming) -> str:
    how = "was deleted" if naming.state is State.DELETED else "expired"
    return how if naming.over is None else f"{how} {seconds_words(naming.over)} before"


def _name(name: str) -> str:
    own = f"cachedContents/{cache_id(name)}"
    return plain(own if len(own) <= _NAME else f"{own[: _NAME - 1]}…")

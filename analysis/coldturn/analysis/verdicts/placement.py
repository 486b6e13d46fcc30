"""Causes that stand in a request's own markers: where they are, how many, for how long, in what order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from coldturn.analysis.breaks.findings import Verdict
from coldturn.analysis.estimates.placement import TOO_MANY_MARKERS, TTL_ORDER
from coldturn.analysis.estimates.ruleset import EntryModel, Parameters, Placement
from coldturn.analysis.verdicts.entry_book import Entry
from coldturn.analysis.verdicts.model import Case, Named, tokens_words
from coldturn.analysis.verdicts.readable import parent_tokens, written_tokens
from coldturn.analysis.verdicts.remedies import DRIFT_BY_DESIGN, MARK_HISTORY, OWN_BLOCK
from coldturn.analysis.verdicts.server_edits import edits_told
from coldturn.analysis.verdicts.serving import drifted, drops_reasoning
from coldturn.analysis.verdicts.words import count_words, plain
from coldturn.reference.prefix.model import Block, Confidence
from coldturn.reference.prefix.request import PromptRequest

_NEAR = 2
"""A prefix of at least this part of the minimum is one that somebody may have meant to be cached."""


def placement_causes(case: Case) -> Iterator[Named]:
    """What the markers and the size of a pair tell, the surest first.

    Nothing, where the source did not keep all of a request: then it kept neither markers nor sizes.
    """
    if case.known.rules is None or case.missing:
        return
    yield from edits_told(case)
    if case.keeps_markers:
        yield from _envelope(case)
    if case.known.model is EntryModel.WRITTEN_ENTRIES:
        yield from _written(case) if case.keeps_markers else ()
    else:
        yield from _sizes(case)


def _envelope(case: Case) -> Iterator[Named]:
    was, now = case.was.envelope, case.now.envelope
    if was is None or now is None or was == now or not case.same_cache:
        return
    shared = frozenset(was) & frozenset(now)
    before, after = ([key for key in keys if key in shared] for keys in (was, now))
    if before != after:
        evidence = f"top-level keys come as {plain(', '.join(after))}, before as {plain(', '.join(before))}"
        yield Named("envelope_order", Verdict.BROKEN, Confidence.OBSERVED, evidence)


def _written(case: Case) -> Iterator[Named]:
    places, earlier = case.now.places, case.was.places
    if places is None or earlier is None or case.look is None:
        return
    if places.refused is not None:
        yield from _refused(case, places.refused)
        return
    deepest = earlier.deepest
    if not places.marked:
        yield from _unmarked(case, deepest)
        return
    if deepest is None:
        return
    tokens = written_tokens(case)
    if not tokens:
        yield from _too_small(case, case.tokens_estimated(deepest.bytes), asked=bool(case.child.markers))
    elif not case.look.repeats(deepest):
        yield from _not_repeated(case, deepest)
    elif deepest.boundary not in case.look.looked:
        yield from _too_far(case, deepest) if _is_followed(case, deepest) else _marks_gone(case, deepest)
    elif case.comparison.stable and deepest.head:
        yield from _history_unmarked(case, deepest)


def _refused(case: Case, why: str) -> Iterator[Named]:
    """A request that the rules refuse; one that was answered, and cached, shows that they were bent."""
    usage = case.now.usage
    if usage.read or usage.written or (usage.input is not None and usage.read is None):
        return
    named = refused_marks(case.child, case.known.parameters, why)
    if named is not None and usage.input is not None:
        evidence = f"{named.evidence}; it was answered, and nothing was read or written"
        yield replace(named, confidence=Confidence.INFERRED, evidence=evidence)
    elif named is not None:
        yield named


def refused_marks(request: PromptRequest, parameters: Parameters, why: str) -> Named | None:
    """Why a provider refuses the markers of a request.

    Args:
        request: The request.
        parameters: Rules of the provider.
        why: What `place` says of it.
    """
    if why == TOO_MANY_MARKERS:
        count = len(request.markers)
        evidence = f"{count_words(count, 'marker')}, and at most {parameters.max_breakpoints} are taken"
    elif why == TTL_ORDER:
        evidence = "a marker with a longer lifetime stands behind one with a shorter lifetime"
    else:
        return None
    return Named(why, Verdict.BROKEN, Confidence.OBSERVED, evidence)


def _unmarked(case: Case, deepest: Entry | None) -> Iterator[Named]:
    tokens = written_tokens(case)
    if deepest is not None and tokens:
        evidence = f"the request has no marker; the one before wrote {tokens_words(tokens)}"
        yield Named("breakpoint_missing", Verdict.BROKEN, Confidence.OBSERVED, evidence)
    elif deepest is None and not (case.was.places and case.was.places.marked):
        could = parent_tokens(case)
        if could >= max(case.thresholds.tokens, case.known.parameters.minimum or 0):
            evidence = (
                f"neither request has a marker; {tokens_words(could)} are alike (estimated), "
                "and a marker would have them read"
            )
            yield Named("breakpoint_missing", Verdict.BROKEN_HARMLESS, Confidence.OBSERVED, evidence)


def _not_repeated(case: Case, deepest: Entry) -> Iterator[Named]:
    """The marked text is not in the newer request, though all that counts of the older one is."""
    if not case.comparison.stable:
        return
    if drops_reasoning(case):
        yield drifted("the server drops earlier reasoning when a plain user message follows", DRIFT_BY_DESIGN)
        return
    behind = tokens_words(case.tokens_estimated(deepest.bytes))
    block = None if deepest.block is None else case.parent.blocks[deepest.block]
    where = f"stands behind {behind} (estimated)" + ("" if block is None else f", on {block.path}")
    if block is not None and _goes_on(case, block):
        evidence = f"the last marker of the older request {where}; that block goes on in the newer one"
        yield _volatile(evidence, block.path, OWN_BLOCK)
        return
    evidence = f"the last marker of the older request {where}, a block that the newer one does not repeat"
    yield _volatile(evidence, None if block is None else block.path)


def _volatile(evidence: str, path: str | None, remedy: str | None = None) -> Named:
    cause = "breakpoint_on_volatile"
    return Named(cause, Verdict.BROKEN, Confidence.OBSERVED, evidence, path=path, remedy=remedy)


def _goes_on(case: Case, block: Block) -> bool:
    """Whether the newer request holds a block at the same place that begins with all of this one."""
    text = block.facts.content
    return any(
        one.path == block.path and len(one.facts.content) > len(text) and one.facts.content.startswith(text)
        for one in case.child.blocks
    )


def _is_followed(case: Case, deepest: Entry) -> bool:
    """Whether a marker of the newer request stands where it could look back to an entry."""
    places = case.now.places
    return places is not None and any(entry.boundary >= deepest.boundary for entry in places.entries)


def _marks_gone(case: Case, deepest: Entry) -> Iterator[Named]:
    """All markers stand in front of the older request's entry, and nobody looks there."""
    last = None if case.now.places is None else case.now.places.deepest
    front = tokens_words(case.tokens_estimated(0 if last is None else last.bytes))
    evidence = (
        f"the last marker stands behind {front}, and nobody looks for the entry behind "
        f"{tokens_words(case.tokens_estimated(deepest.bytes))} that the older request left (estimated)"
    )
    yield Named("breakpoint_missing", Verdict.BROKEN, Confidence.OBSERVED, evidence)


def _history_unmarked(case: Case, deepest: Entry) -> Iterator[Named]:
    """Only tools or system are marked while the conversation grows; told when that begins to matter."""
    last = None if case.now.places is None else case.now.places.deepest
    least = case.thresholds.tokens
    tokens = case.tokens_estimated(case.stable_bytes - deepest.bytes)
    before = next(case.ancestors(), None)
    told = before is not None and case.tokens_estimated(before.bytes - deepest.bytes) >= least
    if last is None or not last.head or tokens < least or told:
        return
    evidence = (
        f"the last marker stands in front of the conversation; {tokens_words(tokens)} behind it are alike "
        "(estimated), and a marker would have them read"
    )
    cause = "breakpoint_missing"
    yield Named(cause, Verdict.BROKEN_HARMLESS, Confidence.OBSERVED, evidence, remedy=MARK_HISTORY)


def _too_far(case: Case, deepest: Entry) -> Iterator[Named]:
    if case.known.parameters.placement is Placement.OPENAI:
        back = case.known.parameters.earlier_probes
        words = f"more than {back} endings of messages"
    else:
        back = case.known.parameters.lookback
        words = f"more than {back} blocks"
    evidence = (
        f"the entry behind {tokens_words(case.tokens_estimated(deepest.bytes))} (estimated) lies {words} "
        "in front of the next marker"
    )
    yield Named("lookback_exceeded", Verdict.BROKEN, Confidence.OBSERVED, evidence)


def _sizes(case: Case) -> Iterator[Named]:
    """Prefixes that are too small for what is read without markers."""
    parameters = case.known.parameters
    tokens = parent_tokens(case)
    minimum = parameters.minimum or 0
    if case.known.model is EntryModel.EXPLICIT_RESOURCE or case.by_reference:
        return
    if tokens < minimum:
        yield from _too_small(case, tokens, asked=False)
        return
    block = parameters.granularity
    if tokens < block and (case.known.named or (case.now.usage.read == 0 and tokens * _NEAR >= block)):
        evidence = f"{tokens_words(tokens)} in common, and a block has {block:,}"
        yield Named("below_block_floor", Verdict.BROKEN_HARMLESS, _size_confidence(case), evidence)


def _too_small(case: Case, tokens: int, *, asked: bool) -> Iterator[Named]:
    """Told where somebody asked for an entry, or where it was nearly large enough and nothing was read."""
    minimum = case.known.parameters.minimum or 0
    near = case.now.usage.read == 0 and tokens * _NEAR >= minimum
    if not (near or asked or case.known.named):
        return
    counted = "" if _size_confidence(case) is Confidence.OBSERVED else " (estimated)"
    evidence = f"{tokens_words(tokens)}{counted}, and below {minimum:,} nothing is kept"
    yield Named("below_minimum", Verdict.BROKEN_HARMLESS, _size_confidence(case), evidence)


def _size_confidence(case: Case) -> Confidence:
    """Observed where the provider counted the parent's tokens itself."""
    return Confidence.OBSERVED if case.was.input is not None else Confidence.INFERRED

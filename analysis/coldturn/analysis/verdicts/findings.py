"""Findings of causes that have no place in the text."""

from __future__ import annotations

from dataclasses import replace

from coldturn.analysis.breaks.findings import Beside, Finding, Verdict
from coldturn.analysis.breaks.pair import UNKNOWN_CAUSE, PairOptions, anchor_of
from coldturn.analysis.verdicts.model import Case, Named
from coldturn.analysis.verdicts.readable import Readable
from coldturn.analysis.verdicts.remedies import ALL_REMEDIES
from coldturn.reference.prefix.model import Zone
from coldturn.reference.prefix.secrets import blotted_text
from coldturn.reference.tokens import EstimatedTokens

_REMEDY_OF_UNKNOWN = "Record whole requests with their times (coldturn record proxy): they show the reason."
_REMEDY_OF_SETTING = "Keep this setting for a conversation, and see whether the miss stays away."


def placeless(
    turn: int | None, named: Named, zone: Zone, lost_estimated: EstimatedTokens, options: PairOptions
) -> Finding:
    """A finding for the second request of two; places are None, since no text differs."""
    shown = options.content
    return Finding(
        source="",
        request=1,
        entry=0,
        parent=0,
        turn=turn,
        zone=zone,
        segment=None,
        path=named.path,
        side="child" if named.path is None else "parent",
        section=None,
        offset=None,
        block_offset=None,
        wire_offset=None,
        cause=named.cause,
        confidence=named.confidence.value,
        planned=named.verdict is Verdict.PLANNED,
        verdict=named.verdict,
        lost_bytes=named.lost_bytes,
        lost_tokens_estimated=lost_estimated,
        delta_bytes=0,
        names=named.keys,
        kinds=(),
        before=None,
        was=_cut(named.was, options) if shown else None,
        now=_cut(named.now, options) if shown else None,
        later=(),
        remedy=_remedy(named, zone),
        evidence=named.evidence,
        tiers_lost=named.tiers,
        anchor=anchor_of(named.cause),
    )


def _remedy(named: Named, zone: Zone) -> str | None:
    if named.remedy is not None:
        return named.remedy
    if named.cause != UNKNOWN_CAUSE:
        return ALL_REMEDIES.get(named.cause)
    return _REMEDY_OF_SETTING if zone is Zone.SETTINGS else _REMEDY_OF_UNKNOWN


def beside(named: Named) -> Beside:
    """A cause as one that is named beside another."""
    return Beside(named.cause, named.confidence.value, named.evidence)


def beside_text(found: Finding) -> Beside:
    """A text cause that took nothing, beside the cause that did."""
    where = f"{found.zone.value}: {found.segment}" if found.segment else found.zone.value
    harmless = found.verdict is Verdict.BROKEN_HARMLESS
    return Beside(found.cause, found.confidence, f"{where}{', harmless' if harmless else ''}")


def _cut(value: str | None, options: PairOptions) -> str | None:
    return None if value is None else blotted_text(value)[: options.context]


def with_figures(case: Case, found: Finding, readable: Readable | None) -> Finding:
    """A finding with the figures that were looked at.

    Args:
        case: The pair.
        found: Its finding.
        readable: What could have been read; None where no rules tell.
    """
    rules = case.known.rules
    return replace(
        found,
        rules=None if rules is None or readable is None else rules.name,
        readable_estimated=None if readable is None else readable.whole_estimated,
        read_estimated=None if readable is None else readable.left_estimated,
        read_reported=case.now.usage.read,
    )

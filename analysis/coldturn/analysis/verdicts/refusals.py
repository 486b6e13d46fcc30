"""Requests that a provider refuses for their markers: told though no cache ever saw them."""

from __future__ import annotations

from dataclasses import replace

from coldturn.analysis.breaks.findings import Finding
from coldturn.analysis.breaks.pair import PairOptions
from coldturn.analysis.verdicts.findings import beside_text, placeless
from coldturn.analysis.verdicts.model import Sent
from coldturn.analysis.verdicts.placement import refused_marks
from coldturn.reference.prefix.model import Zone
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.tokens import EstimatedTokens

_BAD_REQUEST = 400


def refused_for_markers(
    request: PromptRequest, sent: Sent, status: int | None, text: Finding | None, options: PairOptions
) -> Finding | None:
    """The finding of a request that was answered 400 and whose markers are against the rules; else None.

    Args:
        request: The request.
        sent: What is known of it.
        status: Of its answer.
        text: What its bytes tell beside the one that it continues.
        options: What a finding carries.
    """
    if status != _BAD_REQUEST or sent.places is None or sent.places.refused is None:
        return None
    named = refused_marks(request, sent.known.parameters, sent.places.refused)
    if named is None:
        return None
    named = replace(named, evidence=f"{named.evidence}; the server answered {status}")
    found = placeless(request.labels.turn, named, Zone.NONE, EstimatedTokens(0), options)
    return replace(
        found,
        rules=sent.known.name,
        alongside=() if text is None else (beside_text(text),),
    )

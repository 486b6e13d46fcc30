"""Reasoning that a provider keeps, and that a changed prefix makes worthless."""

from __future__ import annotations

from itertools import takewhile
from operator import is_

from coldturn.analysis.estimates.ruleset import Placement
from coldturn.analysis.verdicts.model import Case
from coldturn.reference.prefix.model import BlockKind
from coldturn.reference.prefix.request import PromptRequest


def loses_reasoning(case: Case) -> bool:
    """Whether reasoning is sent back behind a prefix that has changed, to a provider that keeps it.

    On Anthropic's models that preserve earlier thinking such blocks no longer fit; it may answer 400.
    """
    parameters = case.known.parameters
    if parameters.placement is not Placement.ANTHROPIC or parameters.strips_thinking:
        return False
    shared = len(tuple(takewhile(bool, map(is_, case.parent.contents, case.child.contents))))
    return not _reasoning(case.parent, shared).isdisjoint(_reasoning(case.child, shared))


def _reasoning(request: PromptRequest, skipped: int) -> set[bytes]:
    """Digests of the blocks of reasoning behind the first so many elements."""
    elements = [element for placed in request.groups for element in placed.elements]
    return {
        piece.facts.digest
        for element in elements[skipped:]
        for piece in element.pieces
        if piece.kind is BlockKind.REASONING
    }

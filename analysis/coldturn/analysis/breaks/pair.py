"""From what the bytes of one pair tell to a finding: verdict, remedy, and only what its fidelity supports."""

from __future__ import annotations

from dataclasses import dataclass

from coldturn.analysis.breaks.findings import Beside, Finding, Later, Verdict
from coldturn.analysis.breaks.windows import Window, window_of
from coldturn.analysis.fidelity import lowest
from coldturn.reference.prefix.causes import remedy_of
from coldturn.reference.prefix.model import Break, Comparison, Fidelity, LaterCause, Zone
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.tokens import estimate_tokens

SAID = frozenset({Zone.HISTORY, Zone.TRANSIENT})
"""Where headings are what somebody said; elsewhere they are names that the developer of a prompt gave."""
UNKNOWN_CAUSE = "unknown"
_KEY_ORDER = "schema_key_order"
_SENT_AGAIN = frozenset({Zone.TOOLS, Zone.SYSTEM})
"""What a request that names the response it continues still repeats; its history stays with the provider."""


@dataclass(frozen=True, slots=True)
class PairOptions:
    """What findings carry.

    Attributes:
        content: Whether `before`, `was` and `now` show prompt text, and `section` what users and tools wrote.
        context: Characters of `was` and `now`.
    """

    content: bool = True
    context: int = 80


def finding_of(
    parent: PromptRequest, child: PromptRequest, comparison: Comparison, options: PairOptions
) -> Finding | None:
    """A finding for `child`, numbered as the second request of two; None when the pair is intact."""
    first = comparison.first
    by_reference = child.by_reference
    if first is None or (by_reference and first.zone not in _SENT_AGAIN):
        return None
    fidelity = lowest(parent.fidelity, child.fidelity)
    exact = fidelity is Fidelity.WIRE
    if not exact and first.cause == _KEY_ORDER:
        return None
    legal = _Legal.of(parent, child, fidelity)
    window = window_of(parent, child, first, options.context) if options.content else Window(None, None, None)
    return Finding(
        source="",
        request=1,
        entry=0,
        parent=0,
        turn=child.labels.turn,
        zone=first.zone,
        segment=first.segment,
        path=first.path if legal.paths else None,
        side=first.side,
        section=first.section if options.content or first.zone not in SAID else None,
        offset=first.offset if legal.offset(first.path) else None,
        block_offset=first.block_offset if legal.offset(first.path) else None,
        wire_offset=first.wire_offset if exact else None,
        cause=first.cause,
        confidence=first.confidence.value,
        planned=first.planned,
        verdict=verdict_of(first),
        lost_bytes=first.lost_bytes,
        lost_tokens_estimated=estimate_tokens(first.lost_bytes),
        delta_bytes=first.delta_bytes,
        names=first.names,
        kinds=first.kinds,
        before=window.before,
        was=window.was,
        now=window.now,
        later=tuple(
            _later(cause, legal)
            for cause in first.later
            if (exact or cause.cause != _KEY_ORDER) and (not by_reference or cause.zone in _SENT_AGAIN)
        ),
        remedy=remedy_of(first.cause, first.zone, first.kinds),
        anchor=anchor_of(first.cause),
        alongside=tuple(Beside(cause, first.confidence.value) for cause in first.alongside),
        evidence=first.evidence,
        was_changed=window.was_changed,
        now_changed=window.now_changed,
    )


def anchor_of(cause: str) -> str:
    """Where the documentation explains a cause."""
    return f"docs/causes.md#{cause}"


def verdict_of(found: Break) -> Verdict:
    """What bytes alone allow to say; an entry model may soften it later."""
    if found.planned:
        return Verdict.PLANNED
    if found.harmless:
        return Verdict.BROKEN_HARMLESS
    return Verdict.UNKNOWN if found.cause == UNKNOWN_CAUSE else Verdict.BROKEN


@dataclass(frozen=True, slots=True)
class _Legal:
    """Which figures a pair's fidelity supports. Where key order is lost, only texts can be counted into."""

    exact: bool
    paths: bool
    texts: frozenset[str]

    @classmethod
    def of(cls, parent: PromptRequest, child: PromptRequest, fidelity: Fidelity) -> _Legal:
        texts: frozenset[str] = frozenset()
        if fidelity is Fidelity.CANONICAL:
            texts = frozenset(
                block.path for request in (parent, child) for block in request.blocks if block.facts.is_text
            )
        exact = fidelity is Fidelity.WIRE
        return cls(exact, exact or fidelity is Fidelity.CANONICAL, texts)

    def offset(self, path: str) -> bool:
        return self.exact or path in self.texts


def _later(cause: LaterCause, legal: _Legal) -> Later:
    return Later(
        cause=cause.cause,
        zone=cause.zone,
        path=cause.path if legal.paths else None,
        block_offset=cause.block_offset if legal.offset(cause.path) else None,
    )

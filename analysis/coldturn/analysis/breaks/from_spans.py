"""Breaks that a trace of coldturn's holds already, as findings.

A trace has no bytes, so nothing is compared again: what its spans say of each pair was found when the
requests were at hand. Places are therefore exact though the trace's own fidelity is ``numbers``; prompt text,
names and the place in the stored body are not on spans and stay unknown. Estimates of caches need bytes and
stay unknown too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from coldturn.analysis.breaks.findings import Finding, Later, LineageReport, ReadError, Report, Verdict
from coldturn.analysis.breaks.pair import UNKNOWN_CAUSE, anchor_of
from coldturn.reference.prefix.causes import REMEDIES
from coldturn.reference.prefix.model import Confidence, Fidelity, Surface, Zone
from coldturn.reference.tokens import EstimatedTokens, estimate_tokens
from coldturn.traces import names
from coldturn.traces.exchange import EntryError
from coldturn.traces.formats.genai_usage import usage_of
from coldturn.traces.formats.otlp import spans_in
from coldturn.traces.formats.spans import Span
from coldturn.traces.kinds import InputKind
from coldturn.traces.opening import Source, opened
from coldturn.traces.sniff import sniff


def add_trace(report: Report, source: Source, name: str, kind: InputKind | None = None) -> bool:
    """Add the breaks of a trace to a report.

    Args:
        report: Gets a lineage per conversation, and an error for each span that cannot be read.
        source: The trace; it is read twice, so no stream that is gone after the first time.
        name: What the report calls it.
        kind: What it was said to be; recognised when None.

    Returns:
        Whether it is a trace of coldturn's; anything else is left alone.

    Raises:
        InputError: It cannot be read.
    """
    with opened(source, name) as stream:
        if (kind or sniff(stream, name)) is not InputKind.TRACE:
            return False
        reading = _Reading(report, name)
        for item in spans_in(stream, name):
            if isinstance(item, EntryError):
                report.errors.append(ReadError(name, reading.requests, item.message))
            elif item.attributes.get(names.OPERATION) == "chat" and names.WIRE_BYTES in item.attributes:
                reading.add(item)
    return True


@dataclass(frozen=True, slots=True)
class _Placed:
    number: int
    lineage: LineageReport


@dataclass(slots=True)
class _Reading:
    """The chat spans of a trace, each placed behind the one that it was compared with."""

    report: Report
    name: str
    requests: int = 0
    _placed: dict[str, _Placed] = field(default_factory=dict)

    def add(self, span: Span) -> None:
        """Take the next request."""
        told = _Told(span.attributes)
        number = self.requests
        self.requests += 1
        base = told.text(names.BASE_SPAN_ID)
        parent = None if base is None else self._placed.get(base)
        if base is not None and parent is None:
            message = (
                f"request {number} was compared with a span that this file lacks: its break is not listed"
            )
            self.report.errors.append(ReadError(self.name, number, message))
        lineage = parent.lineage if parent is not None else self._begin(told, number)
        self._placed[span.span_id] = _Placed(number, lineage)
        lineage.requests += 1
        usage = usage_of(span.attributes)
        lineage.tokens.add(
            reported=usage.input,
            read=usage.read,
            estimated=estimate_tokens(sum(told.wholes(names.ZONE_BYTES))),
        )
        found = None if parent is None else _finding(told, self.name, number, parent.number)
        lineage.count(_verdict(found, parent))
        if found is not None:
            lineage.breaks.append(found)

    def _begin(self, told: _Told, number: int) -> LineageReport:
        lineage = LineageReport(
            id=f"{told.text(names.CONVERSATION_ID) or 'trace'}/{number}",
            source=self.name,
            provider=told.text(names.PROVIDER),
            surface=_surface(told.text(names.WIRE_FORMAT)),
            model=told.text(names.REQUEST_MODEL),
            fidelity=Fidelity.NUMBERS,
        )
        self.report.lineages.append(lineage)
        return lineage


@dataclass(frozen=True, slots=True)
class _Told:
    """A span's attributes, each of the type that it should have or None."""

    attributes: Mapping[str, Any]

    def text(self, name: str) -> str | None:
        value = self.attributes.get(name)
        return value if isinstance(value, str) else None

    def whole(self, name: str) -> int | None:
        value = self.attributes.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def wholes(self, name: str) -> list[int]:
        value = self.attributes.get(name)
        listed = value if isinstance(value, list) else []
        return [one for one in listed if isinstance(one, int) and 0 <= one < 1 << 53]

    def texts(self, name: str) -> list[str]:
        value = self.attributes.get(name)
        return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _finding(told: _Told, name: str, number: int, parent: int) -> Finding | None:
    harmless = told.text(names.HARMLESS_CAUSE)
    cause = harmless if harmless is not None else told.text(names.BREAK_CAUSE)
    if cause is None:
        return None
    planned = told.attributes.get(names.BREAK_PLANNED) is True
    lost = max(told.whole(names.BREAK_LOST_BYTES) or 0, 0)
    return Finding(
        source=name,
        request=number,
        entry=number,
        parent=parent,
        turn=told.whole(names.TURN_INDEX),
        zone=_zone(told.text(names.BREAK_ZONE)),
        segment=told.text(names.BREAK_SEGMENT),
        path=told.text(names.BREAK_PATH),
        side="child",
        section=told.text(names.BREAK_SECTION),
        offset=told.whole(names.BREAK_OFFSET),
        block_offset=told.whole(names.BREAK_BLOCK_OFFSET),
        wire_offset=None,
        cause=cause,
        confidence=told.text(names.BREAK_CONFIDENCE) or Confidence.UNKNOWN.value,
        planned=planned,
        verdict=_verdict_of(cause, planned=planned, harmless=harmless is not None),
        lost_bytes=lost,
        lost_tokens_estimated=estimate_tokens(lost) if harmless is None else EstimatedTokens(0),
        delta_bytes=told.whole(names.BREAK_DELTA_BYTES) or 0,
        names=(),
        kinds=(),
        before=None,
        was=None,
        now=None,
        later=tuple(Later(one, Zone.NONE, None, None) for one in told.texts(names.BREAK_LATER_CAUSES)),
        remedy=REMEDIES.get(cause),
        anchor=anchor_of(cause),
    )


def _verdict_of(cause: str, *, planned: bool, harmless: bool) -> Verdict:
    if planned:
        return Verdict.PLANNED
    if harmless:
        return Verdict.BROKEN_HARMLESS
    return Verdict.UNKNOWN if cause == UNKNOWN_CAUSE else Verdict.BROKEN


def _verdict(found: Finding | None, parent: _Placed | None) -> Verdict:
    if found is not None:
        return found.verdict
    return Verdict.COLD_START if parent is None else Verdict.INTACT


def _zone(name: str | None) -> Zone:
    return Zone(name) if name in set(Zone) else Zone.NONE


def _surface(name: str | None) -> Surface | None:
    return Surface(name) if name in set(Surface) else None

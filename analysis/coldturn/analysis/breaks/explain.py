"""Every prefix break in a stream of exchanges: where, why, and what it cost.

One request at a time. What is kept: the leaves that may become parents (`Lineages` bounds them), a few bytes
per request to number it, and the findings themselves.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from coldturn.analysis.breaks.findings import Finding, LineageReport, ReadError, Report, Verdict
from coldturn.analysis.breaks.pair import PairOptions
from coldturn.analysis.breaks.settings import SettingsChange, changed_settings
from coldturn.analysis.estimates.estimator import RequestEstimator
from coldturn.analysis.estimates.named_caches import Naming, State
from coldturn.analysis.estimates.report import RequestEstimate
from coldturn.analysis.fidelity import lowest
from coldturn.analysis.sources import (
    NO_TEXT,
    Conversations,
    SourceState,
    holds_no_text,
    reply_of,
    was_refused,
)
from coldturn.analysis.verdicts.handoff import Handoffs
from coldturn.analysis.verdicts.judge import Judge, Observed
from coldturn.analysis.verdicts.vendor import unmatched
from coldturn.reference.prefix.causes import compare
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.prefix.lineage import Lineages, Placement
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.tokens import estimate_tokens
from coldturn.reference.wire.model import Reply
from coldturn.traces.errors import NoRequestsError
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind

_QUOTED = re.compile(r"unexpected (['\"]).*\1", re.DOTALL)
"""Where messages about damaged JSON repeat what stood there."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One request in its place: what a report, a gate or a chart of requests is made from.

    Attributes:
        number: Ordinal among the model requests of its source, from 0; `parent` likewise.
        lineage: Its conversation, to which this request is already counted.
        parent: The request that it was compared with; None for the first of a lineage.
        parent_request: The same, read; None also when it is no longer held.
        estimate: None without an estimator, and for requests that the server refused.
        found: The difference from its parent, if there is one.
    """

    exchange: Exchange
    request: PromptRequest
    reply: Reply | None
    number: int
    lineage: LineageReport
    parent: int | None
    parent_request: PromptRequest | None
    estimate: RequestEstimate | None
    found: Finding | None


@dataclass(slots=True)
class Explainer:
    """Feed it exchanges with `add`, then take `report`.

    Attributes:
        compared: Told of every request as it has been compared, in order.
        estimator: Fills in what caches could have served and what their rules allow; without it these figures
            stay unknown, which costs less.
        judge: Turns differences into verdicts, by its rules and thresholds.
        report: Grows with every exchange.
    """

    options: PairOptions = field(default_factory=PairOptions)
    estimator: RequestEstimator | None = None
    compared: Callable[[Compared], None] | None = None
    judge: Judge = field(default_factory=Judge)
    report: Report = field(default_factory=Report)
    _lineages: Lineages = field(default_factory=Lineages)
    _handoffs: Handoffs = field(default_factory=Handoffs)
    _by_id: dict[tuple[object, str], LineageReport] = field(default_factory=dict)
    _conversations: Conversations = field(default_factory=Conversations)
    _unknown_caches: set[str] = field(default_factory=set)
    _numbers: array[int] = field(default_factory=lambda: array("L"))
    _sources: dict[str, SourceState] = field(default_factory=dict)

    def add(self, item: Exchange | EntryError) -> None:
        """Take the next exchange of its source; order within a source is the order of the recording."""
        state = self._sources.setdefault(item.source, SourceState())
        found = state.model_request(item, self._note)
        if isinstance(item, EntryError):
            return
        if found is None:
            self.judge.caches.take(item)
            if self.estimator is not None:
                self.estimator.take_other(item)
            return
        number, request = found
        state.note_time(item)
        if holds_no_text(request):
            self._note(item.source, item.entry, NO_TEXT)
        self._place(item, request, number)

    def fail(self, source: str, error: ColdturnError) -> None:
        """Note that an input could not be read, or not to its end."""
        self._sources.setdefault(source, SourceState()).failed += 1
        self._note(source, getattr(error, "entry", None), str(error), error.slug)

    def finish(self, source: str) -> None:
        """Say that an input is at its end. One that held nothing to explain is named in the errors."""
        state = self._sources.setdefault(source, SourceState())
        if state.undated:
            self._note(source, state.undated[0], state.undated_words())
        if not state.read and not state.failed:
            error = NoRequestsError(source, state.seen())
            self._note(source, None, str(error), error.slug)

    @property
    def most_requests(self) -> int:
        """Model requests of the source that has most of them."""
        return max((state.kinds[ExchangeKind.MODEL] for state in self._sources.values()), default=0)

    def _note(self, source: str, entry: int | None, message: str, slug: str | None = None) -> None:
        if not self.options.content:
            message = _QUOTED.sub("something unexpected", message)
        self.report.errors.append(ReadError(source, entry, message, slug))

    def _place(self, exchange: Exchange, request: PromptRequest, number: int) -> None:
        reply = reply_of(exchange, request)
        key = (exchange.source, request.provider, request.surface)
        placed = self._lineages.place(
            request,
            key=key,
            response_id=reply.response_id if reply else None,
            answered=not was_refused(exchange),
            parent=self._conversations.parent_of(exchange),
        )
        self._conversations.note(exchange, placed.index)
        self._numbers.append(number)
        lineage = self._lineage(key, placed, exchange, request)
        lineage.requests += 1
        lineage.fidelity = lowest(lineage.fidelity, request.fidelity)
        row = self._estimate(exchange, request, reply, placed, number)
        parent = None if placed.parent_index is None else self._numbers[placed.parent_index]
        index = None if parent is None else placed.parent_index
        observed = self.judge.observe(exchange, request, reply, index=placed.index, parent=index)
        _count(lineage, observed, row)
        if observed.sent.naming is not None:
            self._note_cache(observed, observed.sent.naming, parent)
        lineage.rules = observed.sent.known.name
        if observed.sent.known.elsewhere:
            lineage.rules_elsewhere[request.model or ""] = observed.sent.known.elsewhere
        found = self._judge(observed, number, lineage, parent, placed)
        self._handoffs.remember(observed, lineage.id, number)
        lineage.count(_verdict(found, placed))
        if reply is not None and (found is None or found.vendor is None):
            lineage.vendor_only += unmatched(reply.diagnosis, number)
        if self.compared is not None:
            seen = Compared(
                exchange, request, reply, number, lineage, parent, placed.parent, row, found
            )  # fmt: skip
            self.compared(seen)

    def _note_cache(self, observed: Observed, naming: Naming, parent: int | None) -> None:
        """Say what no finding can: a cache is unknown (once for each input), or over for a first request."""
        exchange, refused = observed.exchange, observed.sent.refused
        if naming.state is State.UNKNOWN and exchange.source not in self._unknown_caches:
            self._unknown_caches.add(exchange.source)
            message = "names an explicit cache whose making is not recorded: what it holds is unknown"
            self._note(exchange.source, exchange.entry, message)
        elif naming.gone and refused and parent is None:
            how = "deleted" if naming.state is State.DELETED else "at its end"
            message = f"refused: the explicit cache that it names had been {how} before"
            self._note(exchange.source, exchange.entry, message)

    def _judge(
        self, observed: Observed, number: int, lineage: LineageReport, parent: int | None, place: Placement
    ) -> Finding | None:
        """Compare a request with its parent and keep what is found."""
        exchange, request = observed.exchange, observed.request
        parent_request = place.parent
        if parent is None:
            moved = self._handoffs.begun(observed, number, self.options)
            lineage.breaks += () if moved is None else (moved,)
            return moved
        if parent_request is None:
            message = f"request {number} continues request {parent}, which is no longer held: not compared"
            self._note(exchange.source, exchange.entry, message)
            return None
        keys = changed_settings(parent_request, request)
        if keys:
            lineage.settings_changed.append(SettingsChange(number, parent, keys))
        comparison = compare(parent_request, request, place.before)
        found = self.judge.judge(observed, parent_request, comparison, self.options)
        found = self._handoffs.beside(found, observed)
        if found is None:
            return None
        placed = replace(found, source=exchange.source, request=number, entry=exchange.entry, parent=parent)
        lineage.breaks.append(placed)
        return placed

    def _estimate(
        self,
        exchange: Exchange,
        request: PromptRequest,
        reply: Reply | None,
        placed: Placement,
        number: int,
    ) -> RequestEstimate | None:
        if self.estimator is None or was_refused(exchange):
            return None
        told = self.estimator.observe(
            exchange, request, reply, parent=placed.parent, lineage=placed.lineage, number=number
        )
        return told.row

    def _lineage(
        self, key: object, placed: Placement, exchange: Exchange, request: PromptRequest
    ) -> LineageReport:
        known = self._by_id.get((key, placed.lineage))
        if known is None:
            known = LineageReport(
                id=placed.lineage,
                source=exchange.source,
                provider=request.provider,
                surface=request.surface,
                model=request.model,
                fidelity=request.fidelity,
            )
            self._by_id[key, placed.lineage] = known
            self.report.lineages.append(known)
        return known


def explain(exchanges: Iterable[Exchange | EntryError], options: PairOptions | None = None) -> Report:
    """Explain every break in `exchanges`.

    Args:
        exchanges: In the order of the recording; several sources may follow one another.
        options: What the findings carry.

    Returns:
        Lineages with their breaks, and what could not be read.
    """
    explainer = Explainer(options or PairOptions())
    sources: dict[str, None] = {}
    for item in exchanges:
        sources[item.source] = None
        explainer.add(item)
    for source in sources:
        explainer.finish(source)
    return explainer.report


def _verdict(found: Finding | None, placed: Placement) -> Verdict:
    if found is not None:
        return found.verdict
    if placed.parent_index is None:
        return Verdict.COLD_START
    return Verdict.UNKNOWN if placed.parent is None else Verdict.INTACT


def _count(lineage: LineageReport, observed: Observed, row: RequestEstimate | None) -> None:
    usage = observed.sent.usage.trusted()
    size = observed.request.content_bytes
    lineage.tokens.add(
        reported=usage.input,
        read=usage.read,
        estimated=row.input_estimated if row else estimate_tokens(size),
        ceiling_estimated=row.ceiling_estimated if row else None,
        read_estimated=row.read_estimated if row else None,
    )

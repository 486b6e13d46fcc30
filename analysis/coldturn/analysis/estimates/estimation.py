"""A stream of exchanges into an estimate report, one request at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from coldturn.analysis.breaks.findings import ReadError
from coldturn.analysis.estimates.cached_rows import cached_rows
from coldturn.analysis.estimates.estimator import RequestEstimator, scope_key
from coldturn.analysis.estimates.plateau import PlateauCounter
from coldturn.analysis.estimates.registry import CannotEvaluateError
from coldturn.analysis.estimates.report import EstimateReport, Flag, RequestEstimate, Told
from coldturn.analysis.estimates.ruleset import Parameters
from coldturn.analysis.estimates.shares import WHOLE, Event, Rest, Share, Spool, merged
from coldturn.analysis.sources import Conversations, SourceState, reply_of, was_refused
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.prefix.lineage import Lineages
from coldturn.reference.prefix.request import PromptRequest
from coldturn.traces.errors import NoRequestsError
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.usage_record import UsageRecord


@dataclass(slots=True)
class Estimation:
    """Feed it exchanges with `add`, then take `report`.

    Attributes:
        report: Grows with every exchange.
        unanswered: Questions that the registry could not answer, one per model and host.
        share: Which scopes this pass follows; what it reads besides is read by every pass.
        spool: Takes what is told instead of the report, until `gather`.
    """

    estimator: RequestEstimator = field(default_factory=RequestEstimator)
    report: EstimateReport = field(default_factory=EstimateReport)
    unanswered: list[CannotEvaluateError] = field(default_factory=list)
    share: Share = WHOLE
    spool: Spool | None = None
    _place: int = 0
    _plateaus: PlateauCounter = field(default_factory=PlateauCounter)
    _lineages: Lineages = field(default_factory=Lineages)
    _conversations: Conversations = field(default_factory=Conversations)
    _sources: dict[str, SourceState] = field(default_factory=dict)

    def add(self, item: Exchange | EntryError | UsageRecord) -> None:
        """Take the next record of its source; order within a source is the order of the recording.

        Raises:
            ParameterError: The user's parameters do not fit the rules.
            UnknownRulesError: There are no rules of the name that was given.
        """
        self._place += 1
        state = self._sources.setdefault(item.source, SourceState())
        if isinstance(item, UsageRecord):
            number = state.kinds[ExchangeKind.MODEL]
            state.kinds[ExchangeKind.MODEL] += 1
            state.read += 1
            self._tell(self.estimator.numbers.observe(item, number=number), mine=self.share.first)
            return
        found = state.model_request(item, self._note)
        if isinstance(item, EntryError):
            return
        if found is None:
            self.estimator.take_other(item)
            return
        number, request = found
        if was_refused(item):
            self._tell_once(Flag.FAILED)
            naming = self.estimator.caches.of(request, item.source, item.started)
            if naming is not None and naming.gone:
                self._tell_once(Flag.CACHED_CONTENT_GONE)
            return
        self._take(item, request, number)

    def add_row(self, found: RequestEstimate | ReadError) -> None:
        """Take a row of a trace of block hashes, as far as this share tells it, or what could not be read."""
        self._place += 1
        if isinstance(found, ReadError):
            self._tell_once(found)
        elif self.share.first:
            self._emit(Told(found))
        else:
            self._emit(Rest(found.ceiling_estimated, found.read_estimated))

    def remark(self, note: str) -> None:
        """Take a sentence for people."""
        self._place += 1
        self._tell_once(note)

    def fail(self, source: str, error: ColdturnError) -> None:
        """Note that an input could not be read, or not to its end."""
        self._place += 1
        self._sources.setdefault(source, SourceState()).failed += 1
        self._note(source, getattr(error, "entry", None), str(error), error.slug)

    def finish(self, source: str) -> None:
        """Say that an input is at its end. One that held nothing to estimate is named in the errors."""
        self._place += 1
        state = self._sources.setdefault(source, SourceState())
        if not state.read and not state.failed:
            error = NoRequestsError(source, state.seen())
            self._note(source, None, str(error), error.slug)

    def end_pass(self) -> None:
        """Say that this share's pass is over."""
        if self.spool is not None:
            self.spool.places = self._place

    def gather(self, spools: Sequence[Spool]) -> None:
        """Take into the report what the passes of all shares have told, this one's included.

        Args:
            spools: The first share's first.

        Raises:
            InputChangedError: The passes did not read equally many records.
        """
        self.spool = None
        for event in merged(spools):
            self._emit(event)

    def close(self) -> EstimateReport:
        """Add what shows only at the end, and return the report."""
        for found in self._plateaus.found():
            parameters = self._parameters(found.source, found.model)
            self.report.plateaus.append(found.as_json(parameters))
            self.report.notes.append(f"{found.source}: {found.sentence(parameters)}")
        self.report.cached_contents += cached_rows(self.estimator.caches, self.estimator.rules_by_name)
        return self.report

    def _parameters(self, source: str, model: str) -> Parameters | None:
        """Of the rules that were used for a model in a source; None when there were none."""
        for (named, *_, called), scope in self.estimator.scopes.items():
            if (named, called) == (source, model) and scope.rules is not None:
                return scope.parameters
        return self.estimator.numbers.rules_of(source, model)

    def _note(self, source: str, entry: int | None, message: str, slug: str | None) -> None:
        self._tell_once(ReadError(source, entry, message, slug))

    def _take(self, exchange: Exchange, request: PromptRequest, number: int) -> None:
        reply = reply_of(exchange, request)
        key = (exchange.source, request.provider, request.surface)
        placed = self._lineages.place(
            request,
            key=key,
            response_id=reply.response_id if reply else None,
            parent=self._conversations.parent_of(exchange),
        )
        self._conversations.note(exchange, placed.index)
        # Counts need little memory: every pass follows them, and one tells.
        counted = exchange.parts_missing
        mine = self.share.first if counted else self.share.has(scope_key(exchange, request))
        if not mine and not counted:
            self.estimator.pass_over(exchange, request, reply)
            return
        told = self.estimator.observe(
            exchange,
            request,
            reply,
            parent=placed.parent,
            lineage=placed.lineage,
            number=number,
        )
        self._tell(told, mine=mine)

    def _tell(self, told: Told, *, mine: bool) -> None:
        if not mine:
            return
        problem = told.problem
        self._emit(replace(told, problem=None))
        if problem is not None:
            self.unanswered.append(problem)
            self._emit(ReadError(told.row.source, told.row.entry, str(problem), problem.slug))

    def _tell_once(self, event: Event) -> None:
        """Tell what every pass sees alike."""
        if self.share.first:
            self._emit(event)

    def _emit(self, event: Event) -> None:
        if self.spool is not None:
            self.spool.write(self._place, event)
        elif isinstance(event, Told):
            self._report(event)
        elif isinstance(event, ReadError):
            self.report.errors.append(event)
        elif isinstance(event, Flag):
            self.report.totals.flags[event] += 1
        elif isinstance(event, str):
            self.report.notes.append(event)

    def _report(self, told: Told) -> None:
        row = told.row
        self.report.add(row, told.reliability)
        if row.input_reported is not None and row.read_reported is not None:
            self._plateaus.add(
                row.input_reported,
                row.read_reported,
                source=row.source,
                conversation=row.lineage or "",
                model=row.model or "",
            )


def estimate(
    exchanges: Iterable[Exchange | EntryError | UsageRecord], estimator: RequestEstimator | None = None
) -> EstimateReport:
    """Estimate every request of a stream.

    Args:
        exchanges: In the order of the recording; several sources may follow one another.
        estimator: With a user's options; the shipped rules as they are when None.

    Returns:
        Rows, totals and what could not be read or evaluated.

    Raises:
        ParameterError: The user's parameters do not fit the rules.
        UnknownRulesError: There are no rules of the name that was given.
    """
    estimation = Estimation(estimator or RequestEstimator())
    sources: dict[str, None] = {}
    for item in exchanges:
        sources[item.source] = None
        estimation.add(item)
    for source in sources:
        estimation.finish(source)
    return estimation.close()

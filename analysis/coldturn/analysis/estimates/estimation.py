"""A stream of exchanges into an estimate report, one request at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from coldturn.analysis.breaks.findings import ReadError
from coldturn.analysis.estimates.estimator import RequestEstimator
from coldturn.analysis.estimates.plateau import PlateauCounter
from coldturn.analysis.estimates.registry import CannotEvaluateError
from coldturn.analysis.estimates.report import EstimateReport, Flag, Told
from coldturn.analysis.estimates.ruleset import Parameters
from coldturn.analysis.sources import SourceState, reply_of, was_refused
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
    """

    estimator: RequestEstimator = field(default_factory=RequestEstimator)
    report: EstimateReport = field(default_factory=EstimateReport)
    unanswered: list[CannotEvaluateError] = field(default_factory=list)
    _plateaus: PlateauCounter = field(default_factory=PlateauCounter)
    _lineages: Lineages = field(default_factory=Lineages)
    _sources: dict[str, SourceState] = field(default_factory=dict)

    def add(self, item: Exchange | EntryError | UsageRecord) -> None:
        """Take the next record of its source; order within a source is the order of the recording.

        Raises:
            ParameterError: The user's parameters do not fit the rules.
            UnknownRulesError: There are no rules of the name that was given.
        """
        state = self._sources.setdefault(item.source, SourceState())
        if isinstance(item, UsageRecord):
            number = state.kinds[ExchangeKind.MODEL]
            state.kinds[ExchangeKind.MODEL] += 1
            state.read += 1
            self._tell(self.estimator.numbers.observe(item, number=number))
            return
        found = state.model_request(item, self._note)
        if found is None or isinstance(item, EntryError):
            return
        number, request = found
        if was_refused(item):
            self.report.totals.flags[Flag.FAILED] += 1
            return
        self._take(item, request, number)

    def fail(self, source: str, error: ColdturnError) -> None:
        """Note that an input could not be read, or not to its end."""
        self._sources.setdefault(source, SourceState()).failed += 1
        self._note(source, getattr(error, "entry", None), str(error), error.slug)

    def finish(self, source: str) -> None:
        """Say that an input is at its end. One that held nothing to estimate is named in the errors."""
        state = self._sources.setdefault(source, SourceState())
        if not state.read and not state.failed:
            error = NoRequestsError(source, state.seen())
            self._note(source, None, str(error), error.slug)

    def close(self) -> EstimateReport:
        """Add what shows only at the end, and return the report."""
        for found in self._plateaus.found():
            parameters = self._parameters(found.source, found.model)
            self.report.plateaus.append(found.as_json(parameters))
            self.report.notes.append(f"{found.source}: {found.sentence(parameters)}")
        return self.report

    def _parameters(self, source: str, model: str) -> Parameters | None:
        """Of the rules that were used for a model in a source; None when there were none."""
        for (named, *_, called), scope in self.estimator.scopes.items():
            if (named, called) == (source, model) and scope.rules is not None:
                return scope.parameters
        return self.estimator.numbers.rules_of(source, model)

    def _note(self, source: str, entry: int | None, message: str, slug: str | None) -> None:
        self.report.errors.append(ReadError(source, entry, message, slug))

    def _take(self, exchange: Exchange, request: PromptRequest, number: int) -> None:
        reply = reply_of(exchange, request)
        key = (exchange.source, request.provider, request.surface)
        placed = self._lineages.place(request, key=key, response_id=reply.response_id if reply else None)
        told = self.estimator.observe(
            exchange,
            request,
            reply,
            parent=placed.parent,
            lineage=placed.lineage,
            number=number,
        )
        self._tell(told)

    def _tell(self, told: Told) -> None:
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
        if told.problem is not None:
            self.unanswered.append(told.problem)
            self._note(row.source, row.entry, str(told.problem), told.problem.slug)


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

"""A stream of exchanges into an estimate report, one request at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from coldturn.analysis.breaks.findings import ReadError
from coldturn.analysis.estimates.estimator import RequestEstimator, Told
from coldturn.analysis.estimates.registry import CannotEvaluateError
from coldturn.analysis.estimates.report import EstimateReport, Flag
from coldturn.analysis.sources import SourceState, reply_of, was_refused
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.prefix.lineage import Lineages
from coldturn.reference.prefix.request import PromptRequest
from coldturn.traces.errors import NoRequestsError
from coldturn.traces.exchange import EntryError, Exchange


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
    _lineages: Lineages = field(default_factory=Lineages)
    _sources: dict[str, SourceState] = field(default_factory=dict)

    def add(self, item: Exchange | EntryError) -> None:
        """Take the next exchange of its source; order within a source is the order of the recording.

        Raises:
            ParameterError: The user's parameters do not fit the rules.
            UnknownRulesError: There are no rules of the name that was given.
        """
        state = self._sources.setdefault(item.source, SourceState())
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
        for (source, *_), scope in self.estimator.scopes.items():
            recurring = scope.gauge.recurring() if scope.gauge else []
            self.report.notes += [f"{source}: {found.sentence}" for found in recurring]
        return self.report

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
        self._tell(exchange, told)

    def _tell(self, exchange: Exchange, told: Told) -> None:
        self.report.add(told.row, told.reliability)
        if told.problem is not None:
            self.unanswered.append(told.problem)
            self._note(exchange.source, exchange.entry, str(told.problem), told.problem.slug)


def estimate(
    exchanges: Iterable[Exchange | EntryError], estimator: RequestEstimator | None = None
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

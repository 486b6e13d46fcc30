"""Advice on a recording in two passes: which causes there are, then each request with each of them mended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from coldturn.analysis.advise.items import Cutter
from coldturn.analysis.advise.mender import Mender
from coldturn.analysis.advise.places import causes_of
from coldturn.analysis.advise.report import Advice, Remedy, Sums, ranked
from coldturn.analysis.advise.ways import WAYS, Mend
from coldturn.analysis.breaks.explain import Compared, Explainer
from coldturn.analysis.breaks.findings import ReadError
from coldturn.analysis.breaks.pair import PairOptions
from coldturn.analysis.estimates.estimator import RequestEstimator
from coldturn.analysis.estimates.registry import CannotEvaluateError
from coldturn.analysis.sources import was_refused
from coldturn.analysis.verdicts.remedies import ALL_REMEDIES
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind

_AS_SENT = "it holds what cannot be decoded, so no mend of it was simulated: it counts as it was sent"
Estimators = Callable[[], RequestEstimator]
"""Makes an estimator that has seen nothing."""


@dataclass(slots=True)
class _Trial:
    """One way in which the requests might have been sent."""

    mender: Mender
    estimator: RequestEstimator
    sums: Sums = field(default_factory=Sums)

    def add(self, compared: Compared) -> CannotEvaluateError | None:
        """Take a request; why its scope cannot be evaluated, when it is the first one of that scope."""
        request, parent = self.mender.mend(compared)
        told = self.estimator.observe(
            compared.exchange,
            request,
            compared.reply,
            parent=parent,
            lineage=compared.lineage.id,
            number=compared.number,
        )
        self.sums.add(told.row)
        return told.problem


class Survey:
    """The first pass: feed it all exchanges, then take `causes`.

    Attributes:
        causes: How many requests have each, as first, later or neighbouring cause.
    """

    def __init__(self, options: PairOptions | None = None) -> None:
        self.causes: Counter[str] = Counter()
        self.explainer = Explainer(options or PairOptions(content=False), compared=self._count)

    def add(self, item: Exchange | EntryError) -> None:
        """The next exchange of its source."""
        self.explainer.add(item)

    def fail(self, source: str, error: ColdturnError) -> None:
        """An input could not be read, or not to its end."""
        self.explainer.fail(source, error)

    def finish(self, source: str) -> None:
        """An input is at its end."""
        self.explainer.finish(source)

    def _count(self, compared: Compared) -> None:
        self.causes.update(set(causes_of(compared.found)))


class Simulation:
    """The second pass: feed it the same exchanges, then take `advice`.

    Args:
        survey: What the first pass found.
        estimators: Makes the estimator of each trial.
    """

    def __init__(self, survey: Survey, estimators: Estimators) -> None:
        self._survey = survey
        mendable = [cause for cause in survey.causes if WAYS[cause].mend is not Mend.NONE]
        cutter = Cutter()
        self._alone = {cause: _Trial(Mender([cause], cutter), estimators()) for cause in mendable}
        self._together = _Trial(Mender(mendable, cutter), estimators()) if len(mendable) > 1 else None
        self._before = _Trial(Mender([]), estimators())
        self._explainer = Explainer(PairOptions(content=False), compared=self._try)
        self._requests = 0
        self._problems: list[ReadError] = []

    def add(self, item: Exchange | EntryError) -> None:
        """The next exchange of its source."""
        if isinstance(item, Exchange) and item.kind is ExchangeKind.OTHER:
            for trial in (self._before, *self._alone.values(), *([self._together] if self._together else ())):
                trial.estimator.take_other(item)
        self._explainer.add(item)

    def fail(self, source: str, error: ColdturnError) -> None:
        """The first pass has told of it."""

    def finish(self, source: str) -> None:
        """The first pass has told of it."""

    @property
    def advice(self) -> Advice:
        """What was found so far."""
        before = self._before.sums
        return Advice(
            remedies=ranked(
                Remedy(
                    cause=cause,
                    breaks=breaks,
                    before=before,
                    after=self._alone[cause].sums if cause in self._alone else None,
                    remedy=ALL_REMEDIES.get(cause, ""),
                    way=WAYS[cause],
                )
                for cause, breaks in self._survey.causes.items()
            ),
            before=before,
            together=None if self._together is None else self._together.sums,
            requests=self._requests,
            errors=[*self._survey.explainer.report.errors, *self._problems],
        )

    def _try(self, compared: Compared) -> None:
        if was_refused(compared.exchange):
            return
        self._requests += 1
        problem = self._before.add(compared)
        if problem is not None:
            self._problems.append(ReadError(compared.exchange.source, None, str(problem), problem.slug))
        trials = list(self._alone.values())
        before = sum(len(trial.mender.unmended) for trial in trials)
        for trial in [*trials, self._together] if self._together is not None else trials:
            trial.add(compared)
        if sum(len(trial.mender.unmended) for trial in trials) > before:
            self._problems.append(ReadError(compared.exchange.source, compared.exchange.entry, _AS_SENT))


def advise(
    exchanges: Callable[[], Iterable[Exchange | EntryError]], estimators: Estimators = RequestEstimator
) -> Advice:
    """Advise on what a recording holds.

    Args:
        exchanges: Gives the recording from its beginning; called twice.
        estimators: Makes an estimator; by the rules that ship with coldturn when not given.
    """
    survey = Survey()
    for item in exchanges():
        survey.add(item)
    simulation = Simulation(survey, estimators)
    for item in exchanges():
        simulation.add(item)
    return simulation.advice

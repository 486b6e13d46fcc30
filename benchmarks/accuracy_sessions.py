"""Calls of public agent sessions to DeepSeek: the rules' reads against the reported ones, and every miss.

The sessions are known by counts alone: tokens of each prompt, of its answer, and of what was read. Prompts
were only ever appended to, so a boundary is named by its session and call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from coldturn.analysis.estimates.from_usage import UsageEstimator
from coldturn.analysis.estimates.misses import Call, Outcome, outcome, units_behind
from coldturn.analysis.estimates.registry import shipped
from coldturn.analysis.estimates.ruleset import Parameters
from coldturn.analysis.rates import format_rate
from coldturn.reference.prefix.model import Surface
from coldturn.traces.readers import read_records
from coldturn.traces.usage_record import UsageRecord

FILE = "sessions/mini-swe-agent_truth.tsv"
ADDRESS = "https://api.deepseek.com/chat/completions"
_DEPTHS: tuple[tuple[str, Callable[[int | None], bool]], ...] = (
    ("one call earlier than it should", lambda at: at == 1),
    ("two calls earlier", lambda at: at == 2),
    ("three calls earlier or more", lambda at: at is not None and at > 2),
    ("inside the previous call, or in front of the session's first", lambda at: at is None),
)
LAGGING = 0.1
"""A session is called lagging when more than this share of its calls lag."""


@dataclass(frozen=True, slots=True)
class Session:
    """Calls in order, each prompt the one before it with something behind."""

    name: str
    model: str
    records: Sequence[UsageRecord]

    @property
    def calls(self) -> list[Call]:
        """Their counts."""
        return [
            Call(one.input_tokens or 0, one.output_tokens or 0, one.cached_tokens or 0)
            for one in self.records
        ]


@dataclass(slots=True)
class Agreement:
    """Of one model: every call but the first of a session, of which nothing is known.

    Attributes:
        sessions: Per session its outcomes.
        behind: Of the calls that lag, by how many calls; None when their read ends at no earlier call's end.
        unexplained: Session, call, the call before it, estimated and reported read.
        should: Estimated reads of all calls, in tokens; `did` are the reported ones.
    """

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    sessions: list[Counter[Outcome]] = field(default_factory=list)
    behind: Counter[int | None] = field(default_factory=Counter)
    unexplained: list[tuple[str, int, Call, int, int]] = field(default_factory=list)
    should: int = 0
    did: int = 0

    @property
    def calls(self) -> int:
        """How many were held against the rules."""
        return self.outcomes.total()

    def part(self, *, lagging: bool) -> tuple[int, int, int]:
        """Sessions that lag, or those that do not: how many, their calls, and the equal ones of these."""
        chosen = [one for one in self.sessions if (lag_share(one) > LAGGING) is lagging]
        return len(chosen), sum(one.total() for one in chosen), sum(one[Outcome.EXACT] for one in chosen)


def lag_share(outcomes: Counter[Outcome]) -> float:
    """Share of a session's calls that lag."""
    return sum(count for one, count in outcomes.items() if one.lags) / max(outcomes.total(), 1)


def read_sessions(file: Path) -> list[Session]:
    """The file's sessions."""
    found: dict[str, list[UsageRecord]] = {}
    for record in read_records(file):
        if not isinstance(record, UsageRecord):
            raise TypeError(f"no record of usage: {record}")
        found.setdefault(record.conversation, []).append(record)
    return [
        Session(conversation.rpartition("/")[2].partition(".")[0], records[0].model, records)
        for conversation, records in found.items()
    ]


def estimates(session: Session) -> Iterator[int | None]:
    """What the rules say each call reads; None for the first one."""
    estimator = UsageEstimator()
    for record in session.records:
        yield estimator.observe(record).row.read_estimated


def parameters_of(model: str) -> Parameters:
    """Parameters of the registry's rules for a model."""
    return shipped().choose(Surface.CHAT_COMPLETIONS, ADDRESS, model).parameters_for(model)


def compare(sessions: Sequence[Session]) -> dict[str, Agreement]:
    """Hold all calls but first ones against the rules, by model."""
    found: dict[str, Agreement] = {}
    for session in sessions:
        parameters, calls = parameters_of(session.model), session.calls
        one = found.setdefault(session.model, Agreement())
        outcomes: Counter[Outcome] = Counter()
        for number, estimated in enumerate(estimates(session)):
            if estimated is None:
                continue
            what = outcome(calls, number, estimated, parameters)
            outcomes[what] += 1
            one.should += estimated
            one.did += calls[number].read
            if what.lags:
                one.behind[units_behind(calls, number, parameters)] += 1
            if what is Outcome.UNEXPLAINED:
                one.unexplained.append(
                    (session.name, number, calls[number - 1], estimated, calls[number].read)
                )
        one.outcomes.update(outcomes)
        one.sessions.append(outcomes)
    return found


def section(corpus: Path) -> Iterator[str]:
    """Lines of the page."""
    found = compare(read_sessions(corpus / FILE))
    yield (
        "| model | calls | equal to the estimate | lag | other misses | not explained "
        "| tokens: should | did | did less should |"
    )
    yield f"|---|{'---:|' * 8}"
    for model, one in found.items():
        equal, lag = one.outcomes[Outcome.EXACT], sum(n for what, n in one.outcomes.items() if what.lags)
        unexplained = one.outcomes[Outcome.UNEXPLAINED]
        other = one.calls - equal - lag - unexplained
        share = format_rate(equal, one.calls)
        calls = f"{one.calls:,} | {equal:,} ({share}) | {lag} | {other} | {unexplained}"
        error = (one.did - one.should) / one.should
        yield f"| {model} | {calls} | {one.should:,} | {one.did:,} | {error:+.2%} |"
    yield from ("", "Every call by what its reported read is, in steps of the rule:", "")
    yield f"| the reported read is | {' | '.join(found)} |"
    yield f"|---|{'---:|' * len(found)}"
    for what in Outcome:
        yield f"| {what} | {' | '.join(f'{one.outcomes[what]:,}' for one in found.values())} |"
    yield from ("", *_behind(found), "", *_lag(found), "", "Not explained:", "")
    yield from _unexplained(found)


def _unexplained(found: dict[str, Agreement]) -> Iterator[str]:
    yield "| model | session, call | previous prompt | its answer | should | did |"
    yield "|---|---|---:|---:|---:|---:|"
    for model, one in found.items():
        for name, number, before, estimated, read in one.unexplained:
            counts = (before.prompt, before.answer, estimated, read)
            yield f"| {model} | {name}, {number} | {' | '.join(f'{one:,}' for one in counts)} |"


def _behind(found: dict[str, Agreement]) -> Iterator[str]:
    yield "How far a call that lags is behind:"
    yield ""
    yield f"| its read ends | {' | '.join(found)} |"
    yield f"|---|{'---:|' * len(found)}"
    for words, admits in _DEPTHS:
        counts = (sum(n for at, n in one.behind.items() if admits(at)) for one in found.values())
        yield f"| {words} | {' | '.join(f'{count:,}' for count in counts)} |"


def _lag(found: dict[str, Agreement]) -> Iterator[str]:
    yield "Lag is a matter of the session, not of the call:"
    yield ""
    yield "| sessions of which | sessions | calls | equal to the estimate |"
    yield "|---|---:|---:|---:|"
    for lagging, words in ((False, "at most"), (True, "more than")):
        parts = [one.part(lagging=lagging) for one in found.values()]
        sessions, calls, equal = (sum(column) for column in zip(*parts, strict=True))
        yield f"| {words} {LAGGING:.0%} of calls lag | {sessions} | {calls:,} | {format_rate(equal, calls)} |"

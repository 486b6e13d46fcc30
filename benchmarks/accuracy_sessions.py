"""Calls of public agent sessions to DeepSeek: the rules' reads against the reported ones, and every miss.

The sessions are known by counts alone: tokens of each prompt, of its answer, and of what was read. Prompts
were only ever appended to, so a boundary is named by its session and call.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from coldturn.analysis.entries.request import CacheRequest
from coldturn.analysis.estimates.registry import shipped
from coldturn.analysis.estimates.ruleset import Parameters, RuleSet
from coldturn.analysis.estimates.simulate import simulator
from coldturn.analysis.rates import format_rate
from coldturn.reference.prefix.model import Surface

FILE = "sessions/mini-swe-agent_truth.tsv"
ADDRESS = "https://api.deepseek.com/chat/completions"
LAGGING = 0.1
"""A session is called lagging when more than this share of its calls lag."""


class Outcome(StrEnum):
    """How a reported read relates to what was sent before."""

    EXACT = "equal to the estimate"
    SAME_AGAIN = "what the previous call read: that call left nothing to read (lag)"
    EARLIER_CALL = "the end of an earlier call than the previous one (lag)"
    PROMPT_ONLY = "the end of the previous prompt, without its answer (lag)"
    START = "what the session's first call read, or nothing at all (lag)"
    ONE_LESS = "a step less, where the previous call ends on a step: without its last token"
    INSIDE_ANSWER = "inside the previous answer: sent back otherwise than generated, probably"
    OWN_PROMPT = "its own prompt: sent before, by a retry that the session does not show, probably"
    UNEXPLAINED = "not explained"

    @property
    def lags(self) -> bool:
        """Whether the provider fell behind a prefix that was only appended to."""
        return self in {Outcome.SAME_AGAIN, Outcome.EARLIER_CALL, Outcome.PROMPT_ONLY, Outcome.START}


@dataclass(frozen=True, slots=True)
class Call:
    """Counts of one call, as reported."""

    prompt: int
    answer: int
    read: int

    @property
    def end(self) -> int:
        """Tokens of prompt and answer."""
        return self.prompt + self.answer


@dataclass(frozen=True, slots=True)
class Session:
    """Calls in order, each prompt the one before it with something behind."""

    name: str
    model: str
    calls: Sequence[Call]


@dataclass(slots=True)
class Agreement:
    """Of one model: every call but the first of a session, of which nothing is known.

    Attributes:
        sessions: Per session its outcomes.
        unexplained: Session, call, the call before it, estimated and reported read.
        should: Estimated reads of all calls, in tokens; `did` are the reported ones.
    """

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    sessions: list[Counter[Outcome]] = field(default_factory=list)
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
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    with file.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            found.setdefault((row["commit"], row["path"]), []).append(row)
    return [
        Session(
            path.rpartition("/")[2].partition(".")[0],
            rows[0]["model"],
            [
                Call(int(row["prompt_tokens"]), int(row["completion_tokens"]), int(row["cached_tokens"]))
                for row in rows
            ],
        )
        for (_, path), rows in found.items()
    ]


def rules_of(model: str) -> tuple[RuleSet, Parameters]:
    """The registry's rules for a model, as a recording would find them."""
    rules = shipped().choose(Surface.CHAT_COMPLETIONS, ADDRESS, model)
    return rules, rules.parameters_for(model)


def estimates(session: Session) -> Iterator[int]:
    """What the rules say each call reads."""
    rules, parameters = rules_of(session.model)
    cache = simulator(rules, parameters, model=session.model)
    ends = [call.prompt for call in session.calls]
    for number, call in enumerate(session.calls):
        request = CacheRequest(
            keys=range(number + 1),
            ends=ends[: number + 1],
            answers=frozenset(range(number)),
            answer_tokens=call.answer,
        )
        yield cache.observe(request).read


def compare(sessions: Sequence[Session]) -> dict[str, Agreement]:
    """Hold all calls but first ones against the rules, by model."""
    found: dict[str, Agreement] = {}
    for session in sessions:
        parameters = rules_of(session.model)[1]
        one = found.setdefault(session.model, Agreement())
        outcomes: Counter[Outcome] = Counter()
        for number, estimated in enumerate(estimates(session)):
            if not number:
                continue
            what = outcome(session.calls, number, estimated, parameters)
            outcomes[what] += 1
            one.should += estimated
            one.did += session.calls[number].read
            if what is Outcome.UNEXPLAINED:
                before, call = session.calls[number - 1 : number + 1]
                one.unexplained.append((session.name, number, before, estimated, call.read))
        one.outcomes.update(outcomes)
        one.sessions.append(outcomes)
    return found


def outcome(calls: Sequence[Call], number: int, estimated: int, parameters: Parameters) -> Outcome:
    """What the read of call `number` is, the first that fits of the outcomes."""
    call, before, step = calls[number], calls[number - 1], parameters.granularity
    left = before.end if parameters.fed_back else before.prompt
    fits = {
        Outcome.EXACT: call.read == estimated,
        Outcome.ONE_LESS: call.read == left - step,
        Outcome.OWN_PROMPT: call.read in _reads(call.prompt, step),
        Outcome.PROMPT_ONLY: call.read in _reads(before.prompt, step),
        Outcome.START: call.read in {0, calls[0].read},
        Outcome.SAME_AGAIN: call.read == before.read,
        Outcome.EARLIER_CALL: any(call.read in _ends(one, step) for one in calls[: number - 1]),
        Outcome.INSIDE_ANSWER: before.prompt <= call.read < before.end,
    }
    return next((what for what, true in fits.items() if true), Outcome.UNEXPLAINED)


def _reads(tokens: int, step: int) -> tuple[int, int]:
    """A boundary as a read, with and without the last token in front of it."""
    return tokens - tokens % step, tokens - 1 - (tokens - 1) % step


def _ends(call: Call, step: int) -> set[int]:
    return {*_reads(call.prompt, step), *_reads(call.end, step)}


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
    yield from ("", *_lag(found), "", "Not explained:", "")
    yield from _unexplained(found)


def _unexplained(found: dict[str, Agreement]) -> Iterator[str]:
    yield "| model | session, call | previous prompt | its answer | should | did |"
    yield "|---|---|---:|---:|---:|---:|"
    for model, one in found.items():
        for name, number, before, estimated, read in one.unexplained:
            counts = (before.prompt, before.answer, estimated, read)
            yield f"| {model} | {name}, {number} | {' | '.join(f'{one:,}' for one in counts)} |"


def _lag(found: dict[str, Agreement]) -> Iterator[str]:
    yield "Lag is a matter of the session, not of the call:"
    yield ""
    yield "| sessions of which | sessions | calls | equal to the estimate |"
    yield "|---|---:|---:|---:|"
    for lagging, words in ((False, "at most"), (True, "more than")):
        parts = [one.part(lagging=lagging) for one in found.values()]
        sessions, calls, equal = (sum(column) for column in zip(*parts, strict=True))
        yield f"| {words} {LAGGING:.0%} of calls lag | {sessions} | {calls:,} | {format_rate(equal, calls)} |"

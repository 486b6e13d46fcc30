"""What a reported read is where whole units are kept and prompts are only appended to.

A read that is not the expected one still names a boundary: an earlier call's end, the end of a prompt without
its answer, the session's beginning. That tells the provider's lag from everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from coldturn.analysis.estimates.ruleset import Parameters


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
    def code(self) -> str:
        """Its name for machines."""
        return self.name.lower()

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


def outcome(calls: Sequence[Call], number: int, estimated: int, parameters: Parameters) -> Outcome:
    """What the read of call `number` is, the first that fits of the outcomes.

    Args:
        calls: Of one session, each prompt the one before it with something behind.
        number: Of the call, from 1.
        estimated: What the rules say it reads.
        parameters: Of those rules.
    """
    call, before, step = calls[number], calls[number - 1], parameters.granularity
    if call.read == estimated:
        return Outcome.EXACT
    left = before.end if parameters.fed_back else before.prompt
    fits = {
        Outcome.ONE_LESS: call.read == left - step,
        Outcome.OWN_PROMPT: call.read in _reads(call.prompt, step),
        Outcome.PROMPT_ONLY: call.read in _reads(before.prompt, step),
        Outcome.START: call.read in {0, calls[0].read},
        Outcome.SAME_AGAIN: call.read == before.read,
        Outcome.EARLIER_CALL: any(call.read in _ends(one, step) for one in calls[: number - 1]),
        Outcome.INSIDE_ANSWER: before.prompt <= call.read < before.end,
    }
    return next((what for what, true in fits.items() if true), Outcome.UNEXPLAINED)


def units_behind(calls: Sequence[Call], number: int, parameters: Parameters) -> int | None:
    """How many calls a lagging read is behind: 1 when it ends where the call before the previous one ended.

    Returns:
        None when it ends at no earlier call: in front of the session's first one, or inside a call.
    """
    read, step = calls[number].read, parameters.granularity
    behind = (at for at in range(1, number) if read in _ends(calls[number - 1 - at], step))
    return next(behind, None)


def _reads(tokens: int, step: int) -> tuple[int, int]:
    """A boundary as a read, with and without the last token in front of it."""
    return tokens - tokens % step, tokens - 1 - (tokens - 1) % step


def _ends(call: Call, step: int) -> set[int]:
    return {*_reads(call.prompt, step), *_reads(call.end, step)}

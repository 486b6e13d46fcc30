"""The plateau: one small cache read that keeps coming back while the prompts are much longer.

A conversation that is only appended to reads more with each call. When the same small number returns, the
prompt breaks at the same place each time, right behind it. Usage numbers alone show it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from coldturn.analysis.estimates.hidden import GridReading, explain_read
from coldturn.analysis.estimates.ruleset import Parameters

if TYPE_CHECKING:
    import polars as pl

RECURRING = 3
"""Calls of one conversation that must have read the same. Two happen when an answer lags once."""
SMALL = 0.5
"""Share of the input that the read may be at most: what lags by a call or two reads nearly everything."""
SHARE = 0.1
"""Share of a conversation's calls that must have read the same: where reads scatter, some fall together."""
_MOST_READS = 256
"""Different reads that are remembered of one conversation; the large ones that came once go first."""


@dataclass(frozen=True, slots=True)
class Plateau:
    """A read that recurs in conversations of one model.

    Attributes:
        conversations: Those in which it recurs; an empty name is all calls of a source that names none.
        read: Tokens, as reported each time.
        calls: How many reported it.
        inputs: The shortest and the longest of their inputs, in tokens.
    """

    source: str
    model: str
    conversations: tuple[str, ...]
    read: int
    calls: int
    inputs: tuple[int, int]

    def reading(self, parameters: Parameters | None) -> GridReading | None:
        """Where the prompt breaks, by rules that have breakpoints at intervals; None for others."""
        if parameters is None or parameters.interval is None:
            return None
        return explain_read(self.read, interval=parameters.interval, granularity=parameters.granularity)

    def sentence(self, parameters: Parameters | None = None) -> str:
        """The same in words.

        Args:
            parameters: Of the model's rules.
        """
        reading = self.reading(parameters)
        if reading is not None:
            return reading.sentence
        step = 1 if parameters is None else parameters.granularity
        shortest, longest = self.inputs
        where = f"behind token {self.read:,}" if step == 1 else f"within {step:,} tokens behind {self.read:,}"
        return (
            f"a read of {self.read:,} tokens recurs: {self.calls:,} calls of {shortest:,} to {longest:,} "
            f"tokens read no more, so the prompt breaks {where} each time"
        )

    def as_json(self, parameters: Parameters | None = None) -> dict[str, Any]:
        """For machines; what follows from rules is estimated, and null without them."""
        reading = self.reading(parameters)
        return {
            "source": self.source,
            "model": self.model or None,
            "read_reported": self.read,
            "calls": self.calls,
            "conversations": len(self.conversations),
            "inputs_reported": list(self.inputs),
            "boundary_estimated": reading and reading.boundary,
            "hidden_tokens_estimated": list(reading.hidden) if reading else None,
            "broken_between_estimated": list(reading.broken_between) if reading else None,
        }


@dataclass(slots=True)
class _Reads:
    calls: int = 0
    times: Counter[int] = field(default_factory=Counter)
    inputs: dict[int, tuple[int, int]] = field(default_factory=dict)

    def add(self, input_tokens: int, read: int) -> None:
        low, high = self.inputs.get(read, (input_tokens, input_tokens))
        self.times[read] += 1
        self.inputs[read] = min(low, input_tokens), max(high, input_tokens)
        if len(self.times) > _MOST_READS:
            once = [one for one, times in self.times.items() if times == 1 and one != read]
            gone = max(once, default=max(self.times))
            del self.times[gone], self.inputs[gone]


@dataclass(slots=True)
class PlateauCounter:
    """Takes calls in any order and tells the reads that recur."""

    _reads: dict[tuple[str, str, str], _Reads] = field(default_factory=dict)

    def add(
        self, input_tokens: int, read: int, *, source: str = "", conversation: str = "", model: str = ""
    ) -> None:
        """Take one call's reported numbers. One that reads nothing, or much of its input, is no sign."""
        known = self._reads.setdefault((source, model, conversation), _Reads())
        known.calls += 1
        if 0 < read <= SMALL * input_tokens:
            known.add(input_tokens, read)

    def found(self) -> list[Plateau]:
        """Reads that recur, those of most calls first."""
        together: dict[tuple[str, str, int], Plateau] = {}
        for (source, model, conversation), reads in self._reads.items():
            for read, calls in reads.times.items():
                if calls >= RECURRING and calls >= SHARE * reads.calls:
                    one = Plateau(source, model, (conversation,), read, calls, reads.inputs[read])
                    known = together.get((source, model, read))
                    together[source, model, read] = one if known is None else _both(known, one)
        return sorted(together.values(), key=lambda one: (-one.calls, one.source, one.model, one.read))


def _both(one: Plateau, other: Plateau) -> Plateau:
    """The same read of the same model, in the conversations of both."""
    (low, high), (shortest, longest) = one.inputs, other.inputs
    return Plateau(
        one.source,
        one.model,
        (*one.conversations, *other.conversations),
        one.read,
        one.calls + other.calls,
        (min(low, shortest), max(high, longest)),
    )


def plateaus(calls: Iterable[tuple[str, str, int | None, int | None]]) -> list[Plateau]:
    """The reads that recur in rows of conversation, model, input tokens and tokens read.

    A row without one of the two numbers is left out.
    """
    counter = PlateauCounter()
    for conversation, model, input_tokens, read in calls:
        if input_tokens is not None and read is not None:
            counter.add(input_tokens, read, conversation=conversation, model=model)
    return counter.found()


def plateaus_of_frame(
    frame: pl.DataFrame, *, input_tokens: str, read: str, conversation: str | None, model: str | None
) -> list[Plateau]:
    """The reads that recur in a frame with a row per call.

    Args:
        frame: Counts as whole numbers, null where nothing was reported.
        input_tokens: Name of the column of the whole input.
        read: Name of the column of the part of it that was read from a cache.
        conversation: Name of the column that tells which calls belong together; None: all do.
        model: Name of the column of the model; None: all are of one.
    """
    nothing = [""] * frame.height
    names, models = (
        nothing if column is None else frame.get_column(column).to_list() for column in (conversation, model)
    )
    counts = zip(frame.get_column(input_tokens).to_list(), frame.get_column(read).to_list(), strict=True)
    rows = zip(names, models, counts, strict=True)
    return plateaus((str(name), str(called), whole, part) for name, called, (whole, part) in rows)

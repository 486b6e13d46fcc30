"""Estimates in shares, for what does not fit into memory: one pass over the input for each share of the keys.

Scopes of recorded requests share nothing, so each pass follows those of its share. A trace of block hashes is
one scope; there the blocks themselves are dealt out: every pass knows at which place of a request the first
block of its share is missing, and the least of these places is where the request's known prefix ends. What
passes tell is kept on disk and put together in the order of the input: any number of shares gives the same
report.
"""

from __future__ import annotations

import heapq
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from tempfile import TemporaryFile
from typing import Final, TypeAlias

from xxhash import xxh3_64_intdigest

from coldturn.analysis.breaks.findings import ReadError
from coldturn.analysis.estimates.report import Flag, RequestEstimate, Told
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.tokens import EstimatedTokens

_BATCH = 500


@dataclass(frozen=True, slots=True)
class Share:
    """One of several equal parts of all keys.

    Attributes:
        number: From 0; the first one also tells what belongs to no share.
        of: How many there are.
    """

    number: int = 0
    of: int = 1

    @property
    def first(self) -> bool:
        """Whether it tells what all passes see alike."""
        return self.number == 0

    def has(self, scope: Sequence[str]) -> bool:
        """Whether a scope is in this share."""
        return (
            self.of == 1
            or xxh3_64_intdigest("\0".join(scope).encode("utf-8", "surrogatepass")) % self.of == self.number
        )

    def leading(self, blocks: Sequence[int], *observers: Callable[[Sequence[int]], int]) -> list[int]:
        """How many leading blocks each observer finds, as far as the blocks of this share tell."""
        if self.of == 1:
            return [observe(blocks) for observe in observers]
        own = [place for place, block in enumerate(blocks) if block % self.of == self.number]
        keys = [blocks[place] for place in own]
        ends = [*own, len(blocks)]
        return [ends[observe(keys)] for observe in observers]


WHOLE: Final = Share()


@dataclass(frozen=True, slots=True)
class Rest:
    """What a later share says of a row that the first one tells: at most so many tokens.

    Attributes:
        read_estimated: None where this share does not follow the rules.
    """

    ceiling_estimated: EstimatedTokens
    read_estimated: EstimatedTokens | None


Event: TypeAlias = Told | Rest | ReadError | Flag | str
"""What a pass tells: a row or its rest, an error, a request that is counted alone, a note."""


class InputChangedError(ColdturnError):
    """Passes over the same input did not read the same."""

    slug = "input-changed"

    def __init__(self) -> None:
        super().__init__(
            "the input changed between two passes over it: estimate a copy that nothing writes to, "
            "or leave out --shards"
        )


class Spool(AbstractContextManager["Spool"]):
    """What one pass tells, on disk; gone with the block that opened it.

    Attributes:
        places: How many records the pass has read, once it is over.
    """

    def __init__(self) -> None:
        self.places = 0
        self._file = TemporaryFile()  # noqa: SIM115 - closed when the block ends
        self._batch: list[tuple[int, Event]] = []

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, place: int, event: Event) -> None:
        """Keep what was told of the record at a place, counted over all inputs."""
        self._batch.append((place, event))
        if len(self._batch) == _BATCH:
            self._flush()

    def read(self) -> Iterator[tuple[int, Event]]:
        """Everything in order, once."""
        self._flush()
        self._file.seek(0)
        while True:
            try:
                batch = pickle.load(self._file)  # noqa: S301 - a nameless file, written by `_flush` alone
            except EOFError:
                return
            yield from batch

    def _flush(self) -> None:
        if self._batch:
            pickle.dump(self._batch, self._file, protocol=pickle.HIGHEST_PROTOCOL)
            self._batch = []


def merged(spools: Sequence[Spool]) -> Iterator[Event]:
    """What one pass over everything would have told, in its order.

    Args:
        spools: One per share, the first share's first.

    Raises:
        InputChangedError: The passes did not read equally many records.
    """
    if len({spool.places for spool in spools}) > 1:
        raise InputChangedError
    place = itemgetter(0)
    told = heapq.merge(*(spool.read() for spool in spools), key=place)
    for _, group in groupby(told, key=place):
        yield from _joined([event for _, event in group])


def _joined(events: list[Event]) -> Iterable[Event]:
    rests = [event for event in events if isinstance(event, Rest)]
    return [
        replace(event, row=_least(event, rests)) if isinstance(event, Told) and rests else event
        for event in events
        if not isinstance(event, Rest)
    ]


def _least(told: Told, rests: Sequence[Rest]) -> RequestEstimate:
    row = told.row
    reads = [
        read for read in (row.read_estimated, *(rest.read_estimated for rest in rests)) if read is not None
    ]
    ceiling = min(row.ceiling_estimated, *(rest.ceiling_estimated for rest in rests))
    return replace(row, ceiling_estimated=ceiling, read_estimated=min(reads, default=None))

"""How much could be read at every capacity and at every lifetime, from one pass over the requests.

The keys that a cache of any capacity holds under least recently used are the top of one stack of keys in the
order of their last use (Mattson and others, 1970): it is enough to know how deep a key lies when it is used
again. Keys stand for whole prefixes, which makes that cheap. What a request reads lies in a few runs, each of
them last used by one earlier request, and what an earlier request still used last is always its tail. So a
Fenwick tree over requests, not over keys, counts what lies above.

A lifetime is the same with ages in place of depths. It slides: each use starts it anew.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, count

from coldturn.analysis.curves.sums import GrowingSums
from coldturn.analysis.entries.request import Key
from coldturn.analysis.entries.store import TouchOrder
from coldturn.analysis.rates import rate
from coldturn.reference.prefix.errors import ColdturnError

_SHIFT = 32


class NotPrefixesError(ColdturnError):
    """Keys that do not stand for a block and all before it."""

    slug = "not-prefix-hashes"

    def __init__(self, request: int, place: int) -> None:
        self.request = request
        self.place = place
        super().__init__(
            f"request {request}: block {place} was seen behind other blocks before; curves need hashes that "
            "stand for a block and everything in front of it"
        )


@dataclass(frozen=True, slots=True)
class Curve:
    """What could be read under a bound, for every bound at once.

    Attributes:
        bounds: Where the curve rises, ascending: capacities, or lifetimes in seconds.
        reads_estimated: Read with that bound or a larger one below the next, in the unit of the sizes.
        total: All that was sent, in the same unit.
    """

    bounds: Sequence[float]
    reads_estimated: Sequence[int]
    total: int

    def read_estimated(self, bound: float) -> int:
        """What could be read under a bound."""
        place = bisect_right(self.bounds, bound)
        return self.reads_estimated[place - 1] if place else 0

    def hit_rate_estimated(self, bound: float) -> float | None:
        """The same as a fraction of what was sent; None when nothing was."""
        return rate(self.read_estimated(bound), self.total)

    @property
    def ceiling_estimated(self) -> int:
        """What could be read without a bound."""
        return self.reads_estimated[-1] if self.reads_estimated else 0

    def enough_for(self, share: float) -> float | None:
        """The smallest bound under which `share` of the ceiling is read; None when the ceiling is 0."""
        wanted = share * self.ceiling_estimated
        reached = (
            bound for bound, read in zip(self.bounds, self.reads_estimated, strict=True) if read >= wanted
        )
        return next(reached, None)


@dataclass(slots=True)
class _Rises:
    """Sizes by the bound from which on they can be read."""

    sizes: Counter[float] = field(default_factory=Counter)

    def curve(self, total: int) -> Curve:
        ordered = sorted(self.sizes.items())
        return Curve([at for at, _ in ordered], list(accumulate(size for _, size in ordered)), total)


class StackDistances:
    """Takes the requests of one scope, or of several with a cache of the same capacity for each.

    Args:
        touch: The order in which one request's keys become the most recent ones.
    """

    def __init__(self, touch: TouchOrder = TouchOrder.FRONT_TO_BACK) -> None:
        self._tail_first = touch is TouchOrder.TAIL_FIRST
        self._capacities = _Rises()
        self._ages = _Rises()
        self._total = 0
        self._scopes: dict[Key, _Scope] = {}

    @property
    def total(self) -> int:
        """All that was sent, in the unit of the sizes."""
        return self._total

    def capacity_curve(self) -> Curve:
        """What could be read by the capacity of each scope's cache, in the unit of the sizes."""
        return self._capacities.curve(self._total)

    def ttl_curve(self) -> Curve:
        """What could be read by the lifetime of an entry, in seconds."""
        return self._ages.curve(self._total)

    def observe(
        self, keys: Sequence[Key], ends: Sequence[int] | None = None, now: float = 0.0, scope: Key = ""
    ) -> int:
        """Take the next request.

        Args:
            keys: One per block, each of which stands for all before it as well.
            ends: Cumulative sizes; every block counts 1 when None. Equal keys need equal sizes.
            now: Seconds; of requests that go back in time the latest counts.
            scope: What can share a cache.

        Returns:
            What a cache without bounds reads, in the unit of the sizes.

        Raises:
            NotPrefixesError: The keys are not those of prefixes.
        """
        held = self._scopes.setdefault(scope, _Scope())
        sizes = range(1, len(keys) + 1) if ends is None else ends
        held.open(now)
        runs = held.runs(held.known(keys), sizes)
        for run in runs:
            self._ages.sizes[held.now - held.time(run.source)] += run.end - run.begin
            above = held.above(run.source)
            if self._tail_first:
                self._rise_by_block(above, run, sizes)
            else:
                self._capacities.sizes[above + held.left(run.source)] += run.end - run.begin
        for run in runs:
            held.take(run)
        total = sizes[-1] if keys else 0
        held.add(keys, total)
        self._total += total
        return runs[-1].end if runs else 0

    def _rise_by_block(self, above: int, run: _Run, sizes: Sequence[int]) -> None:
        """The front of a run lies on top of what is behind it."""
        begin = run.begin
        for end in sizes[run.start : run.stop]:
            self._capacities.sizes[above + end - run.begin] += end - begin
            begin = end


@dataclass(frozen=True, slots=True)
class _Run:
    """Blocks `start` to `stop` of a request, which were all last used by the request `source`.

    Attributes:
        begin: Cumulative size in front of them; `end` with them.
    """

    source: int
    start: int
    stop: int
    begin: int
    end: int


class _Scope:
    """Which request used each key last, and how much each request still holds.

    A request's keys lose their place to later requests from the front on, since those share its beginning.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self._last: dict[Key, int] = {}
        self._times: list[float] = []
        self._taken: list[int] = []
        self._ends: list[int] = []
        self._sums = GrowingSums()

    def open(self, now: float) -> None:
        """Say when the next request came."""
        self.now = max(self.now, now) if self._times else now

    def known(self, keys: Sequence[Key]) -> list[int]:
        """Where the leading keys of a request that were seen before were last used."""
        places = list(map(self._last.get, keys))
        known = [place for place in places if place is not None]
        if any(place is None for place in places[: len(known)]):
            raise NotPrefixesError(len(self._times), places.index(None))
        return known

    def runs(self, known: Sequence[int], sizes: Sequence[int]) -> list[_Run]:
        """Cut them where the request that used them last changes; the first was used last."""
        found: list[_Run] = []
        start = begin = 0
        while start < len(known):
            source = known[start] >> _SHIFT
            stop = bisect_right(known, -source, start, key=lambda place: -(place >> _SHIFT))
            end = sizes[stop - 1]
            in_a_row = range((source << _SHIFT) + start, (source << _SHIFT) + stop)
            if self._taken[source] != begin or known[start:stop] != list(in_a_row):
                raise NotPrefixesError(len(self._times), start)
            found.append(_Run(source, start, stop, begin, end))
            start, begin = stop, end
        return found

    def above(self, source: int) -> int:
        """Size of what was used after `source`."""
        return self._sums.behind(source)

    def left(self, source: int) -> int:
        """Size of what `source` used last."""
        return self._ends[source] - self._taken[source]

    def time(self, source: int) -> float:
        """When `source` came."""
        return self._times[source]

    def take(self, run: _Run) -> None:
        """Give a run up to the current request."""
        self._sums.add(run.source, run.begin - run.end)
        self._taken[run.source] = run.end

    def add(self, keys: Sequence[Key], size: int) -> None:
        """Note the current request: all of its keys were used last by it."""
        number = len(self._times)
        base = number << _SHIFT
        self._last.update(zip(keys, count(base)))
        self._times.append(self.now)
        self._taken.append(0)
        self._ends.append(size)
        self._sums.append(size)

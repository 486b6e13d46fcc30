"""Which keys a cache holds: lifetimes, a capacity with least recently used going first, late readability."""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import count, repeat, takewhile

from coldturn.analysis.entries.request import Key


class TouchOrder(StrEnum):
    """In which order one request's keys become the most recent ones."""

    FRONT_TO_BACK = "front_to_back"
    TAIL_FIRST = "tail_first"
    """The tail is the oldest and goes first, as in vLLM's queue of free blocks."""


class EntryStore:
    """Keys with the time of their last use.

    Whole runs of keys are looked up and moved by the interpreter's own loops: a trace of a million requests
    costs little more than a plain ordered dictionary.

    Args:
        ttl: Seconds that a key lives; None for ever.
        sliding: Whether a use starts the lifetime anew.
        capacity: Most that it holds, in keys or, where weights are given, in weight; None for no bound.
        touch: See `TouchOrder`.
    """

    def __init__(
        self,
        *,
        ttl: float | None = None,
        sliding: bool = True,
        capacity: int | None = None,
        touch: TouchOrder = TouchOrder.FRONT_TO_BACK,
    ) -> None:
        self._ttl = ttl
        self._sliding = sliding
        self._capacity = capacity
        self._reverse = touch is TouchOrder.TAIL_FIRST
        self._times: OrderedDict[Key, float] = OrderedDict()
        self._own_ttl: dict[Key, float] = {}
        self._longest = ttl
        self._weights: dict[Key, int] = {}
        self._weight = 0
        self._waiting: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def __len__(self) -> int:
        """Keys held."""
        return len(self._times)

    def advance(self, now: float) -> None:
        """Make readable what was waiting until `now` at the latest, and forget what has expired."""
        while self._waiting and self._waiting[0][0] <= now:
            heapq.heappop(self._waiting)[2]()
        if self._ttl is not None and self._longest is not None:
            while self._times and now - self._times[next(iter(self._times))] > self._longest:
                self._forget_first()

    def wait(self, until: float, action: Callable[[], None]) -> None:
        """Run `action` once time has come to `until`."""
        heapq.heappush(self._waiting, (until, next(self._order), action))

    def alive(self, key: Key, now: float) -> bool:
        """Whether `key` can be read."""
        used = self._times.get(key)
        if used is None:
            return False
        ttl = self._own_ttl.get(key, self._ttl)
        return ttl is None or now - used <= ttl

    def run(self, keys: Sequence[Key], now: float) -> int:
        """How many keys from the first on can be read."""
        held = self._times
        known = len(tuple(takewhile(held.__contains__, keys)))
        if self._longest is None or not known:
            return known
        if self._ttl is not None and now - min(map(held.__getitem__, keys[:known])) <= self._ttl:
            return known
        return next((i for i in range(known) if not self.alive(keys[i], now)), known)

    def touch(self, keys: Sequence[Key], now: float, *, known: int = 0) -> None:
        """Use or add keys, each of them once. The first `known` ones are held (as `run` said)."""
        self._touch(keys, now, known)
        if self._capacity is not None and len(self._times) > self._capacity:
            self._forget(len(self._times) - self._capacity)

    def touch_weighted(
        self, keys: Sequence[Key], weights: Mapping[Key, int], now: float, *, known: int = 0
    ) -> None:
        """The same where keys differ in weight; the least recent go until the rest fits."""
        for key in keys:
            if key not in self._weights:
                self._weights[key] = weights[key]
                self._weight += weights[key]
        self._touch(keys, now, known)
        while self._capacity is not None and self._weight > self._capacity and self._times:
            self._forget_first()

    def lengthen(self, keys: Iterable[Key], now: float, ttl: float) -> None:
        """Give keys a lifetime of their own before they are touched; a longer one stays while it lives."""
        self._longest = max(self._longest or 0.0, ttl)
        for key in keys:
            before = self._own_ttl.get(key, 0.0) if self.alive(key, now) else 0.0
            self._own_ttl[key] = max(before, ttl)

    def _forget(self, most: int) -> None:
        if self._own_ttl or self._weights:
            for _ in range(most):
                self._forget_first()
        else:
            deque(map(self._times.popitem, repeat(False, most)), maxlen=0)

    def _forget_first(self) -> None:
        key, _ = self._times.popitem(last=False)
        if self._own_ttl:
            self._own_ttl.pop(key, None)
        if self._weights:
            self._weight -= self._weights.pop(key, 0)

    def _touch(self, keys: Sequence[Key], now: float, known: int) -> None:
        if not self._sliding:
            self._append([key for key in keys if not self.alive(key, now)], now)
            return
        old, new = keys[:known], keys[known:]
        if self._reverse:
            self._append(new[::-1], now)
            self._refresh(old[::-1], now)
        else:
            self._refresh(old, now)
            self._append(new, now)

    def _refresh(self, keys: Sequence[Key], now: float) -> None:
        """Make keys that are held the most recent ones."""
        deque(map(self._times.move_to_end, keys), maxlen=0)
        if self._longest is not None:
            self._times.update(zip(keys, repeat(now)))

    def _append(self, keys: Sequence[Key], now: float) -> None:
        """Make keys the most recent ones, whether they are held or not."""
        held = self._times
        if held.keys().isdisjoint(keys):
            held.update(zip(keys, repeat(now)))
            return
        for key in keys:
            held[key] = max(now, held.get(key, now))
            held.move_to_end(key)

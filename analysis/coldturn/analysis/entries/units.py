"""F3: a unit is read as a whole or not at all.

DeepSeek keeps units that end where an input ended, where an answer ended, and where it saw that two requests
have a prefix in common.
"""

from __future__ import annotations

from dataclasses import dataclass

from coldturn.analysis.entries.request import CacheRequest, Key, Reading
from coldturn.analysis.entries.store import EntryStore


@dataclass(frozen=True, slots=True)
class UnitRules:
    """Where units end.

    Attributes:
        granularity: A unit's tokens are rounded down to a multiple of it.
        minimum: Tokens below which nothing is read.
        fed_back: Whether a unit ends behind the answer too, and so can be read when the answer is sent back.
        common_prefixes: Whether a prefix that two requests had in common becomes a unit.
    """

    granularity: int = 1
    minimum: int = 0
    fed_back: bool = False
    common_prefixes: bool = True


class UnitCache:
    """One scope of an F3 cache.

    Args:
        rules: Where units end.
        store: What is held. Its capacity counts units.
    """

    def __init__(self, rules: UnitRules, store: EntryStore) -> None:
        self._rules = rules
        self._store = store
        self._answers: dict[Key, int] = {}
        self._seen: set[Key] = set()

    def observe(self, request: CacheRequest) -> Reading:
        """Take the next request."""
        store, now = self._store, request.started or 0.0
        store.advance(now)
        unit = self._longest(request, now)
        read = 0 if unit is None else self._size(request, unit)
        if unit is not None:
            store.touch((request.keys[unit],), now)
        if self._rules.common_prefixes:
            self._detect(request, now)
        if request.readable is None or request.readable <= now:
            self._keep(request, now)
        else:
            store.wait(request.readable, lambda: self._keep(request, now))
        return Reading(read if read >= self._rules.minimum else 0)

    def _longest(self, request: CacheRequest, now: float) -> int | None:
        boundaries = range(len(request.keys) - 1, -1, -1)
        return next((i for i in boundaries if self._store.alive(request.keys[i], now)), None)

    def _size(self, request: CacheRequest, unit: int) -> int:
        tokens = request.ends[unit]
        answer = self._answers.get(request.keys[unit])
        if answer is not None and unit in request.answers:
            tokens = min(tokens + answer, request.tokens)
        return tokens - tokens % self._rules.granularity

    def _keep(self, request: CacheRequest, now: float) -> None:
        if not request.keys:
            return
        last = request.keys[-1]
        self._store.touch((last,), now)
        if self._rules.fed_back and request.answer_tokens is not None:
            self._answers[last] = request.answer_tokens

    def _detect(self, request: CacheRequest, now: float) -> None:
        shared = 0
        while shared < len(request.keys) and request.keys[shared] in self._seen:
            shared += 1
        if 0 < shared < len(request.keys):
            self._store.touch((request.keys[shared - 1],), now)
        self._seen.update(request.keys[shared:])

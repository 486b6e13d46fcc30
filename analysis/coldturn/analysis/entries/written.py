"""F2: an entry is the prefix that ends at a marked boundary, and only such boundaries can be read.

Anthropic, Claude on Bedrock and Vertex, OpenAI from GPT-5.6 on. Which boundaries a request writes and looks
at is the surface's own rule (`coldturn.analysis.estimates.placement`).
"""

from __future__ import annotations

from coldturn.analysis.entries.request import CacheRequest, Reading, Write
from coldturn.analysis.entries.store import EntryStore


class WrittenEntries:
    """One scope of an F2 cache.

    An entry is readable from the moment the answer of the request that wrote it begins, and at once when that
    is not known. A read or a write starts its lifetime anew, from the start of the request.

    Args:
        minimum: Tokens below which a prefix is not written.
        ttl: Seconds that an entry lives whose write names none.
        long_ttl: From this lifetime on a write is billed as a long one; None when there is one price.
        store: What is held. Its capacity counts entries.
    """

    def __init__(self, *, minimum: int, ttl: float | None, long_ttl: float | None, store: EntryStore) -> None:
        self._minimum = minimum
        self._ttl = ttl
        self._long = long_ttl
        self._store = store

    def observe(self, request: CacheRequest) -> Reading:
        """Take the next request."""
        store, keys, ends, now = self._store, request.keys, request.ends, request.started or 0.0
        store.advance(now)
        found = [boundary for boundary in request.probes if store.alive(keys[boundary], now)]
        store.touch([keys[boundary] for boundary in found], now)
        writes = [write for write in request.writes if ends[write.boundary] >= self._minimum]
        self._write(request, writes, now)
        read = max((ends[i] for i in found), default=0)
        written = max((ends[write.boundary] for write in writes), default=0)
        long = max((ends[write.boundary] for write in writes if self._is_long(write)), default=0)
        return Reading(read, max(written - read, 0), max(long - read, 0))

    def _is_long(self, write: Write) -> bool:
        return self._long is not None and write.ttl is not None and write.ttl >= self._long

    def _write(self, request: CacheRequest, writes: list[Write], now: float) -> None:
        def put() -> None:
            for write in writes:
                key, ttl = request.keys[write.boundary], self._ttl if write.ttl is None else write.ttl
                if ttl is not None:
                    self._store.lengthen((key,), now, ttl)
                self._store.touch((key,), now)

        if request.readable is None or request.readable <= now:
            put()
        else:
            self._store.wait(request.readable, put)

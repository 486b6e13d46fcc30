"""Ids that follow from what a span is about, so that two replays of one recording write the same bytes."""

from __future__ import annotations

from collections import Counter

import xxhash
from opentelemetry.sdk.trace.id_generator import IdGenerator


class DerivedIds(IdGenerator):
    """Hashes a seed and the subject of the span that is about to start.

    A subject that comes again (a call id used twice) gets another id; `forget` bounds the memory of that.
    """

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._subject: tuple[str, ...] = ()
        self._seen: Counter[tuple[str, ...]] = Counter()

    def about(self, *subject: str) -> None:
        """Say what the next span is about."""
        self._subject = subject
        self._seen[subject] += 1

    def forget(self, *start: str) -> None:
        """Forget the subjects that begin with `start` and are longer."""
        size = len(start)
        for subject in [s for s in self._seen if len(s) > size and s[:size] == start]:
            del self._seen[subject]

    def generate_span_id(self) -> int:
        """Return 64 bits, never 0."""
        return xxhash.xxh3_64_intdigest(self._text("span")) or 1

    def generate_trace_id(self) -> int:
        """Return 128 bits, never 0."""
        return xxhash.xxh3_128_intdigest(self._text("trace")) or 1

    def _text(self, kind: str) -> bytes:
        parts = (self._seed, kind, *self._subject, str(self._seen[self._subject]))
        return "\0".join(parts).encode("utf-8", "surrogatepass")

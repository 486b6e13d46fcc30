"""F4: a resource that somebody made by name, for a time that was agreed. Gemini's explicit caches."""

from __future__ import annotations

from dataclasses import dataclass

from coldturn.analysis.entries.request import CacheRequest, Reading

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Resource:
    """Content that was put into the cache by a call of its own.

    Attributes:
        tokens: Its size.
        made: Seconds, on the clock of the requests.
        ttl: Seconds it lives from then on; reading does not lengthen that.
    """

    tokens: int
    made: float
    ttl: float

    def storage(self, until: float | None = None) -> float:
        """Token hours that are paid for, up to `until` or for all of its lifetime."""
        end = self.made + self.ttl
        return self.tokens * max(min(end, end if until is None else until) - self.made, 0.0) / HOUR


class ResourceCache:
    """One scope of an F4 cache.

    Args:
        minimum: Tokens below which no resource is made.
        ttl: Seconds that a resource lives which names no time.
    """

    def __init__(self, *, minimum: int = 0, ttl: float = HOUR) -> None:
        self._minimum = minimum
        self._ttl = ttl
        self._resources: dict[str, Resource] = {}

    def make(self, name: str, tokens: int, now: float, ttl: float | None = None) -> Resource | None:
        """Put content in, or lengthen its life under the same name; None when it is too small."""
        if tokens < self._minimum:
            return None
        made = Resource(tokens, now, self._ttl if ttl is None else ttl)
        self._resources[name] = made
        return made

    def observe(self, request: CacheRequest) -> Reading:
        """Take the next request; it reads the resource that it names, whole, while that lives."""
        held = self._resources.get(request.resource) if request.resource is not None else None
        now = request.started or 0.0
        if held is None or not held.made <= now <= held.made + held.ttl:
            return Reading(0)
        return Reading(min(held.tokens, request.tokens))

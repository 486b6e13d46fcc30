"""F4: a resource that somebody made by name, for a time that was agreed. Gemini's explicit caches."""

from __future__ import annotations

from dataclasses import dataclass, replace

from coldturn.analysis.entries.request import CacheRequest, Reading

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Resource:
    """Content that was put into the cache by a call of its own.

    Attributes:
        tokens: Its size.
        made: Seconds, on the clock of the requests; None when no time is known.
        expires: Seconds, on that clock, at which it ends by itself; reading does not put that off.
        deleted: Somebody deleted it; `ended` is when, where a time is known.
    """

    tokens: int
    made: float | None
    expires: float | None
    deleted: bool = False
    ended: float | None = None

    @classmethod
    def lasting(cls, tokens: int, made: float | None, ttl: float | None) -> Resource:
        """One that lives so many seconds from `made` on."""
        return cls(tokens, made, None if made is None or ttl is None else made + ttl)

    def expired(self, now: float | None) -> bool:
        """Whether its time is over; never without times."""
        return now is not None and self.expires is not None and now > self.expires

    def lives(self, now: float | None) -> bool:
        """Whether a request reads it."""
        return not self.deleted and not self.expired(now)

    def storage(self, until: float | None = None) -> float | None:
        """Token hours that are paid for: to its end, or up to `until`; None without times."""
        ends = [one for one in (self.expires, self.ended, until) if one is not None]
        if self.made is None or not ends or (self.deleted and self.ended is None):
            return None
        return self.tokens * max(min(ends) - self.made, 0.0) / HOUR


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
        made = Resource.lasting(tokens, now, self._ttl if ttl is None else ttl)
        self._resources[name] = made
        return made

    def delete(self, name: str, now: float) -> None:
        """Take content out before its time."""
        held = self._resources.get(name)
        if held is not None:
            self._resources[name] = replace(held, deleted=True, ended=now)

    def observe(self, request: CacheRequest) -> Reading:
        """Take the next request; it reads the resource that it names, whole, while that lives."""
        held = self._resources.get(request.resource) if request.resource is not None else None
        now = request.started or 0.0
        if held is None or (held.made is not None and now < held.made) or not held.lives(now):
            return Reading(0)
        return Reading(min(held.tokens, request.tokens))

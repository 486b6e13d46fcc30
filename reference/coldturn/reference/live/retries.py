"""When a request may be sent again, and how long to wait: only where nothing can have been answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

import anyio

from coldturn.reference.connections.backoff import Backoff
from coldturn.reference.live.errors import ProviderStatusError, ProviderUnreachableError

_REFUSED = frozenset({429, 500, 502, 503, 529})
"""Statuses that say: not now. A 504 is none of them: behind a gateway the answer may have been made."""


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how patiently a refused request is repeated.

    Attributes:
        limit: Repetitions of one request.
        longest: Seconds; a provider that asks for more is not waited for.
        backoff: Waits, where the provider names none.
        sleep: Waits that long.
    """

    limit: int = 2
    longest: float = 60.0
    backoff: Backoff = field(default_factory=lambda: Backoff(first=0.5, cap=8.0))
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep

    def wait_after(self, error: ProviderStatusError | ProviderUnreachableError, attempt: int) -> float | None:
        """Seconds to wait before attempt number ``attempt + 1``; None when there is to be none.

        Args:
            error: How the attempt ended.
            attempt: Its number, counted from 0.
        """
        if attempt >= self.limit:
            return None
        asked: float | None = None
        if isinstance(error, ProviderStatusError):
            if error.status not in _REFUSED:
                return None
            asked = error.retry_after
        wait = self.backoff.delay(attempt) if asked is None else asked
        return wait if wait <= self.longest else None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a response asks to wait: a number, or a date that its own ``date`` is compared with."""
    value = headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        seconds = (parsedate_to_datetime(value) - parsedate_to_datetime(headers["date"])).total_seconds()
    except (KeyError, ValueError, TypeError):
        return None
    return max(0.0, seconds)

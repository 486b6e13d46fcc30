"""The clock of a replay: it stands still until the script or the recording moves it, and nobody waits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ReplayClock:
    """Simulated time; it never goes back.

    Args:
        start: Where it starts.
        moved: Called with epoch seconds after each move.
    """

    def __init__(self, start: datetime, moved: Callable[[float], None] | None = None) -> None:
        moment = start if start.tzinfo else start.replace(tzinfo=UTC)
        self._now_ns = (moment - _EPOCH) // timedelta(microseconds=1) * 1_000
        self._moved = moved

    def time_ns(self) -> int:
        """Nanoseconds since the epoch, UTC."""
        return self._now_ns

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now_ns += round(max(0.0, seconds) * 1_000_000) * 1_000
        if self._moved is not None:
            self._moved(self._now_ns / 1e9)

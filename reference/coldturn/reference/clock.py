"""Time and ids are injected: a replay's clock is the recording's."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where the runtime takes time from."""

    def time_ns(self) -> int:
        """Nanoseconds since the epoch, UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def time_ns(self) -> int:
        """Nanoseconds since the epoch, UTC."""
        return time.time_ns()

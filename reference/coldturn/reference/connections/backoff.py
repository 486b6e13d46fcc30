"""How long to wait before dialling again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential, capped, with jitter so that many clients do not return at the same moment.

    Attributes:
        first: Seconds before the first attempt.
        cap: Seconds that no wait exceeds, jitter aside.
        jitter: Largest share of a wait that is added at random.
        random: Draws from [0, 1).
    """

    first: float = 1.0
    cap: float = 60.0
    jitter: float = 0.1
    random: Callable[[], float] = random.random

    def delay(self, attempt: int) -> float:
        """Seconds to wait before attempt number `attempt`, counted from 0."""
        return min(self.cap, self.first * 2.0 ** min(attempt, 32)) * (1.0 + self.jitter * self.random())

"""How fresh a catalogue is: shared by everybody who refreshes over the same connections."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio


@dataclass(slots=True)
class Freshness:
    """Of one connection. Several Runs may share it: one refresh at a time, and whoever waits sees its result.

    Attributes:
        lock: Held while the catalogue is read.
        failures: Refreshes that have failed in a row.
        due_ns: When a sweep reads it next, nanoseconds since the epoch.
    """

    lock: anyio.Lock = field(default_factory=anyio.Lock)
    failures: int = 0
    due_ns: int = 0

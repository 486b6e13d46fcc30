"""What is remembered of a conversation that is known by the counts of its calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite

from coldturn.analysis.estimates.misses import Call, Outcome, outcome
from coldturn.analysis.estimates.row import Flag
from coldturn.analysis.estimates.ruleset import Parameters
from coldturn.traces.usage_record import UsageRecord

RECENT = 8
"""Calls of a conversation that one may go on from: side calls and sub-agents stand in between."""
_CALLS = 64
"""Calls of a conversation whose boundaries a lagging read is looked for among."""


@dataclass(slots=True)
class Conversation:
    """What is remembered of one: the latest calls, their counts, and its first one's for good."""

    recent: deque[UsageRecord] = field(default_factory=lambda: deque(maxlen=RECENT))
    calls: deque[Call] = field(default_factory=lambda: deque(maxlen=_CALLS))
    first: Call | None = None
    latest: float | None = None

    def add(self, record: UsageRecord) -> None:
        """Take the next call."""
        call = _call(record)
        self.recent.append(record)
        self.calls.append(call)
        self.first = self.first or call

    def miss(self, record: UsageRecord, read: int, parameters: Parameters) -> Outcome:
        """What the reported read of a call is that goes on from the latest one."""
        known = [*self.calls, _call(record)]
        if self.first is not None and known[0] is not self.first:
            known.insert(0, self.first)
        return outcome(known, len(known) - 1, read, parameters)

    def tick(self, started: float | None) -> Flag | None:
        """Go on to a call's start; a flag when it has none, or one before an earlier call's."""
        if started is None or not isfinite(started):
            return Flag.NO_TIME
        if self.latest is not None and started < self.latest:
            return Flag.TIME_GOES_BACK
        self.latest = started
        return None


def parent_of(record: UsageRecord, recent: Sequence[UsageRecord]) -> UsageRecord | None:
    """The call that one goes on from, as far as counts tell: the longest that is no longer than it is."""
    if record.input_tokens is None:
        return None
    fits = [one for one in recent if one.input_tokens is not None and one.input_tokens <= record.input_tokens]
    return max(reversed(fits), key=lambda one: one.input_tokens or 0, default=None)


def _call(record: UsageRecord) -> Call:
    return Call(record.input_tokens or 0, record.output_tokens or 0, record.cached_tokens or 0)

"""What `advise` says, as values and as JSON (schema ``coldturn.advise/1``; keys are only ever added)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from coldturn.analysis.advise.ways import Way
from coldturn.analysis.breaks.findings import ReadError
from coldturn.analysis.estimates.report import RequestEstimate
from coldturn.analysis.rates import rate

SCHEMA = "coldturn.advise/1"


@dataclass(slots=True)
class Sums:
    """Estimated tokens over the requests whose rules are known."""

    input: int = 0
    read: int = 0
    ceiling: int = 0
    requests: int = 0

    def add(self, row: RequestEstimate) -> None:
        """Count one request."""
        if row.read_estimated is None:
            return
        self.requests += 1
        self.input += row.input_estimated
        self.read += row.read_estimated
        self.ceiling += row.ceiling_estimated

    @property
    def uncached(self) -> int:
        """Input that is not read from a cache."""
        return self.input - self.read


@dataclass(frozen=True, slots=True)
class Remedy:
    """A cause, and what mending it would have been worth.

    Attributes:
        breaks: Requests with it, as first, later or neighbouring cause.
        after: Sums with it mended; None when nothing can be simulated.
        remedy: What to do, one line.
    """

    cause: str
    breaks: int
    before: Sums
    after: Sums | None
    remedy: str
    way: Way

    @property
    def saved(self) -> int | None:
        """Estimated tokens less that are not read from a cache; negative when it would have cost more."""
        return None if self.after is None else self.before.uncached - self.after.uncached

    def as_json(self) -> dict[str, Any]:
        """The published shape."""
        after = self.after
        return {
            "cause": self.cause,
            "breaks": self.breaks,
            "saved_tokens_estimated": self.saved,
            "hit_rate_before_estimated": rate(self.before.read, self.before.input),
            "hit_rate_after_estimated": None if after is None else rate(after.read, after.input),
            "remedy": self.remedy,
            "wire": self.way.wire,
            "trade_off": self.way.trade_off,
        }


@dataclass(slots=True)
class Advice:
    """Everything `advise` found.

    Attributes:
        remedies: The most saving first; those without a figure last.
        together: All that can be mended, mended at once; None when that is not more than one.
        requests: Model requests that were read.
    """

    remedies: list[Remedy] = field(default_factory=list)
    before: Sums = field(default_factory=Sums)
    together: Sums | None = None
    requests: int = 0
    errors: list[ReadError] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The published shape, all keys present."""
        together = self.together
        return {
            "schema": SCHEMA,
            "remedies": [remedy.as_json() for remedy in self.remedies],
            "together": None
            if together is None
            else {
                "saved_tokens_estimated": self.before.uncached - together.uncached,
                "hit_rate_before_estimated": rate(self.before.read, self.before.input),
                "hit_rate_after_estimated": rate(together.read, together.input),
            },
            "errors": [error.as_json() for error in self.errors],
        }


def ranked(remedies: Iterable[Remedy]) -> list[Remedy]:
    """The most saving first, then by name."""
    return sorted(remedies, key=lambda one: (one.saved is None, -(one.saved or 0), -one.breaks, one.cause))

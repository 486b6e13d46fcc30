"""Token counts of two kinds that must never meet: what we estimate, and what a provider reported.

Both are whole numbers, and a type checker tells them apart: `Usage` takes `ReportedTokens` alone, so an
estimate that strays into billing is refused before it runs. Whatever holds an estimate says ``estimated`` in
its name.
"""

from __future__ import annotations

from typing import NewType

EstimatedTokens = NewType("EstimatedTokens", int)
"""A count that we computed: cheap, deterministic, monotone in size. Code that handles usage refuses it."""

ReportedTokens = NewType("ReportedTokens", int)
"""A count that a provider reported, and may bill."""


def estimate_tokens(size: int) -> EstimatedTokens:
    """Estimate tokens of `size` UTF-8 bytes: a quarter, rounded up."""
    return EstimatedTokens(-(-size // 4))

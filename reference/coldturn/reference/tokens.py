"""Estimated tokens: cheap, deterministic, monotone in size; never mixed with what a provider reported."""

from __future__ import annotations

from typing import NewType

EstimatedTokens = NewType("EstimatedTokens", int)
"""A count that we computed. Code that handles a provider's usage does not accept it."""


def estimate_tokens(size: int) -> EstimatedTokens:
    """Estimate tokens of `size` UTF-8 bytes: a quarter, rounded up."""
    return EstimatedTokens(-(-size // 4))

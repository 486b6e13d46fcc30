"""How much of a server the prompt shows: tiers spend a budget on a narrowed list, and protect nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from coldturn.reference.catalogue import CatalogueTool
from coldturn.reference.policy import Policy
from coldturn.reference.tokens import estimate_tokens

Tier: TypeAlias = Literal["direct", "facade", "search", "deferred", "none"]

HEIGHT: dict[Tier, int] = {"none": 0, "direct": 1, "facade": 2, "search": 3, "deferred": 4}
"""Within a Run a tier only moves upwards."""


def fits_direct(tools: Sequence[CatalogueTool], policy: Policy) -> bool:
    """Whether so many tools of such size stand in the array one by one; the limits themselves still fit."""
    size = estimate_tokens(sum(tool.prompt_bytes for tool in tools))
    return len(tools) <= policy.direct_tools and size <= policy.direct_tokens


def tier_of(permitted: Sequence[CatalogueTool], policy: Policy) -> Tier:
    """The tier of a preloaded server."""
    if policy.disclosure == "all" or fits_direct(permitted, policy):
        return "direct"
    return "facade" if len(permitted) <= policy.facade_tools else "search"


def is_preloaded(flag: bool | None, discovered: Sequence[CatalogueTool], policy: Policy) -> bool:
    """Decide the connection's flag; unset counts what was discovered, which an author cannot know."""
    if policy.disclosure == "all":
        return True
    return fits_direct(discovered, policy) if flag is None else flag

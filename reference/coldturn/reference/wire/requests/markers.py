"""Where cache breakpoints go: on the stable side only, never on or behind the variable suffix."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from operator import indexOf

from coldturn.reference.wire.model import AssistantItem, HistoryItem, Prompt, UserItem

MAX_MARKERS = 4
"""Both providers with written entries take at most four a request."""

_GPT = re.compile(r"(?:^|/)gpt-(\d+)(?:\.(\d+))?(?![\d])")


@dataclass(frozen=True, slots=True)
class MarkerPlan:
    """What carries a breakpoint: history items by index, zone 1, zone 2, the last tool."""

    history: frozenset[int] = frozenset()
    system: bool = False
    tail: bool = False
    tools: bool = False


NO_MARKERS = MarkerPlan()


def takes_explicit_breakpoints(model: str) -> bool:
    """Whether an OpenAI model has ``prompt_cache_breakpoint``: 5.6 and later (provider's guide, 2026-10)."""
    found = _GPT.search(model)
    return found is not None and (int(found[1]), int(found[2] or 0)) >= (5, 6)


def last_user(prompt: Prompt) -> int | None:
    """Give the index of the last user message; None when there is none."""
    if prompt.last_user is not None:
        return prompt.last_user
    history = prompt.history
    try:
        return len(history) - 1 - indexOf(map(type, reversed(history)), UserItem)
    except ValueError:
        return None


def stable_end(prompt: Prompt) -> int | None:
    """Give the index of the last item that may carry a breakpoint; None in an empty history.

    A variable suffix inside the last user message makes everything behind it unfit.
    """
    history, user = prompt.history, last_user(prompt)
    item = history[user] if user is not None else None
    if isinstance(item, UserItem) and item.suffix:
        return user
    return len(history) - 1 if history else None


def previous_end(history: Sequence[HistoryItem], end: int) -> int | None:
    """Give the index at which the request before this one ended: the item in front of the last answer."""
    for index in range(end, 0, -1):
        if isinstance(history[index], AssistantItem):
            before = index - 1
            return None if isinstance(history[before], AssistantItem) else before
    return None


def plan_markers(prompt: Prompt, *, tools: bool, system: bool, previous: bool) -> MarkerPlan:
    """Choose at most four places, in the order of need: end of history, zone 1, zone 2, tools array.

    Args:
        prompt: What is going to be sent.
        tools: Whether a tool definition can carry a breakpoint on this surface.
        system: Whether zone 1 can.
        previous: Whether the end of the previous request needs one of its own: OpenAI reads an entry only at
            a boundary that the new request marks too, Anthropic looks back by itself.
    """
    if not prompt.markers:
        return NO_MARKERS
    end = stable_end(prompt)
    ends: list[int] = []
    if end is not None:
        ends.append(end)
        earlier = previous_end(prompt.history, end) if previous else None
        if earlier is not None:
            ends.append(earlier)
    room = MAX_MARKERS - len(ends)
    chosen: list[str] = []
    for name, wanted in (
        ("system", system and bool(prompt.system)),
        ("tail", bool(prompt.tail)),
        ("tools", tools and bool(prompt.tools)),
    ):
        if wanted and len(chosen) < room:
            chosen.append(name)
    return MarkerPlan(frozenset(ends), "system" in chosen, "tail" in chosen, "tools" in chosen)

"""Markers and lifetimes as they would have been sent: changes of every request of a recording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from coldturn.analysis.advise.items import Cut, Json, with_marker, without_markers
from coldturn.reference.prefix.model import Surface

_EPHEMERAL: Final[Mapping[str, Json]] = {"type": "ephemeral"}
_LONG: Final[Mapping[str, Json]] = {"type": "ephemeral", "ttl": "1h"}
_MOST_IN_FRONT = 2


def better_markers(body: dict[str, Json], shared: int, parts: Cut) -> dict[str, Json]:
    """Messages marked behind what the request before held and at the end; at most four markers in all.

    Args:
        body: Decoded.
        shared: How many elements of the history the request before held.
        parts: Tells where things stand.
    """
    key = parts.history
    if parts.surface is not Surface.MESSAGES or key is None:
        options = body.get("prompt_cache_options")
        return (
            {**body, "prompt_cache_options": {**options, "mode": "implicit"}}
            if isinstance(options, dict)
            else body
        )
    history = [without_markers(one) for one in body[key]]
    if 0 < shared < len(history):
        history[shared - 1] = with_marker(history[shared - 1], _EPHEMERAL)
    changed = {**body, key: history, "cache_control": dict(_EPHEMERAL)}
    marked = _MOST_IN_FRONT
    fronts = [one for one in parts.items if one != key]
    for front in reversed(fronts):
        changed[front], marked = _fewer(changed[front], marked)
    return changed


def _fewer(value: Json, most: int) -> tuple[Json, int]:
    """Only the last so many markers of a list, short-lived as all others; and how many more there may be."""
    if not isinstance(value, list):
        return value, most
    kept: list[Json] = []
    for one in reversed(value):
        bare = without_markers(one)
        keep = bare != one and most > 0
        most -= keep
        kept.append(with_marker(bare, _EPHEMERAL) if keep else bare)
    return kept[::-1], most


def longer_lifetime(body: dict[str, Json], _: int, parts: Cut) -> dict[str, Json]:
    """Every marker, or the request, asks for the longer lifetime."""
    if parts.surface is Surface.MESSAGES:
        return {key: _longer(value) for key, value in body.items()}
    if parts.surface in {Surface.CHAT_COMPLETIONS, Surface.RESPONSES}:
        return {**body, "prompt_cache_retention": "24h"}
    return body


def _longer(value: Json) -> Json:
    if isinstance(value, list):
        return [_longer(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") == "ephemeral" and value.keys() <= {"type", "ttl"}:
        return dict(_LONG)
    return {key: _longer(one) for key, one in value.items()}

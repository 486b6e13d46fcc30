"""Changes of the array that only the runtime can explain: a connection took another tier, an index moved.

Bytes show tools that came, went or changed; why, the labels of both requests tell (`Labels.tiers`).
"""

from __future__ import annotations

from dataclasses import replace

from coldturn.reference.prefix.causes.change import Change, Pair, unique

_FACADE = "facade"


class Tiers:
    """What the labels of a pair say about its connections; without labels every change stays as it is."""

    def __init__(self, pair: Pair) -> None:
        was, now = pair.parent.labels, pair.child.labels
        self._was, self._now = was, now
        self._moved = {
            name: (was.tiers[name], tier)
            for name, tier in now.tiers.items()
            if was.tiers.get(name, tier) != tier
        }

    def left(self, change: Change) -> Change:
        """A tool that is gone from the array."""
        return self._with_tier(change, self._was.owners.get(change.names[0]))

    def entered(self, change: Change) -> Change:
        """A tool that is new in the array; one of nobody's belongs to the route that a tier opens."""
        owner = self._now.owners.get(change.names[0])
        if owner is None and change.cause == "tool_added":
            owner = next((name for name, (_, tier) in self._moved.items() if tier == "search"), None)
        return self._with_tier(change, owner)

    def edited(self, change: Change) -> Change:
        """A tool whose definition changed: a facade's lists what its server has."""
        owner = self._now.owners.get(change.names[0])
        if owner is None or {self._was.tiers.get(owner), self._now.tiers.get(owner)} != {_FACADE}:
            return change
        if self._was.owners.get(change.names[0]) != owner:
            return change
        return replace(
            change, cause="facade_index_changed", kinds=(), alongside=(change.cause, *change.alongside)
        )

    def _with_tier(self, change: Change, owner: str | None) -> Change:
        if owner is None or owner not in self._moved:
            return change
        was, now = self._moved[owner]
        return replace(
            change,
            cause="tier_changed",
            names=(owner,),
            kinds=(f"{was}_to_{now}",),
            alongside=unique((change.cause, *change.alongside)),
        )

"""What zone 4 says of servers while a Run goes on: lost or back, new, and tools that came in mid-Run."""

from __future__ import annotations

from collections.abc import Mapping

from coldturn.reference.connections import ConnectionState, Hub
from coldturn.reference.policy import Policy
from coldturn.reference.surface import meta
from coldturn.reference.surface.group import Group
from coldturn.reference.surface.lines import server_line
from coldturn.reference.surface.narrowing import Narrowing

_NAMED = 10
"""Names of new tools that one notice spells out."""


def of(groups: Mapping[str, Group], hub: Hub, narrowing: Narrowing, policy: Policy) -> tuple[str, ...]:
    """The notices of one step, by connection id; empty when everything is as it was."""
    found = (_notice(groups[server], hub, narrowing, policy) for server in sorted(groups))
    return tuple(text for texts in found for text in texts)


def _notice(group: Group, hub: Hub, narrowing: Narrowing, policy: Policy) -> list[str]:
    texts = []
    if hub.state(group.server) is not ConnectionState.READY:
        return [f"{group.server} cannot be reached at the moment; calls of its tools fail."]
    new = group.unannounced(narrowing.permitted(group.server))
    if group.away_at_start:
        texts.append(f"{group.server} can be reached now.")
    if group.late and not group.shown and not group.away_at_start:
        line = server_line(group.server, group.about, policy.server_line_chars)
        texts.append(f"Connected since this conversation began: {line} (see {meta.LIST})")
    elif new:
        more = f" and {len(new) - _NAMED} more" if len(new) > _NAMED else ""
        texts.append(
            f"New tools of {group.server}: {', '.join(new[:_NAMED])}{more} (call them through {meta.CALL})"
        )
    return texts

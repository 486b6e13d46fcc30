"""Permission, in one place: whatever a model lists, reads, finds or calls goes through `Narrowing`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from coldturn.reference.catalogue import CatalogueStore, CatalogueTool
from coldturn.reference.connections import Hub


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What this Run or its user may not use: servers as a whole, and single (server, tool) pairs."""

    servers: frozenset[str] = frozenset()
    tools: frozenset[tuple[str, str]] = frozenset()


NO_LIMITS = RunLimits()


def narrow(
    rows: Iterable[CatalogueTool], grants: Iterable[str] | None, limits: RunLimits
) -> tuple[CatalogueTool, ...]:
    """Keep the rows that every link of the chain lets through; no link can add one.

    Args:
        rows: Catalogue rows; those marked as removed go first.
        grants: Tool names that the Spec grants on this connection; None grants all.
        limits: Limits of the Run or user.
    """
    granted = None if grants is None else frozenset(grants)
    return tuple(
        row
        for row in rows
        if row.removed_version is None
        and (granted is None or row.name in granted)
        and row.server not in limits.servers
        and (row.server, row.name) not in limits.tools
    )


class Narrowing:
    """Answers, at the time of the act, which tools are permitted.

    Attributes:
        limits: Replace it to change what the Run may use; the next question sees it.
    """

    def __init__(self, hub: Hub, store: CatalogueStore, limits: RunLimits = NO_LIMITS) -> None:
        self._hub = hub
        self._store = store
        self.limits = limits

    def permitted(self, server: str) -> tuple[CatalogueTool, ...]:
        """The permitted tools of a connection, by name; none for an unknown one."""
        if server not in self._hub.ids:
            return ()
        return narrow(self._store.current(server).tools, self._hub.spec(server).grants, self.limits)

    def allowed(self, server: str, tool: str) -> CatalogueTool | None:
        """The row when this pair is permitted now, else None."""
        return next((row for row in self.permitted(server) if row.name == tool), None)

    def everything(self) -> tuple[CatalogueTool, ...]:
        """The permitted tools of all connections, by (connection id, name)."""
        return tuple(row for server in sorted(self._hub.ids) for row in self.permitted(server))

"""Permission, in one place: whatever a model lists, reads, finds or calls goes through `Narrowing`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    rows: Iterable[CatalogueTool], grants: Iterable[Iterable[str] | None], limits: RunLimits
) -> tuple[CatalogueTool, ...]:
    """Keep the rows that every link of the chain lets through; no link can add one.

    Args:
        rows: Catalogue rows; those marked as removed go first.
        grants: Lists of tool names that the Spec grants on this connection; None grants all, and a name
            must be in every list.
        limits: Limits of the Run or user.
    """
    granted = [frozenset(names) for names in grants if names is not None]
    return tuple(
        row
        for row in rows
        if row.removed_version is None
        and all(row.name in names for names in granted)
        and row.server not in limits.servers
        and (row.server, row.name) not in limits.tools
    )


class Narrowing:
    """Answers, at the time of the act, which tools are permitted.

    Attributes:
        limits: Replace it to change what the Run may use; the next question sees it.
    """

    def __init__(
        self,
        hub: Hub,
        store: CatalogueStore,
        limits: RunLimits = NO_LIMITS,
        grants: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self._hub = hub
        self._store = store
        self._grants = grants or {}
        self.limits = limits

    def permitted(self, server: str) -> tuple[CatalogueTool, ...]:
        """The permitted tools of a connection, by name; none for an unknown one."""
        if server not in self._hub.ids:
            return ()
        grants = self._hub.spec(server).grants, self._grants.get(server)
        return narrow(self._store.current(server).tools, grants, self.limits)

    def allowed(self, server: str, tool: str) -> CatalogueTool | None:
        """The row when this pair is permitted now, else None."""
        return next((row for row in self.permitted(server) if row.name == tool), None)

    def everything(self) -> tuple[CatalogueTool, ...]:
        """The permitted tools of all connections, by (connection id, name)."""
        return tuple(row for server in sorted(self._hub.ids) for row in self.permitted(server))

"""Keeps catalogues fresh: what asks for a refresh, and one refresh at a time per connection."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import anyio
from mcp import MCPError
from pydantic import ValidationError

from coldturn.reference.catalogue.store import CatalogueStore, Snapshot
from coldturn.reference.catalogue.walk import walk
from coldturn.reference.clock import Clock
from coldturn.reference.connections.connection import ConnectionState
from coldturn.reference.connections.errors import describe_failure
from coldturn.reference.connections.hub import Hub
from coldturn.reference.observer import Observer, RefreshInfo, RefreshOutcome
from coldturn.reference.prefix.errors import ColdturnError


@dataclass(frozen=True, slots=True)
class Sweep:
    """When a catalogue that nobody asked about is read again.

    Attributes:
        seconds: Between two refreshes; a server's ``ttlMs`` raises it, never lowers it.
        jitter: Largest share that is added at random, so that sweeps spread out.
        random: Draws from [0, 1).
    """

    seconds: float = 300.0
    jitter: float = 0.1
    random: Callable[[], float] = random.random


class Refresher:
    """Refreshes catalogues on connect, by sweep, on demand and when a server says that its list changed.

    Nothing runs by itself: `settle` serves what has been announced (the Toolbox calls it when a turn starts),
    and a host calls `sweep` as often as it likes.
    """

    def __init__(
        self, hub: Hub, store: CatalogueStore, observer: Observer, clock: Clock, *, sweep: Sweep | None = None
    ) -> None:
        self._hub = hub
        self._store = store
        self._observer = observer
        self._clock = clock
        self._sweep = sweep or Sweep()
        self._failures: dict[str, int] = defaultdict(int)
        self._due_ns: dict[str, int] = {}
        self._locks: dict[str, anyio.Lock] = defaultdict(anyio.Lock)

    async def settle(self) -> None:
        """Refresh every connection that connected, reconnected or announced a change since the last time.

        Announcements that arrive while a refresh runs cost one more in all, however many they are.
        """
        await self._hub.settle()
        pending = self._hub.take_pending()
        for connection, trigger in pending:
            await self.refresh(connection, trigger)
        if pending:
            await self._hub.settle()
            for connection, trigger in self._hub.take_pending():
                await self.refresh(connection, trigger)

    async def sweep(self) -> tuple[str, ...]:
        """Refresh what is due now; returns which."""
        due = self.due(self._clock.time_ns())
        for connection in due:
            await self.refresh(connection, "sweep")
        return due

    def due(self, now_ns: int) -> tuple[str, ...]:
        """Ready connections whose catalogue has outlived its time; after a failure the time doubles."""
        ready = (id_ for id_ in self._hub.ids if self._hub.state(id_) is ConnectionState.READY)
        return tuple(connection for connection in ready if self._due_ns.get(connection, 0) <= now_ns)

    async def refresh(self, connection: str, trigger: str = "demand") -> Snapshot:
        """Read one catalogue; on failure nothing is written and the last good one is marked stale."""
        async with self._locks[connection]:
            before = self._store.current(connection)
            with self._observer.refresh(RefreshInfo(connection, trigger)) as scope:
                scope.finish(await self._read(connection, before))
            after = self._store.current(connection)
            self._schedule(connection, after)
            return after

    async def _read(self, connection: str, before: Snapshot) -> RefreshOutcome:
        ticket = self._store.ticket(connection)
        try:
            listing = await walk(connection, lambda cursor: self._hub.list_page(connection, cursor))
        except (ColdturnError, MCPError, ValidationError) as error:
            self._store.mark_stale(connection)
            self._failures[connection] += 1
            return RefreshOutcome(
                version=before.version,
                previous_version=before.version,
                catalog_hash=before.hash,
                tool_count=len(before.tools),
                added=(),
                removed=(),
                changed=(),
                error=describe_failure(error),
            )
        self._failures[connection] = 0
        commit = self._store.commit(
            connection,
            listing.definitions,
            ticket=ticket,
            at_ns=self._clock.time_ns(),
            ttl_ms=listing.ttl_ms,
        )
        return RefreshOutcome(
            version=commit.version,
            previous_version=commit.previous_version,
            catalog_hash=commit.hash,
            tool_count=commit.tool_count,
            added=commit.added,
            removed=commit.removed,
            changed=commit.changed,
        )

    def _schedule(self, connection: str, snapshot: Snapshot) -> None:
        seconds = max(self._sweep.seconds, snapshot.ttl_ms / 1000)
        seconds *= 2.0 ** min(self._failures[connection], 10) * (
            1.0 + self._sweep.jitter * self._sweep.random()
        )
        self._due_ns[connection] = self._clock.time_ns() + int(seconds * 1e9)

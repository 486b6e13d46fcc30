"""Keeps catalogues fresh: what asks for a refresh, and one refresh at a time per connection."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Never

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

    `settle` serves what has been announced (the Toolbox calls it when a turn starts); `sweeping` reads in the
    background what has outlived its time. Refreshers of one hub share what they know: however many Runs there
    are, a catalogue is read once.
    """

    def __init__(
        self, hub: Hub, store: CatalogueStore, observer: Observer, clock: Clock, *, sweep: Sweep | None = None
    ) -> None:
        self._hub = hub
        self._store = store
        self._observer = observer
        self._clock = clock
        self._sweep = sweep or Sweep()

    async def settle(self) -> None:
        """Refresh every connection that connected, reconnected or announced a change since the last time.

        Announcements that arrive while a refresh runs cost one more in all, however many they are. A refresh
        that somebody else has begun is waited for.
        """
        await self._hub.settle()
        served = [connection for connection in self._hub.ids if await self._serve(connection)]
        if served:
            await self._hub.settle()
            for connection in self._hub.ids:
                await self._serve(connection)

    async def _serve(self, connection: str) -> bool:
        async with self._hub.freshness(connection).lock:
            trigger = self._hub.take_trigger(connection)
            if trigger is not None:
                await self._refresh(connection, trigger)
            return trigger is not None

    async def sweep(self) -> tuple[str, ...]:
        """Refresh what is due now; returns which."""
        swept = []
        for connection in self.due(self._clock.time_ns()):
            async with self._hub.freshness(connection).lock:
                # Somebody else may have refreshed it while this one waited.
                if connection in self.due(self._clock.time_ns()):
                    await self._refresh(connection, "sweep")
                    swept.append(connection)
        return tuple(swept)

    def due(self, now_ns: int) -> tuple[str, ...]:
        """Ready connections whose catalogue has outlived its time; after a failure the time doubles."""
        ready = (id_ for id_ in self._hub.ids if self._hub.state(id_) is ConnectionState.READY)
        return tuple(connection for connection in ready if self._hub.freshness(connection).due_ns <= now_ns)

    def next_due(self) -> float:
        """Seconds until the next sweep has something to do; at most one whole interval."""
        now = self._clock.time_ns()
        ready = [id_ for id_ in self._hub.ids if self._hub.state(id_) is ConnectionState.READY]
        # One that was never read waits for its first turn, or for a whole interval.
        dues = [due for id_ in ready if (due := self._hub.freshness(id_).due_ns)]
        waits = [(due - now) / 1e9 for due in dues]
        return min(max(min(waits, default=self._sweep.seconds), 1.0), self._sweep.seconds)

    async def keep_sweeping(self, sleep: Callable[[float], Awaitable[None]]) -> Never:
        """Sweep for ever; a host that wants no task of its own to look after uses `sweeping`."""
        while True:
            await sleep(self.next_due())
            await self.sweep()

    async def refresh(self, connection: str, trigger: str = "demand") -> Snapshot:
        """Read one catalogue; on failure nothing is written and the last good one is marked stale."""
        async with self._hub.freshness(connection).lock:
            return await self._refresh(connection, trigger)

    async def _refresh(self, connection: str, trigger: str) -> Snapshot:
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
            self._hub.freshness(connection).failures += 1
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
        self._hub.freshness(connection).failures = 0
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
        freshness = self._hub.freshness(connection)
        seconds = max(self._sweep.seconds, snapshot.ttl_ms / 1000)
        seconds *= 2.0 ** min(freshness.failures, 10) * (1.0 + self._sweep.jitter * self._sweep.random())
        freshness.due_ns = self._clock.time_ns() + int(seconds * 1e9)


@asynccontextmanager
async def sweeping(
    refresher: Refresher, *, sleep: Callable[[float], Awaitable[None]] = anyio.sleep
) -> AsyncIterator[None]:
    """Sweep in the background while the body runs. A replay, whose clock stands still, does without.

    Args:
        refresher: Its refreshes are told to its own observer.
        sleep: Waits between sweeps.
    """
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(refresher.keep_sweeping, sleep)
        try:
            yield
        finally:
            tasks.cancel_scope.cancel()

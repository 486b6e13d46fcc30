"""The catalogue as a table with versions: every complete refresh mints one, and nothing is ever deleted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path

from coldturn.reference.catalogue.definition import CatalogueTool, Definition, catalogue_hash

_SCHEMA = """
CREATE TABLE IF NOT EXISTS catalogue (
    partition TEXT NOT NULL,
    connection TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 0,
    hash TEXT NOT NULL DEFAULT '',
    refreshed_ns INTEGER NOT NULL DEFAULT 0,
    ttl_ms INTEGER NOT NULL DEFAULT 0,
    stale INTEGER NOT NULL DEFAULT 0,
    last_ticket INTEGER NOT NULL DEFAULT 0,
    committed_ticket INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (partition, connection)
) STRICT;
CREATE TABLE IF NOT EXISTS tool (
    partition TEXT NOT NULL,
    connection TEXT NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    body BLOB NOT NULL,
    position INTEGER NOT NULL,
    added_version INTEGER NOT NULL,
    last_seen_version INTEGER NOT NULL,
    removed_version INTEGER,
    PRIMARY KEY (partition, connection, name, added_version)
) STRICT;
CREATE INDEX IF NOT EXISTS tool_current ON tool (partition, connection, name) WHERE removed_version IS NULL;
CREATE TRIGGER IF NOT EXISTS tool_is_never_deleted BEFORE DELETE ON tool
BEGIN SELECT RAISE(ABORT, 'catalogue rows are marked as removed, never deleted'); END;
CREATE TRIGGER IF NOT EXISTS catalogue_is_never_deleted BEFORE DELETE ON catalogue
BEGIN SELECT RAISE(ABORT, 'catalogues are kept, never deleted'); END;
"""

_COLUMNS = "connection, name, hash, body, position, added_version, last_seen_version, removed_version"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is known of one connection's catalogue. `version` 0: it has never been read.

    Attributes:
        tools: Rows not marked as removed, by name.
        refreshed_ns: When the last complete refresh was committed, nanoseconds since the epoch.
        ttl_ms: How long the server says its list stays good; 0 when it says nothing.
        stale: The last attempt to refresh failed; these rows are the last good ones.
    """

    connection: str
    version: int
    hash: str
    tools: tuple[CatalogueTool, ...]
    refreshed_ns: int
    ttl_ms: int
    stale: bool


@dataclass(frozen=True, slots=True)
class Commit:
    """What one refresh changed, names in code point order. `changed`: same name, another definition.

    `superseded` is set when a refresh that started later had committed first: this one wrote nothing.
    """

    version: int
    previous_version: int
    hash: str
    tool_count: int
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    superseded: bool = False


class CatalogueStore:
    """Catalogues by connection id in one SQLite database; use one store per thread.

    Args:
        path: A file (WAL; several processes may share it), or ``":memory:"``.

    Attributes:
        partition: Whose catalogues these are. What a server lists may depend on who asks: a host that serves
            several users gives each a partition, and no partition ever sees another one's rows.
    """

    def __init__(self, path: str | Path = ":memory:") -> None:
        self.partition = ""
        self._db = sqlite3.connect(str(path), isolation_level=None, timeout=30.0)
        self._snapshots: dict[str, Snapshot] = {}
        if str(path) != ":memory:":
            self._db.execute("PRAGMA journal_mode = WAL")
        self._db.executescript(_SCHEMA)

    def for_partition(self, partition: str) -> CatalogueStore:
        """The same database as one user's authorisation sees it; closing either closes both."""
        store = copy(self)
        store.partition, store._snapshots = partition, {}
        return store

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield self._db
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def ticket(self, connection: str) -> int:
        """Number a refresh BEFORE its first request, so that of two racing ones the later-started wins."""
        with self._transaction() as db:
            db.execute(
                "INSERT INTO catalogue (partition, connection) VALUES (?, ?) ON CONFLICT DO NOTHING",
                (self.partition, connection),
            )
            row = db.execute(
                "UPDATE catalogue SET last_ticket = last_ticket + 1"
                " WHERE partition = ? AND connection = ? RETURNING last_ticket",
                (self.partition, connection),
            ).fetchone()
        return int(row[0])

    def commit(
        self, connection: str, definitions: Sequence[Definition], *, ticket: int, at_ns: int, ttl_ms: int = 0
    ) -> Commit:
        """Write a complete listing as the next version, in one transaction.

        Every tool seen is stamped; then one statement marks all rows without the new stamp as removed. An
        edited or returning tool is a new row; when its definition was seen before, with the bytes first seen.

        Args:
            connection: Connection id.
            definitions: The whole listing in the server's order, names unique.
            ticket: From `ticket`, taken before the listing was fetched.
            at_ns: Now.
            ttl_ms: How long the server says the listing stays good.
        """
        with self._transaction() as db:
            previous, committed = db.execute(
                "SELECT version, committed_ticket FROM catalogue WHERE partition = ? AND connection = ?",
                (self.partition, connection),
            ).fetchone()
            if committed > ticket:
                current = self.current(connection)
                return Commit(previous, previous, current.hash, len(current.tools), superseded=True)
            version = previous + 1
            before = {tool.name: tool.hash for tool in self.current(connection).tools}
            for position, definition in enumerate(definitions):
                if before.get(definition.name) == definition.hash:
                    self._stamp(connection, definition, position, version)
                else:
                    self._add(connection, definition, position, version)
            db.execute(
                "UPDATE tool SET removed_version = ?1"
                " WHERE partition = ?2 AND connection = ?3"
                " AND removed_version IS NULL AND last_seen_version < ?1",
                (version, self.partition, connection),
            )
            after = {definition.name: definition.hash for definition in definitions}
            digest = catalogue_hash(after.items())
            db.execute(
                "UPDATE catalogue SET version = ?, hash = ?, refreshed_ns = ?, ttl_ms = ?, stale = 0,"
                " committed_ticket = ? WHERE partition = ? AND connection = ?",
                (version, digest, at_ns, ttl_ms, ticket, self.partition, connection),
            )
        return Commit(
            version,
            previous,
            digest,
            len(after),
            added=tuple(sorted(after.keys() - before.keys())),
            removed=tuple(sorted(before.keys() - after.keys())),
            changed=tuple(
                sorted(name for name in after.keys() & before.keys() if after[name] != before[name])
            ),
        )

    def _stamp(self, connection: str, definition: Definition, position: int, version: int) -> None:
        self._db.execute(
            "UPDATE tool SET last_seen_version = ?, position = ?"
            " WHERE partition = ? AND connection = ? AND name = ? AND removed_version IS NULL",
            (version, position, self.partition, connection, definition.name),
        )

    def _add(self, connection: str, definition: Definition, position: int, version: int) -> None:
        seen = self._db.execute(
            "SELECT body FROM tool WHERE partition = ? AND connection = ? AND name = ? AND hash = ?"
            " ORDER BY added_version LIMIT 1",
            (self.partition, connection, definition.name, definition.hash),
        ).fetchone()
        body = definition.body if seen is None else seen[0]
        self._db.execute(
            f"INSERT INTO tool (partition, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)",  # noqa: S608 - a constant
            (self.partition, connection, definition.name, definition.hash, body, position, version, version),
        )

    def mark_stale(self, connection: str) -> None:
        """Note that a refresh failed: the rows stay as they are."""
        with self._transaction() as db:
            db.execute(
                "UPDATE catalogue SET stale = 1 WHERE partition = ? AND connection = ?",
                (self.partition, connection),
            )

    def current(self, connection: str) -> Snapshot:
        """The last good version."""
        head = self._db.execute(
            "SELECT version, hash, refreshed_ns, ttl_ms, stale FROM catalogue"
            " WHERE partition = ? AND connection = ?",
            (self.partition, connection),
        ).fetchone()
        if head is None:
            return Snapshot(connection, 0, catalogue_hash(()), (), 0, 0, stale=False)
        version, digest, refreshed_ns, ttl_ms, stale = head
        known = self._snapshots.get(connection)
        fresh = known is not None and known.version == version
        rows = known.tools if known is not None and fresh else self._current_rows(connection)
        self._snapshots[connection] = Snapshot(
            connection, version, digest or catalogue_hash(()), rows, refreshed_ns, ttl_ms, stale=bool(stale)
        )
        return self._snapshots[connection]

    def _current_rows(self, connection: str) -> tuple[CatalogueTool, ...]:
        return self._rows("removed_version IS NULL", connection)

    def at(self, connection: str, version: int) -> tuple[CatalogueTool, ...]:
        """The tools of an older version, by name; also those that have been removed since."""
        return self._rows(
            "added_version <= ?3 AND (removed_version IS NULL OR removed_version > ?3)", connection, version
        )

    def _rows(self, condition: str, *values: str | int) -> tuple[CatalogueTool, ...]:
        rows = self._db.execute(
            f"SELECT {_COLUMNS} FROM tool"  # noqa: S608 - constants
            f" WHERE partition = ?1 AND connection = ?2 AND {condition} ORDER BY name",
            (self.partition, *values),
        )
        return tuple(CatalogueTool(*row) for row in rows)

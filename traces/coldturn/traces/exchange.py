"""What every reader of recordings yields."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from coldturn.reference.prefix.model import Fidelity, Zone


class ExchangeKind(StrEnum):
    """What an exchange talks to."""

    MODEL = "model"
    MCP = "mcp"
    OTHER = "other"


CACHE_HEADERS = frozenset(
    {
        "anthropic-beta",
        "conversation_id",
        "openai-organization",
        "openai-project",
        "session-id",
        "session_id",
        "x-claude-code-session-id",
        "x-grok-conv-id",
        "x-session-affinity",
        "x-session-id",
    }
)
"""Request headers that decide which cache a request meets, or what is put in front of its prompt."""


def cache_headers(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Those of a request's headers (names in lower case) that decide about a cache."""
    return tuple((name, value) for name, value in headers if name in CACHE_HEADERS)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One recorded request with its response.

    Attributes:
        source: Name of the input it was read from, as the user gave it.
        entry: Index in that input, from 0.
        url: Address as recorded; empty when the recording has none.
        request_body: Bytes as stored; what `fidelity` says of them holds.
        response_body: Bytes as received (decompressed), or None.
        started: Epoch seconds, or None when the recording has no times.
        headers: Lower-case response header names with their values.
        undated: A time was recorded, and it is none; `started` is then None.
        answered: Epoch seconds at which the first byte of the response came, or None when that is not known.
        request_headers: Lower-case names and values of those request headers that decide about a cache
            (`CACHE_HEADERS`); others are not kept.
        parts_missing: Zones that were sent and that the source did not keep, such as a transcript's tools and
            system text. They are unknown, never empty: a change in them cannot be seen.
        compacted_from: Of the first request behind a compaction that a source marks (a summary took the place
            of the history) the `entry` of the last one in front of it.
    """

    source: str
    entry: int
    kind: ExchangeKind
    method: str
    url: str
    request_body: bytes
    response_body: bytes | None
    status: int | None
    content_type: str
    started: float | None
    fidelity: Fidelity
    headers: tuple[tuple[str, str], ...] = ()
    answered: float | None = None
    undated: bool = False
    parts_missing: frozenset[Zone] = frozenset()
    request_headers: tuple[tuple[str, str], ...] = ()
    compacted_from: int | None = None


@dataclass(frozen=True, slots=True)
class EntryError:
    """One entry that could not be read; the rest of its input was.

    Attributes:
        torn: Nothing that is there is damaged, but the recording ends where it may have been interrupted.
    """

    source: str
    entry: int
    message: str
    torn: bool = False

"""A recording, opened: its entries in the order in which they were sent, each with a time."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from coldturn.reference.prefix.model import Fidelity
from coldturn.replay.capture.timing import LATEST, Timing
from coldturn.replay.errors import BrokenRecordingError
from coldturn.replay.playback.rpc import Rpc, parse_rpc
from coldturn.traces.cassette import iter_cassette
from coldturn.traces.classify import PackedBodyError, started_of, unpacked
from coldturn.traces.exchange import EntryError
from coldturn.traces.interaction import Headers, Interaction
from coldturn.traces.migrations import read_about

EPOCH = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
"""Where the clock of a recording without any times starts; each entry is then a second."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One recorded exchange.

    Attributes:
        number: Index in the file.
        server: Label or address of the server that was asked.
        start: Epoch seconds at which the request was sent; `end` at which its response ended.
        timed: Whether `start` was recorded, rather than counted up by us.
        chunks: Seconds since `start` and length of each part of `body`.
        rpc: The JSON-RPC message, when the request is one.
    """

    number: int
    server: str
    method: str
    url: str
    request_body: bytes
    fidelity: Fidelity
    status: int
    headers: Headers
    body: bytes
    start: float
    end: float
    timed: bool
    chunks: tuple[tuple[float, int], ...]
    rpc: Rpc | None

    @property
    def content_type(self) -> str:
        """Of the response; told from the body when the recording dropped the header."""
        named = dict(self.headers).get("content-type", "")
        if named:
            return named
        return "application/json" if self.body.lstrip()[:1] in (b"{", b"[") else "text/event-stream"


@dataclass(frozen=True)
class Recording:
    """A whole recording.

    Attributes:
        source: Its name as the user gave it.
        entries: In the order in which the requests were sent.
        metadata: What the recorder said of it; empty for other people's cassettes.
        torn: What says that the file was, or may have been, cut off.
    """

    source: str
    entries: tuple[Entry, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    torn: tuple[EntryError, ...] = ()

    @cached_property
    def endpoints(self) -> tuple[str, ...]:
        """Addresses of MCP servers, in the order in which they were first asked."""
        return tuple(dict.fromkeys(address(e.url) for e in self.entries if e.rpc is not None))

    @cached_property
    def mcp(self) -> tuple[Entry, ...]:
        """Entries of MCP servers, their GET and DELETE requests included."""
        known = set(self.endpoints)
        return tuple(e for e in self.entries if address(e.url) in known)

    @property
    def timed(self) -> bool:
        """Whether any entry carries a recorded time."""
        return any(entry.timed for entry in self.entries)


@lru_cache(maxsize=256)
def address(url: str) -> str:
    """A URL without user, query and fragment: what names an endpoint and holds no secret."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", f":{parts.port}" if parts.port else ""
    except ValueError:
        return url
    return f"{parts.scheme}://{host}{port}{parts.path}"


def open_recording(path: str | Path) -> Recording:
    """Read a cassette: vcrpy's YAML or JSON, or JSON lines.

    Raises:
        InputError: It cannot be opened, is no cassette, or an entry is damaged.
        BrokenRecordingError: A body or a time that cannot be read.
    """
    with _without_collecting():
        return _opened(str(path))


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Nothing that is read is garbage: looking for some again and again takes a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _opened(source: str) -> Recording:
    torn: list[EntryError] = []
    interactions = list(iter_cassette(source, on_torn=torn.append))
    metadata = read_metadata(Path(source))
    labels = metadata.get("servers")
    servers = {address(url): str(label) for url, label in labels.items()} if isinstance(labels, dict) else {}
    timings = [_timing(interaction, source) for interaction in interactions]
    starts = _starts(interactions, timings)
    entries = [
        _entry(interaction, timing, start, servers, source)
        for interaction, timing, start in zip(interactions, timings, starts, strict=True)
    ]
    if entries and all(timing is not None for timing in timings):
        order = {entry.number: timing.seq for entry, timing in zip(entries, timings, strict=True) if timing}
        entries.sort(key=lambda entry: order[entry.number])
    return Recording(source, tuple(entries), metadata, tuple(torn))


def _timing(interaction: Interaction, source: str) -> Timing | None:
    if not interaction.timing:
        return None
    try:
        return Timing.from_dict(interaction.timing)
    except ValueError as error:
        raise BrokenRecordingError(source, str(error), entry=interaction.entry) from error


def _starts(
    interactions: Sequence[Interaction], timings: Sequence[Timing | None]
) -> list[tuple[float, bool]]:
    """A time for each entry: its own, else its `date` header, else a second after the one before it."""
    known = [
        timing.start if timing else _on_a_clock(started_of(interaction))
        for interaction, timing in zip(interactions, timings, strict=True)
    ]
    starts: list[tuple[float, bool]] = []
    previous = next((time - index for index, time in enumerate(known) if time is not None), EPOCH) - 1.0
    for time in known:
        previous = previous + 1.0 if time is None else time
        starts.append((previous, time is not None))
    return starts


def _on_a_clock(time: float | None) -> float | None:
    return time if time is not None and 0 <= time <= LATEST else None


def _entry(
    interaction: Interaction,
    timing: Timing | None,
    start: tuple[float, bool],
    servers: Mapping[str, str],
    source: str,
) -> Entry:
    try:
        request = unpacked(interaction.request_body, interaction.request_headers)
        response = unpacked(interaction.response_body or b"", interaction.response_headers)
    except PackedBodyError as error:
        raise BrokenRecordingError(source, str(error), entry=interaction.entry) from error
    where = address(interaction.uri)
    return Entry(
        number=interaction.entry,
        server=(timing.server if timing else "") or servers.get(where, where),
        method=interaction.method.upper(),
        url=interaction.uri,
        request_body=request,
        fidelity=interaction.fidelity,
        status=interaction.status or 200,
        headers=interaction.response_headers,
        body=response,
        start=start[0],
        end=timing.end if timing else start[0],
        timed=start[1],
        chunks=timing.chunks if timing else (),
        rpc=parse_rpc(request) if interaction.method.upper() == "POST" else None,
    )


def read_metadata(path: Path) -> Mapping[str, Any]:
    """What a recorder wrote about a recording; empty when there is nothing.

    Raises:
        InputError: A later release wrote it, or it names no format version.
    """
    with path.open("rb") as file:
        return read_about(file, str(path))

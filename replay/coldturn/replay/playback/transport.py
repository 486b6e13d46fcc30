"""Play a recording to real clients: an httpx2 transport that answers from it and can reach no network."""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import anyio
import httpx2
from mcp_types import INTERNAL_ERROR, METHOD_NOT_FOUND

from coldturn.replay.errors import PlaybackMissError
from coldturn.replay.playback.matching import AnswerIndex, Notices, plain_key
from coldturn.replay.playback.recording import Entry, Recording
from coldturn.replay.playback.rpc import HANDSHAKES, LISTEN, Rpc, call_key, parse_rpc
from coldturn.replay.playback.sse import Event, with_ids

_DROPPED = frozenset({"content-length", "content-encoding", "transfer-encoding", "connection"})


@dataclass(frozen=True, slots=True)
class PlaybackReport:
    """What became of a recording's MCP entries.

    Attributes:
        played: Entries that were played at least once.
        unplayed: Entries that were not.
        repeated: Plays of an entry beyond its first.
        reordered: Calls that were played after one that began later than they ended.
        leftover: The unplayed entries in words.
    """

    played: int
    unplayed: int
    repeated: int
    reordered: int
    leftover: tuple[str, ...]


class Playback:
    """The state of one run through a recording, shared by the transports of all its servers.

    `horizon` is where the run stands in recorded time: what was recorded before it has happened. Playing a
    call moves it behind that call; `advance_to` moves it by the clock.

    Attributes:
        misses: Requests that had no recorded answer; MCP clients saw an error in their place.
    """

    def __init__(self, recording: Recording, *, clocked: bool = False) -> None:
        """Start at the beginning.

        Args:
            recording: What to play.
            clocked: Recorded time passes as `advance_to` says. Otherwise it passes with calls: all that was
                recorded up to the next call has happened once a call is played.
        """
        self._recording = recording
        self._clocked = clocked
        self.index = AnswerIndex(recording)
        self.misses: list[PlaybackMissError] = []
        self._plays: Counter[int] = Counter()
        self._furthest = -math.inf
        self._reordered = 0
        self._moved = anyio.Event()
        self._delivered: Counter[tuple[str, str]] = Counter()
        first = recording.entries[0].start if recording.entries else 0.0
        self.horizon = math.nextafter(first, math.inf) if clocked else self._before_next_call(-math.inf)

    def transport(self) -> PlaybackTransport:
        """A transport for one client; every client may have its own."""
        return PlaybackTransport(self)

    def advance_to(self, time: float) -> None:
        """Say that the run has reached `time` (epoch seconds); time never goes back."""
        self._move(math.nextafter(time, math.inf))

    def _move(self, horizon: float) -> None:
        if horizon > self.horizon:
            self.horizon = horizon
            moved, self._moved = self._moved, anyio.Event()
            moved.set()

    def _before_next_call(self, after: float) -> float:
        starts = self.index.call_starts
        later = bisect_right(starts, after)
        return starts[later] if later < len(starts) else math.inf

    def report(self) -> PlaybackReport:
        """Count what has been played so far."""
        left = [entry for entry in self._recording.mcp if not self._plays[entry.number]]
        return PlaybackReport(
            played=len(self._recording.mcp) - len(left),
            unplayed=len(left),
            repeated=sum(count - 1 for count in self._plays.values() if count > 1),
            reordered=self._reordered,
            leftover=tuple(f"entry {e.number}: {_in_words(e)}" for e in left),
        )

    def played(self, entry: Entry) -> None:
        """Note that an entry was played."""
        self._plays[entry.number] += 1

    def played_call(self, entry: Entry) -> None:
        """Note that a strict call was played, and let recorded time pass."""
        self.played(entry)
        # Calls that overlapped in the recording have no order of their own.
        if entry.end < self._furthest:
            self._reordered += 1
        self._furthest = max(self._furthest, entry.start)
        self._move(entry.end if self._clocked else self._before_next_call(entry.start))

    def miss(self, asked: str, nearest: tuple[str, ...]) -> PlaybackMissError:
        """Note that the recording has no answer."""
        error = PlaybackMissError(self._recording.source, asked, nearest)
        self.misses.append(error)
        return error

    def has_unannounced_listing(self, url: str) -> bool:
        """Whether a server that announces nothing lists other tools by now than it was last asked for."""
        server = self.index.label(url)
        announces = any(self.index.notices(server, kind) is not None for kind in ("GET", LISTEN))
        return not announces and self.index.has_newer_listing(server, self.horizon)

    async def notices(self, server: str, kind: str, notices: Notices) -> AsyncIterator[Event]:
        """What the server sent of its own accord, each when the run has passed its place; never ends."""
        for event in notices.opening:
            yield event
        while True:
            next_event = self._delivered[server, kind]
            if next_event == len(notices.events):
                await anyio.sleep_forever()
            event = notices.events[next_event]
            while event.at >= self.horizon:
                await self._moved.wait()
            self._delivered[server, kind] += 1
            yield event


def _in_words(entry: Entry) -> str:
    if entry.rpc is None:
        return f"{entry.method} {entry.server}"
    key = call_key(entry.server, entry.rpc)
    return f"{key.method} {key.subject}".rstrip() + f" of {entry.server}"


class _Notices(httpx2.AsyncByteStream):
    """A stream that stays open, as a server's does; the client closes it."""

    def __init__(self, events: Callable[[], AsyncIterator[Event]], rewrite: Callable[[bytes], bytes]) -> None:
        self._events = events
        self._rewrite = rewrite

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for event in self._events():
            yield self._rewrite(event.raw)


class _Parts(httpx2.AsyncByteStream):
    """A body in the parts in which it came."""

    def __init__(self, body: bytes, chunks: tuple[tuple[float, int], ...]) -> None:
        self._body = body
        whole = sum(length for _, length in chunks) == len(body)
        self._lengths = [length for _, length in chunks] if whole else [len(body)]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        position = 0
        for length in self._lengths:
            yield self._body[position : position + length]
            position += length


class PlaybackTransport(httpx2.AsyncBaseTransport):
    """Answers from a recording. There is nothing behind it: a request without a recorded answer is an error.

    An MCP client sees the miss as a JSON-RPC error, since an exception would end its whole session; look at
    `Playback.misses`. Any other request raises `PlaybackMissError`.
    """

    def __init__(self, playback: Playback) -> None:
        self._playback = playback
        self._index = playback.index

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Find the recorded answer.

        Raises:
            PlaybackMissError: For a request that is no JSON-RPC message and has no recorded answer.
        """
        await request.aread()
        server = self._index.label(str(request.url))
        rpc = parse_rpc(request.content) if request.method == "POST" else None
        if rpc is None:
            return self._plain(request, server)
        if not rpc.is_request:
            return self._quiet(server, rpc)
        return self._answer(server, rpc)

    def _plain(self, request: httpx2.Request, server: str) -> httpx2.Response:
        if request.method == "GET" and (notices := self._index.notices(server, "GET")):
            return self._stream(server, "GET", notices, lambda raw: raw)
        entry = self._index.take_call(plain_key(server, request.method, request.content))
        if entry is not None:
            self._playback.played(entry)
            return _response(entry, entry.body)
        if request.method == "GET":
            return httpx2.Response(405)
        if request.method == "DELETE":
            return httpx2.Response(204)
        raise self._playback.miss(f"{request.method} {server}", ())

    def _quiet(self, server: str, rpc: Rpc) -> httpx2.Response:
        """Notifications, and answers to a server's questions: nothing depends on them."""
        entry = self._index.take_quiet(call_key(server, rpc))
        if entry is not None:
            self._playback.played(entry)
        return httpx2.Response(202)

    def _answer(self, server: str, rpc: Rpc) -> httpx2.Response:
        if rpc.method == LISTEN:
            return self._subscription(server, rpc)
        key = call_key(server, rpc)
        if rpc.method in HANDSHAKES:
            entry = self._index.handshake(key)
        elif rpc.is_list:
            entry = self._index.listing(server, rpc, self._playback.horizon)
        else:
            entry = self._index.take_call(key)
            if entry is not None:
                self._playback.played_call(entry)
                return _response(entry, _for(rpc, entry))
        if entry is not None:
            self._playback.played(entry)
            return _response(entry, _for(rpc, entry))
        return self._unrecorded(server, rpc)

    def _unrecorded(self, server: str, rpc: Rpc) -> httpx2.Response:
        if rpc.method == "server/discover":
            return _error(rpc, METHOD_NOT_FOUND, "Method not found")
        if rpc.method == "initialize":
            return _result(rpc, _plain_handshake(server, rpc))
        if self._index.is_polite(rpc):
            return _result(rpc, {})
        key = call_key(server, rpc)
        return _error(rpc, INTERNAL_ERROR, str(self._playback.miss(str(key), self._index.nearest(key))))

    def _subscription(self, server: str, rpc: Rpc) -> httpx2.Response:
        notices = self._index.notices(server, LISTEN)
        if notices is None:
            return _error(rpc, METHOD_NOT_FOUND, "Method not found")
        recorded = notices.entries[0].rpc
        if recorded is None:
            raise TypeError("a subscription is a request")
        return self._stream(server, LISTEN, notices, lambda raw: with_ids(raw, rpc, Rpc(LISTEN)))

    def _stream(
        self, server: str, kind: str, notices: Notices, rewrite: Callable[[bytes], bytes]
    ) -> httpx2.Response:
        for entry in notices.entries:
            self._playback.played(entry)
        stream = _Notices(lambda: self._playback.notices(server, kind, notices), rewrite)
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=stream)


def _for(rpc: Rpc, entry: Entry) -> bytes:
    return with_ids(entry.body, rpc, entry.rpc) if entry.rpc is not None else entry.body


def _response(entry: Entry, body: bytes) -> httpx2.Response:
    headers = [(name, value) for name, value in entry.headers if name not in _DROPPED]
    if body and not any(name == "content-type" for name, _ in headers):
        headers.append(("content-type", entry.content_type))
    return httpx2.Response(entry.status, headers=headers, stream=_Parts(body, entry.chunks))


def _plain_handshake(server: str, rpc: Rpc) -> dict[str, object]:
    """For a recording that begins behind the handshake, or was made in the era without one."""
    return {
        "protocolVersion": rpc.params.get("protocolVersion"),
        "capabilities": {"tools": {}},
        "serverInfo": {"name": server, "version": ""},
    }


def _result(rpc: Rpc, result: object) -> httpx2.Response:
    return _json({"jsonrpc": "2.0", "id": rpc.id, "result": result})


def _json(message: object) -> httpx2.Response:
    content = json.dumps(message).encode()
    return httpx2.Response(200, headers={"content-type": "application/json"}, content=content)


def _error(rpc: Rpc, code: int, message: str) -> httpx2.Response:
    return _json({"jsonrpc": "2.0", "id": rpc.id, "error": {"code": code, "message": message}})

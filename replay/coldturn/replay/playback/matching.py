"""Which recorded answer belongs to a request: an index over a recording, asked by key, never scanned.

Three kinds of requests. *Calls* are strict: each recorded answer is played once, in recorded order.
*Listings* are sticky and follow time: the one that was current holds until the next. *Handshakes* are
lenient: another client may open the session.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from coldturn.replay.playback.recording import Entry, Recording, address
from coldturn.replay.playback.rpc import HANDSHAKES, LISTEN, CallKey, Rpc, call_key, differences, likeness
from coldturn.replay.playback.sse import Event, events

_POLITE = frozenset({"ping", "logging/setLevel"})
"""Requests that change nothing: they are answered even when the recording has none."""


@dataclass(frozen=True, slots=True)
class Walk:
    """One walk through a paged listing: its pages by cursor, and since when it was the truth."""

    since: float
    pages: dict[str | None, Entry] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Notices:
    """What a server sent of its own accord on one kind of stream, merged over its sessions.

    Attributes:
        entries: The streams as recorded.
        opening: The first event, which a client waits for: a subscription's acknowledgement.
        events: Everything else, in the order in which it came.
    """

    entries: tuple[Entry, ...]
    opening: tuple[Event, ...]
    events: tuple[Event, ...]


class AnswerIndex:
    """The recorded answers of one recording by key.

    Attributes:
        call_starts: When each strict call was sent, ascending.
    """

    def __init__(self, recording: Recording) -> None:
        self._labels = {address(entry.url): entry.server for entry in recording.entries}
        self._calls: dict[CallKey, deque[Entry]] = defaultdict(deque)
        self._quiet: dict[CallKey, deque[Entry]] = defaultdict(deque)
        self._handshakes: dict[CallKey, list[Entry]] = defaultdict(list)
        self._known: dict[CallKey, list[Entry]] = defaultdict(list)
        self.call_starts: list[float] = []
        for entry in recording.entries:
            self._add(entry)
        self.call_starts.sort()
        self._gets = self._notices(e for e in recording.mcp if e.method == "GET")
        self._listens = self._notices(e for e in recording.mcp if e.rpc and e.rpc.method == LISTEN)
        self._walks = self._list_walks(recording.mcp)
        self._current: dict[tuple[str, str], Walk] = {}

    def _add(self, entry: Entry) -> None:
        key = self.key_of(entry)
        if entry.rpc is None:
            self._calls[key].append(entry)
        elif entry.rpc.method in HANDSHAKES:
            self._handshakes[key].append(entry)
        elif not entry.rpc.is_request:
            self._quiet[key].append(entry)
        elif not entry.rpc.is_list and entry.rpc.method != LISTEN:
            self._calls[key].append(entry)
            self._known[key].append(entry)
            self.call_starts.append(entry.start)

    def key_of(self, entry: Entry) -> CallKey:
        """The key under which a recorded entry is found."""
        if entry.rpc is not None:
            return call_key(entry.server, entry.rpc)
        return plain_key(entry.server, entry.method, entry.request_body)

    def label(self, url: str) -> str:
        """The recording's name for the server at `url`."""
        where = address(url)
        return self._labels.get(where, where)

    def take_call(self, key: CallKey) -> Entry | None:
        """The next answer to a strict call; None when there is none left."""
        return self._take(self._calls, key)

    def take_quiet(self, key: CallKey) -> Entry | None:
        """The recorded message of a client that expects no answer."""
        return self._take(self._quiet, key)

    @staticmethod
    def _take(index: Mapping[CallKey, deque[Entry]], key: CallKey) -> Entry | None:
        waiting = index.get(key)
        return waiting.popleft() if waiting else None

    def handshake(self, key: CallKey) -> Entry | None:
        """The next answer to a handshake; the last one again when all are used up."""
        waiting = self._handshakes.get(key)
        if not waiting:
            return None
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    @staticmethod
    def is_polite(rpc: Rpc) -> bool:
        """Whether an answer may be made up, since it says nothing."""
        return rpc.method in _POLITE

    def listing(self, server: str, rpc: Rpc, horizon: float) -> Entry | None:
        """The page of the listing that was current just before `horizon`."""
        at = (server, rpc.method or "")
        walks = self._walks.get(at)
        if not walks:
            return None
        cursor = rpc.params.get("cursor")
        if cursor is None:
            self._current[at] = self._walk_at(at, horizon)
        walk = self._current.get(at, walks[0])
        if (page := walk.pages.get(cursor)) is not None:
            return page
        return next((w.pages[cursor] for w in reversed(walks) if cursor in w.pages), None)

    def has_newer_listing(self, server: str, horizon: float) -> bool:
        """Whether the tools that are current just before `horizon` are not those that were asked for last."""
        at = (server, "tools/list")
        served = self._current.get(at)
        return served is not None and self._walk_at(at, horizon) is not served

    def _walk_at(self, at: tuple[str, str], horizon: float) -> Walk:
        walks = self._walks[at]
        index = bisect_left([walk.since for walk in walks], horizon)
        return walks[max(0, index - 1)]

    def notices(self, server: str, method: str) -> Notices | None:
        """What came on the server's GET streams (`method` GET) or subscriptions."""
        return (self._gets if method == "GET" else self._listens).get(server)

    def nearest(self, key: CallKey, *, limit: int = 3) -> tuple[str, ...]:
        """Recorded calls most like `key`, in words, with what differs."""
        same = [known for known in self._known if known.method == key.method]
        best = sorted(same, key=lambda known: (*likeness(key, known), known))[:limit]
        return tuple(self._in_words(key, known) for known in best)

    def _in_words(self, asked: CallKey, known: CallKey) -> str:
        numbers = ", ".join(str(entry.number) for entry in self._known[known])
        return f"entry {numbers} ({known.method} {known.subject}) {differences(asked, known)}"

    def _notices(self, streams: Iterator[Entry]) -> dict[str, Notices]:
        by_server: dict[str, list[Entry]] = defaultdict(list)
        for entry in streams:
            if entry.status == 200 and entry.body and "event-stream" in entry.content_type:
                by_server[entry.server].append(entry)
        return {server: _merged(entries) for server, entries in by_server.items()}

    def _list_walks(self, entries: Sequence[Entry]) -> dict[tuple[str, str], list[Walk]]:
        walks: dict[tuple[str, str], list[Walk]] = defaultdict(list)
        for entry in entries:
            if entry.rpc is None or not entry.rpc.is_list or not _succeeded(entry):
                continue
            cursor = entry.rpc.params.get("cursor")
            of_server = walks[entry.server, entry.rpc.method or ""]
            if cursor is None:
                of_server.append(Walk(self._since(entry, of_server)))
            if of_server:
                of_server[-1].pages.setdefault(cursor, entry)
        return dict(walks)

    def _since(self, entry: Entry, earlier: Sequence[Walk]) -> float:
        """A listing is true from the change that it answers to, when the server announced one."""
        method = f"notifications/{(entry.rpc.method if entry.rpc else '') or ''}_changed"
        after = earlier[-1].since if earlier else float("-inf")
        announced = [
            event.at
            for notices in (self._gets.get(entry.server), self._listens.get(entry.server))
            for event in (notices.events if notices else ())
            if event.message.get("method") == method and after < event.at < entry.start
        ]
        return max(announced, default=entry.start)


def plain_key(server: str, method: str, body: bytes) -> CallKey:
    """The key of a request that is no JSON-RPC message: a call of a provider's API."""
    try:
        params = json.dumps(json.loads(body), sort_keys=True)
    except (ValueError, RecursionError):
        params = json.dumps(body.decode("latin-1"))
    return CallKey(server, method, "", params if body else "")


def _succeeded(entry: Entry) -> bool:
    return entry.status < 400 and b'"result"' in entry.body


def _merged(entries: Sequence[Entry]) -> Notices:
    opening: list[Event] = []
    rest: list[Event] = []
    for number, entry in enumerate(entries):
        found = [e for e in events(entry.body, entry.start, entry.chunks) if "method" in e.message]
        if entry.rpc is not None and found:
            if number == 0:
                opening.append(found[0])
            found = found[1:]
        rest += found
    rest.sort(key=lambda event: event.at)
    return Notices(tuple(entries), tuple(opening), tuple(rest))

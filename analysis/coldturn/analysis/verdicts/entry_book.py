"""Which entries the requests of one scope wrote, where a provider reads written entries only."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from coldturn.analysis.estimates.layout import Layout
from coldturn.analysis.estimates.layout_maker import LayoutMaker
from coldturn.analysis.estimates.placement import Placed, place
from coldturn.analysis.estimates.ruleset import Parameters
from coldturn.reference.prefix.model import BlockKind, Zone
from coldturn.reference.prefix.request import PromptRequest

MOST_ENTRIES = 100_000
_HEAD = frozenset({Zone.TOOLS, Zone.SYSTEM, Zone.TAIL})


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry that a request asked for.

    Attributes:
        boundary: Index of the segment behind which it ends; `link` is the text up to there, `key` the same
            with the settings that count.
        bytes: Content up to there.
        ttl: Seconds it lives.
        block: Index in the request of the block that carries its marker; None when it stands elsewhere.
        head: Whether it ends in front of the conversation, in the tools or the system text.
    """

    boundary: int
    link: int
    key: int
    bytes: int
    ttl: float | None
    block: int | None = None
    head: bool = False


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """The longest lifetimes in seconds that requests of a lineage asked for; None where none did.

    Attributes:
        head: Of the last entry in tools and system; `history` of the last one in the conversation.
    """

    head: float | None = None
    history: float | None = None

    def of(self, entry: Entry) -> float | None:
        """What was asked for where an entry stands."""
        return self.head if entry.head else self.history


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry of an earlier request that a request looks at.

    Attributes:
        used: Its last use, epoch seconds; None when a time is missing.
        readable: When the answer to its writer began; None when unknown.
    """

    bytes: int
    used: float | None
    ttl: float | None
    readable: float | None

    def expired(self, now: float | None) -> bool:
        """Whether it had lived too long; never without times."""
        return (
            now is not None and self.used is not None and self.ttl is not None and now - self.used > self.ttl
        )

    def early(self, now: float | None) -> bool:
        """Whether nobody could read it yet."""
        return now is not None and self.readable is not None and now < self.readable


@dataclass(frozen=True, slots=True)
class Places:
    """What one request writes.

    Attributes:
        refused: Why the provider would answer 400; None when it would not.
        marked: Whether it asks for any entry, refused or not.
        reasoning: Blocks of reasoning in it that a server drops later.
        images: Whether it shows an image anywhere.
    """

    refused: str | None
    marked: bool
    entries: tuple[Entry, ...]
    reasoning: int = 0
    images: bool = False

    @property
    def deepest(self) -> Entry | None:
        """The entry that holds most; None when none is written."""
        return self.entries[-1] if self.entries else None


@dataclass(frozen=True, slots=True)
class Look:
    """Which earlier entries one request can find.

    Attributes:
        text_hit: The deepest entry that its text fits, at the places it looks at; `hit` the same with the
            settings that count.
        looked: Boundaries that it looks at.
        links: Its text up to each boundary.
    """

    text_hit: Hit | None
    hit: Hit | None
    looked: frozenset[int]
    links: Sequence[int]

    def repeats(self, entry: Entry) -> bool:
        """Whether its text goes through the end of an entry."""
        return entry.boundary < len(self.links) and self.links[entry.boundary] == entry.link


def longest_lifetimes(ttl: float | None, places: Places | None, before: Lifetimes | None) -> Lifetimes | None:
    """The longest lifetimes with those of one more request.

    Args:
        ttl: What the request asks for as a whole.
        places: Its markers; the last one in each part counts, since that entry holds what lies in front.
        before: Of the requests before it.
    """
    head = history = ttl
    for entry in places.entries if places is not None else ():
        if entry.head:
            head = entry.ttl
        else:
            history = entry.ttl
    if before is None:
        return None if head is None and history is None else Lifetimes(head, history)
    head, history = _longer(head, before.head), _longer(history, before.history)
    return before if (head, history) == (before.head, before.history) else Lifetimes(head, history)


def _longer(one: float | None, other: float | None) -> float | None:
    return one if other is None else other if one is None else max(one, other)


class EntryBook:
    """The entries of one model at one host.

    Args:
        parameters: Rules of the provider.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._layouts = LayoutMaker(parameters)
        self._by_link: OrderedDict[int, Hit] = OrderedDict()
        self._by_key: OrderedDict[int, Hit] = OrderedDict()

    def observe(
        self, request: PromptRequest, started: float | None, answered: float | None, *, served: bool = True
    ) -> tuple[Places, Look]:
        """Take the next request: what it can read of earlier ones, then what it writes.

        Args:
            request: The request.
            started: When it was sent.
            answered: When its answer began.
            served: Whether it was answered; one that was not reads and writes nothing.
        """
        layout = self._layouts.make(request)
        placed = place(request, layout, self._parameters)
        ends = list(accumulate(layout.weights))
        entries = tuple(self._entries(layout, placed, ends))
        look = Look(
            text_hit=_deepest(self._by_link, layout.links, placed),
            hit=_deepest(self._by_key, layout.keys, placed),
            looked=frozenset(placed.probes),
            links=layout.links,
        )
        if served:
            self._use(layout, placed, started)
            for entry in entries:
                self._write(entry, started, answered)
        reasoning = 0
        if self._parameters.strips_thinking:
            reasoning = sum(unit.kind is BlockKind.REASONING for unit in layout.units)
        marked = bool(placed.writes or placed.refused)
        return Places(placed.refused, marked, entries, reasoning, layout.images), look

    def _entries(self, layout: Layout, placed: Placed, ends: list[int]) -> Iterator[Entry]:
        for write in placed.writes:
            at = write.boundary
            ttl = self._parameters.ttl if write.ttl is None else write.ttl
            unit = bisect_left(layout.block_ends, at)
            head = layout.units[unit].zone in _HEAD
            yield Entry(at, layout.links[at], layout.keys[at], ends[at], ttl, layout.indices[unit], head)

    def _use(self, layout: Layout, placed: Placed, started: float | None) -> None:
        """A read starts a lifetime anew, unless it comes too late or too early."""
        for book, keys in ((self._by_link, layout.links), (self._by_key, layout.keys)):
            for boundary in placed.probes:
                held = book.get(keys[boundary])
                if held is not None and not held.expired(started) and not held.early(started):
                    used = held.used if started is None else started
                    book[keys[boundary]] = Hit(held.bytes, used, held.ttl, held.readable)

    def _write(self, entry: Entry, started: float | None, answered: float | None) -> None:
        for book, key in ((self._by_link, entry.link), (self._by_key, entry.key)):
            held = book.get(key)
            if held is not None and not held.expired(started):
                ttl = None if held.ttl is None or entry.ttl is None else max(held.ttl, entry.ttl)
                book[key] = Hit(entry.bytes, held.used if started is None else started, ttl, held.readable)
            else:
                book[key] = Hit(entry.bytes, started, entry.ttl, answered)
            book.move_to_end(key)
            if len(book) > MOST_ENTRIES:
                book.popitem(last=False)


def _deepest(book: OrderedDict[int, Hit], keys: Sequence[int], placed: Placed) -> Hit | None:
    for boundary in reversed(placed.probes):
        held = book.get(keys[boundary])
        if held is not None:
            return held
    return None

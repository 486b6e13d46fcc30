"""Which earlier requests share most with one, without a look at each: exact, by what each of them changed.

A request says what its parent says, with a few segments more or less. Those changes are listed by segment. So
what a new request shares with every earlier one is a sum of changes along the trees, and only the changes of
segments that it says itself are met: what all conversations have in common was said once, at a root.

Requests that only go on from their parents make up a chain (`lineage_chain`). A change holds for the chain
from its place on, so that requests may be let go one by one without touching it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import NamedTuple

from coldturn.reference.prefix.difference import common_elements, extends
from coldturn.reference.prefix.elements import Content
from coldturn.reference.prefix.lineage_chain import Chain, Values
from coldturn.reference.prefix.lineage_node import Node
from coldturn.reference.prefix.request import PromptRequest

_GROWTH = 100_000
"""Changes up to which the index may grow before it is built anew; later on it may double."""
_MOST_EMPTY = 200
"""Chains of which nothing is kept, likewise."""
_FEW = 8
"""Chains whose nodes are looked at one by one: up to so many looks cost less than sums of all changes."""


class _Change(NamedTuple):
    """How often a segment is said from `at` on, and how often before."""

    chain: Chain
    at: int
    before: int
    since: int


class LineageIndex:
    """Segment digest -> where in the trees the number of its occurrences changes.

    Args:
        nodes: The nodes that are kept, parents before their children.
    """

    def __init__(self, nodes: Callable[[], Iterable[Node]]) -> None:
        self._nodes = nodes
        self._changes: dict[bytes, _Change | list[_Change]] = {}
        self._chains: dict[int, Chain] = {}
        self._count = 0
        self._empty = 0
        self._limit = 0
        self._limit_empty = 0
        self._build()

    def add(self, node: Node) -> None:
        """Note what a node says more or less often than its parent."""
        self._add(node)
        if self._count > self._limit:
            self._build()

    def release(self, node: Node) -> None:
        """Let a node go; what it changed still holds for those behind it."""
        chain = self._chains.pop(node.index)
        chain.remove(node)
        if not chain.members:
            self._empty += 1
            chain.leave()

    def guess(self, request: PromptRequest) -> Node | None:
        """A node that may share much: the last of the chain that alone says what the request ends with."""
        for digest, _ in _segments(reversed(request.contents)):
            change = self._changes.get(digest)
            if isinstance(change, _Change) and change.chain.members:
                return change.chain.members[-1]
        return None

    def rivals(self, request: PromptRequest, least: int) -> list[Node] | None:
        """The nodes that may be best of those that share at least so many bytes; None when these are many.

        Such a node lacks no more than the rest of the request. So of any segments that are more than that
        together it says one; those that few chains say and that stand near the end tell most.
        """
        missing = request.content_bytes - least
        chains: dict[Chain, None] = {}
        told = set[bytes]()
        for digest, size in _segments(reversed(request.contents)):
            changes = self._few_changes(digest)
            if not changes or digest in told:
                continue
            told.add(digest)
            missing -= size
            _add_saying(changes, chains)
            if len(chains) > _FEW:
                return None
            if missing < 0:
                return [node for one in chains if one.members for node in _foremost(one.members, request)]
        return None

    def _few_changes(self, digest: bytes) -> Sequence[_Change]:
        """The changes of a segment; none when they are many."""
        found = self._changes.get(digest, ())
        if isinstance(found, _Change):
            return (found,)
        return found if len(found) <= _FEW else ()

    def best(self, request: PromptRequest, least: int) -> tuple[int, list[Node]]:
        """Content bytes that a request shares with those nodes that share most with it, and such nodes.

        Nodes that share less than `least` are not looked for. Of nodes in one chain that share the same only
        those are given that repeat most from the start: the latest that the request repeats in full, and the
        latest of all.
        """
        if self._empty > self._limit_empty:
            self._build()
        values = Values(self._gains(request))
        most, found = 0, list[Node]()
        for run in values.runs(max(least, 1)):
            if run.value < most:
                break
            for members in values.members(run):
                most = run.value
                found += _foremost(members, request)
        return most, found

    def _gains(self, request: PromptRequest) -> dict[Chain, dict[int, int]]:
        """By chain and place: bytes that are shared from there on and were not before."""
        sizes: dict[bytes, int] = {}
        counts: dict[bytes, int] = {}
        for digest, size in _segments(request.contents):
            sizes[digest] = size
            counts[digest] = counts.get(digest, 0) + 1
        gains = defaultdict[Chain, dict[int, int]](dict)
        changes_of = self._changes.get
        for digest, count in counts.items():
            found = changes_of(digest)
            if found is None:
                continue
            for chain, at, before, since in found if isinstance(found, list) else (found,):
                if (before < count or since < count) and not chain.gone:
                    gain = min(count, since) - min(count, before)
                    own = gains[chain]
                    own[at] = own.get(at, 0) + gain * sizes[digest]
        return gains

    def _add(self, node: Node) -> None:
        parent = node.parent
        goes_on = parent is not None and extends(parent.request, node.request)
        above = None if parent is None else self._chains[parent.index]
        if (
            above is not None
            and parent is not None
            and goes_on
            and above.last == parent.index
            and parent.identity == node.identity
        ):
            chain = above
        else:
            chain = Chain(node.index, above, parent.index if parent is not None else -1)
        chain.append(node)
        self._chains[node.index] = chain
        once = _Change(chain, node.index, 0, 1)
        for digest, before, since in self._changed(parent, node, goes_on=goes_on):
            self._note(
                digest, once if (before, since) == (0, 1) else once._replace(before=before, since=since)
            )

    def _note(self, digest: bytes, change: _Change) -> None:
        self._count += 1
        known = self._changes.setdefault(digest, change)
        if isinstance(known, list):
            known.append(change)
        elif known is not change:
            self._changes[digest] = [known, change]

    def _changed(self, parent: Node | None, node: Node, *, goes_on: bool) -> Iterator[tuple[bytes, int, int]]:
        """Segments that a node says more or less often than its parent: how often the parent, and itself."""
        if parent is None:
            for digest, count in _counted(node.request.contents).items():
                yield digest, 0, count
            return
        was, now = parent.request.contents, node.request.contents
        if goes_on:
            added = _counted(now[len(was) :])
            known = added.keys() & self._changes.keys()
            said = _counted(was, known) if known else {}
            for digest, count in added.items():
                before = said.get(digest, 0)
                yield digest, before, before + count
            return
        old, new = Counter(was), Counter(now)
        less, more = _counted((old - new).elements()), _counted((new - old).elements())
        touched = less.keys() | more.keys()
        said = _counted(was, touched)
        for digest in touched:
            before = said.get(digest, 0)
            since = before + more.get(digest, 0) - less.get(digest, 0)
            if before != since:
                yield digest, before, since

    def _build(self) -> None:
        self._changes.clear()
        self._chains.clear()
        self._count = self._empty = 0
        for node in self._nodes():
            self._add(node)
        self._limit = max(_GROWTH, 2 * self._count)
        self._limit_empty = max(_MOST_EMPTY, len({id(one) for one in self._chains.values()}))


def _add_saying(changes: Sequence[_Change], chains: dict[Chain, None]) -> None:
    """Add the chains in which a segment is said somewhere; when there are many, not all."""
    places = {(one.chain, one.at): one.since for one in changes}
    waiting = [(one.chain, one.at) for one in changes if one.since > one.before]
    for chain, place in waiting:
        chains[chain] = None
        if len(chains) > _FEW:
            return
        waiting += [
            (one, one.first) for one in chain.below if one.at >= place and places.get((one, one.first)) != 0
        ]


def _foremost(members: Sequence[Node], request: PromptRequest) -> Iterator[Node]:
    """Of nodes each of which goes on from the one before: those that may repeat most from the start."""
    latest = members[-1]
    common = common_elements(latest.request, request)
    whole = bisect_right(members, common, key=_elements)
    if 0 < whole < len(members):
        yield members[whole - 1]
    yield latest


def _elements(node: Node) -> int:
    return len(node.request.contents)


def _counted(contents: Iterable[Content], wanted: Container[bytes] | None = None) -> dict[bytes, int]:
    counts: dict[bytes, int] = {}
    for digest, _ in _segments(contents):
        if wanted is None or digest in wanted:
            counts[digest] = counts.get(digest, 0) + 1
    return counts


def _segments(contents: Iterable[Content]) -> Iterator[tuple[bytes, int]]:
    for content in contents:
        for facts in content.facts:
            for segment in facts.segments:
                yield segment.digest, segment.end - segment.start

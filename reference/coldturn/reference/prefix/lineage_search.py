"""The search for a request's parent: exact, and mostly one look at the latest leaf."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TypeAlias

from coldturn.reference.prefix.continuation import TRIVIAL_BYTES, says_again
from coldturn.reference.prefix.difference import common_elements, extends
from coldturn.reference.prefix.lineage_digests import Digests
from coldturn.reference.prefix.lineage_index import Identity, LineageIndex, same_ids
from coldturn.reference.prefix.lineage_node import Forgotten, Node
from coldturn.reference.prefix.lineage_store import Pool
from coldturn.reference.prefix.model import Block
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.prefix.shared import SMALL, Profile, alike_bytes, repeats_messages

__all__ = ["Identity", "Search"]

LEAST_SHARED = 0.2
"""Of the smaller request; below it a request starts a lineage of its own."""
LEAST_ALIKE = 0.5
"""The same for small prompts, whose few segments an edit can all touch, in common ends of blocks."""
_MOST_ALIKE = 20
MOST_LOOKS = 12
"""A search that took more is the last one without an index: up to so many looks cost less."""
MOST_STEPS = 100
"""The same for steps up the trees, of which most need no look."""

Rank: TypeAlias = tuple[int, tuple[bool, ...], bool, int]


class Search:
    """Looks for the parent of one request; bounds spare most looks, and change nothing about the answer."""

    def __init__(self, request: PromptRequest, identity: Identity) -> None:
        self._request = request
        self._identity = identity
        self._profile: Profile | None = None
        self._seen: dict[int, int] = {}
        self._best: Node | None = None
        self._rank: Rank | None = None
        self._shared = 0
        self._steps = 0

    def among(self, pool: Pool, forgotten: Digests) -> tuple[Node | Forgotten | None, int]:
        """The best parent, or None, and bytes of equal segments that both surely share.

        Args:
            pool: The nodes of a key.
            forgotten: Requests of the key of which digests are left.
        """
        if pool.index is None:
            for leaf in pool.latest_leaves():
                self._climb(leaf)
            if len(self._seen) > MOST_LOOKS or self._steps > MOST_STEPS:
                pool.build_index()
        elif not self._goes_on_from(next(pool.latest_leaves(), None), pool.largest):
            self._take_best(pool.index)
        best: Node | Forgotten | None = self._best
        if self._best is not None and (since := self._repeated_since(self._best, pool)) is not None:
            return since, since.size
        if not (self._best and extends(self._best.request, self._request)):
            best = self._forgotten(forgotten) or best
        if best is not None and self._shared >= LEAST_SHARED * min(best.size, self._request.content_bytes):
            return best, self._shared
        return self._alike(pool.latest_leaves()), 0

    def _repeated_since(self, best: Node, pool: Pool) -> Node | None:
        """A later request that is repeated in full, as far as `best` or further, whose own turn was given up.

        A retry that failed, or an attempt that a program took back, shares its canned texts with whatever
        follows: more bytes than the request that is really gone on with, and nothing that the model wrote.
        """
        common = common_elements(best.request, self._request)
        if common == len(best.request.contents):
            return None
        prefix = best.request.totals.bytes[common]
        if pool.index is not None:
            found = pool.index.repeated(self._request, prefix, best.index)
        else:
            found = self._repeated(pool, prefix, best.index)
        return None if found is None or self._goes_on_with(best, common) else found

    def _repeated(self, pool: Pool, least: int, behind: int) -> Node | None:
        """What `LineageIndex.repeated` finds."""
        found = None
        for node in reversed(pool.nodes.values()):
            if node.index <= behind:
                break
            if node.size >= least and self._ends_like(node) and extends(node.request, self._request):
                found, least = node, node.size + 1
        return found

    def _ends_like(self, node: Node) -> bool:
        """Whether a node's last element stands in the request too where it would if all of it did."""
        last = len(node.request.contents) - 1
        mine = self._request.contents
        return 0 <= last < len(mine) and mine[last] is node.request.contents[last]

    def _goes_on_with(self, node: Node, common: int) -> bool:
        was, now = (
            list(one.lazy_blocks.of_elements(common, len(one.contents)))
            for one in (node.request, self._request)
        )
        again = says_again(was, now)
        return _say_the_same(was, now) if again is None else again

    def _climb(self, leaf: Node) -> None:
        """Look at a leaf and at those of its ancestors that may be best.

        An ancestor shares at most what its child shares, and what the child lacks of it.
        """
        node, bound = leaf, self._look(leaf, leaf.size)
        while node.parent is not None:
            least = self._shared
            if node.largest_above < least or bound + node.missing_above < least:
                return
            self._steps += 1
            bound = self._look(node.parent, bound + node.missing)
            node = node.parent

    def _take_best(self, index: LineageIndex) -> None:
        """The best of all nodes: one of the few that may be, or of those that share most by the index."""
        guess = index.guess(self._request)
        if guess is not None:
            self._look(guess, guess.size)
        few = index.rivals(self._request, self._shared)
        if few is not None:
            for node in few:
                self._look(node, node.size)
            return
        self._shared, found = index.best(self._request, self._identity)
        self._best = max(found, key=self._ranked, default=None)
        self._rank = None

    def _look(self, node: Node, bound: int) -> int:
        """At most how much the node shares, `bound` or less; it becomes the best when that is most."""
        bound = min(bound, node.size)
        if bound < self._shared or node.index in self._seen:
            return min(bound, self._seen.get(node.index, bound))
        if bound == self._shared and not self._may_win_tie(node):
            return bound
        shared = self._seen[node.index] = self._measure(node)
        if shared > self._shared:
            self._best, self._shared, self._rank = node, shared, None
        elif shared == self._shared and shared:
            rank = self._ranked(node)
            if rank > self._best_rank():
                self._best, self._rank = node, rank
        return shared

    def _measure(self, node: Node) -> int:
        if extends(node.request, self._request):
            return node.size
        if self._profile is None:
            self._profile = Profile(self._request)
        return self._profile.shared_bytes(node.request)

    def _best_rank(self) -> Rank:
        """Ties go to the longest prefix, to equal ids, to what is repeated in full, to the latest."""
        if self._rank is None:
            self._rank = self._ranked(self._best) if self._best else (0, (), False, -1)
        return self._rank

    def _ranked(self, node: Node) -> Rank:
        common = common_elements(node.request, self._request)
        prefix = node.request.totals.bytes[common]
        return (
            prefix,
            same_ids(node.identity, self._identity),
            common == len(node.request.contents),
            node.index,
        )

    def _may_win_tie(self, node: Node) -> bool:
        """Whether a node that shares no more than the best could still rank above it."""
        same = same_ids(node.identity, self._identity)
        return (self._shared, same, node.size == self._shared, node.index) > self._best_rank()

    def _goes_on_from(self, latest: Node | None, largest: int) -> bool:
        """Whether the latest leaf is repeated and wins against any node of at most that size."""
        if latest is None or not extends(latest.request, self._request):
            return False
        self._look(latest, latest.size)
        known = tuple(one is not None for one in self._identity)
        return self._shared >= largest and self._best_rank()[:3] == (self._shared, known, True)

    def _forgotten(self, forgotten: Digests) -> Forgotten | None:
        """The forgotten request that shares more than any that is kept, or None."""
        best = None
        for one in forgotten.sharing_more(self._request, self._shared):
            profile = self._profile = self._profile or Profile(self._request)
            shared = profile.shared_with_digests(one.digests)
            if shared > self._shared:
                best, self._shared = one, shared
        return best

    def _alike(self, leaves: Iterable[Node]) -> Node | None:
        """A parent of a small prompt by what its blocks have in common at their ends."""
        best, most = None, 0
        for leaf in islice(leaves, _MOST_ALIKE):
            smaller = min(leaf.size, self._request.content_bytes)
            if smaller <= SMALL:
                alike = alike_bytes(leaf.request, self._request)
                enough = alike >= LEAST_ALIKE * smaller or repeats_messages(leaf.request, self._request)
                if alike > most and enough:
                    best, most = leaf, alike
        return best


def _say_the_same(was: Iterable[Block], now: Iterable[Block]) -> bool:
    """Whether both hold a segment that is long enough to tell."""
    old, new = (
        {
            segment.digest
            for block in blocks
            for segment in block.facts.segments
            if segment.end - segment.start >= TRIVIAL_BYTES
        }
        for blocks in (was, now)
    )
    return not old.isdisjoint(new)

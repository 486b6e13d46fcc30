"""The search for a request's parent: exact, and mostly one look at the latest leaf."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import TypeAlias

from coldturn.reference.prefix.difference import common_elements, extends
from coldturn.reference.prefix.lineage_store import Forgotten, Node
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.prefix.shared import SMALL, Profile, alike_bytes

LEAST_SHARED = 0.2
"""Of the smaller request; below it a request starts a lineage of its own."""
LEAST_ALIKE = 0.5
"""The same for small prompts, whose few segments an edit can all touch, in common ends of blocks."""
_MOST_ALIKE = 20

Identity: TypeAlias = tuple[Hashable, ...]
Rank: TypeAlias = tuple[int, tuple[bool, ...], bool, int]


class Search:
    """Looks for the parent of one request.

    Nodes are looked at from the leaves upwards. Two bounds spare most of them: no node shares more than it
    has, and no more than what a child of its shares and what that child lacks of it.
    """

    def __init__(self, request: PromptRequest, identity: Identity) -> None:
        self._request = request
        self._identity = identity
        self._profile: Profile | None = None
        self._seen: dict[int, int] = {}
        self._best: Node | None = None
        self._rank: Rank | None = None
        self._shared = 0

    def among(
        self, leaves: Sequence[Node], forgotten: Collection[Forgotten]
    ) -> tuple[Node | Forgotten | None, int]:
        """The best parent, or None, and the bytes that both share.

        Args:
            leaves: The latest first; their ancestors are looked at too.
            forgotten: Requests of which digests are left, the latest first.
        """
        for leaf in leaves:
            self._climb(leaf)
        best: Node | Forgotten | None = self._best
        if forgotten and not (self._best and extends(self._best.request, self._request)):
            best = self._forgotten(forgotten) or best
        if best is not None and self._shared >= LEAST_SHARED * min(best.size, self._request.content_bytes):
            return best, self._shared
        return self._alike(leaves)

    def _climb(self, leaf: Node) -> None:
        """Look at a leaf and at those of its ancestors that may share as much as the best so far."""
        bound = self._look(leaf)
        node = leaf
        while node.parent is not None:
            least = self._shared
            if node.largest_above < least or bound + node.missing_above < least:
                return
            bound = min(node.parent.size, bound + node.missing)
            node = node.parent
            if bound >= least:
                bound = self._look(node)

    def _look(self, node: Node) -> int:
        """At most how much the node shares; it becomes the best when that is most."""
        if node.size < self._shared:
            return node.size
        shared = self._seen.get(node.index)
        if shared is None:
            shared = self._seen[node.index] = self._measure(node)
            if shared > self._shared:
                self._best, self._shared, self._rank = node, shared, None
            elif shared == self._shared and self._best is not None:
                self._settle(node)
        return shared

    def _measure(self, node: Node) -> int:
        if extends(node.request, self._request):
            return node.size
        if self._profile is None:
            self._profile = Profile(self._request)
        return self._profile.shared_bytes(node.request)

    def _settle(self, node: Node) -> None:
        """Of two that share equally much: longest prefix, equal ids, nothing left behind, the latest."""
        if self._rank is None and self._best is not None:
            self._rank = self._ranked(self._best)
        rank = self._ranked(node)
        if self._rank is None or rank > self._rank:
            self._best, self._rank = node, rank

    def _ranked(self, node: Node) -> Rank:
        common = common_elements(node.request, self._request)
        prefix = sum(one.size for one in node.request.contents[:common])
        pairs = zip(node.identity, self._identity, strict=True)
        same = tuple(mine is not None and mine == other for mine, other in pairs)
        return prefix, same, common == len(node.request.contents), node.index

    def _forgotten(self, forgotten: Collection[Forgotten]) -> Forgotten | None:
        """The forgotten request that shares more than any that is kept, or None."""
        profile = self._profile = self._profile or Profile(self._request)
        best = None
        for one in forgotten:
            if one.size > self._shared:
                shared = profile.shared_with_digests(one.digests)
                if shared > self._shared:
                    best, self._shared = one, shared
        return best

    def _alike(self, leaves: Sequence[Node]) -> tuple[Node | None, int]:
        """A parent of a small prompt by what its blocks have in common at their ends."""
        best, most = None, 0
        for leaf in leaves[:_MOST_ALIKE]:
            smaller = min(leaf.size, self._request.content_bytes)
            if smaller <= SMALL:
                alike = alike_bytes(leaf.request, self._request)
                if alike > most and alike >= LEAST_ALIKE * smaller:
                    best, most = leaf, alike
        return best, most

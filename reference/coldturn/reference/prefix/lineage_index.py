"""Where in the trees a request's segments come from: spares a look at each of many earlier requests.

A segment comes from the one node that says it and whose parent does not, or it is common. So with a request
that it has no common segment with, a node shares at most what comes from the node itself and its ancestors.
What is let go only makes such a bound too high for a while, never too low.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from coldturn.reference.prefix.elements import Content
from coldturn.reference.prefix.lineage_node import Node
from coldturn.reference.prefix.request import PromptRequest

_COMMON, _NOBODY = -1, -2
_GROWTH = 100_000
"""Segments up to which the index may grow before it is built anew; later on it may double."""


class LineageIndex:
    """Segment digest -> index of the node that it comes from.

    Args:
        nodes: The nodes that are kept, parents before their children.
    """

    def __init__(self, nodes: Callable[[], Iterable[Node]]) -> None:
        self._nodes = nodes
        self._origins: dict[bytes, int] = {}
        self._heirs: dict[int, int] = {}
        self._limit = _GROWTH
        self._build()

    def add(self, node: Node) -> None:
        """Note what a node says that its parent does not."""
        said = frozenset(node.parent.request.contents) if node.parent is not None else frozenset()
        new = (one for one in node.request.contents if one not in said)
        origins, index = self._origins, node.index
        for digest, _ in _segments(new):
            if origins.setdefault(digest, index) != index:
                origins[digest] = _COMMON
        if len(origins) > self._limit:
            self._build()

    def release(self, node: Node) -> None:
        """A node that is let go leaves its segments to its only child or its parent, or they are common."""
        if not node.children:
            self._heirs[node.index] = _NOBODY
        elif len(node.children) == 1:
            self._heirs[node.index] = node.children[0].index
        else:
            self._heirs[node.index] = node.parent.index if node.parent is not None else _COMMON

    def bounds(self, request: PromptRequest) -> tuple[int, dict[int, int]]:
        """Content bytes that a request may share with any node, and by node those that come from it."""
        sizes: dict[int, int] = {}
        origin_of = self._origins.get
        for digest, size in _segments(request.contents):
            origin = origin_of(digest)
            if origin is not None:
                sizes[origin] = sizes.get(origin, 0) + size
        common = 0
        own: dict[int, int] = {}
        for origin, size in sizes.items():
            heir = self._heir(origin)
            if heir == _COMMON:
                common += size
            elif heir != _NOBODY:
                own[heir] = own.get(heir, 0) + size
        return common, own

    def _heir(self, origin: int) -> int:
        while origin in self._heirs:
            origin = self._heirs[origin]
        return origin

    def _build(self) -> None:
        self._origins.clear()
        self._heirs.clear()
        self._limit = 1 << 62
        for node in self._nodes():
            self.add(node)
        self._limit = max(_GROWTH, 2 * len(self._origins))


def _segments(contents: Iterable[Content]) -> Iterator[tuple[bytes, int]]:
    for content in contents:
        for facts in content.facts:
            for segment in facts.segments:
                yield segment.digest, segment.end - segment.start

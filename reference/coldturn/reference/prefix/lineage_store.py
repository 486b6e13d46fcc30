"""What `lineage` keeps of earlier requests, and what it lets go."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field

from coldturn.reference.prefix.difference import extends
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.prefix.shared import element_digests

MOST_FORGOTTEN = 1000
MOST_RESPONSES = 10_000


@dataclass(slots=True, eq=False)
class Node:
    """A request that is kept.

    Attributes:
        identity: Conversation, model and cache key, each None when unknown.
        missing: Content bytes of the parent that this request lacks.
        missing_above: The same, summed up to the root. No ancestor shares more with a third request than this
            node shares with it, and that.
        largest_above: Content bytes of the largest ancestor.
        own_bytes: Content bytes that the parent does not hold already.
    """

    index: int
    key: Hashable
    request: PromptRequest
    lineage: str
    identity: tuple[Hashable, ...]
    response_id: str | None
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)
    missing: int = 0
    missing_above: int = 0
    largest_above: int = 0
    own_bytes: int = 0

    def __post_init__(self) -> None:
        self.own_bytes = self.request.content_bytes

    @property
    def size(self) -> int:
        """Content bytes."""
        return self.request.content_bytes

    def continues(self, parent: Node, shared: int) -> None:
        """Hang the node below `parent`, with which it shares that many bytes."""
        self.parent = parent
        parent.children.append(self)
        self.missing = parent.size - shared
        self.missing_above = parent.missing_above + self.missing
        self.largest_above = max(parent.size, parent.largest_above)
        if extends(parent.request, self.request):
            self.own_bytes = self.size - parent.size
        else:
            held = frozenset(parent.request.contents)
            self.own_bytes = sum(one.size for one in self.request.contents if one not in held)

    def release(self) -> None:
        """Take the node out of its tree."""
        for child in self.children:
            child.parent = None
        if self.parent is not None:
            self.parent.children.remove(self)
        self.parent = None
        self.children.clear()


@dataclass(frozen=True, slots=True, eq=False)
class Forgotten:
    """A request of which only digests are left."""

    index: int
    lineage: str
    size: int
    digests: array[int]


class Store:
    """Nodes by key and response id: the most recent leaves, the most recent inner ones, digests of others."""

    def __init__(self, most_leaves: int, most_inner: int, most_bytes: int) -> None:
        self._most_leaves = most_leaves
        self._most_inner = most_inner
        self._most_bytes = most_bytes
        self._bytes = 0
        self._leaves: OrderedDict[int, Node] = OrderedDict()
        self._inner: OrderedDict[int, Node] = OrderedDict()
        self._leaves_by_key: dict[Hashable, dict[int, Node]] = {}
        self._forgotten: OrderedDict[int, tuple[Hashable, Forgotten]] = OrderedDict()
        self._responses: OrderedDict[tuple[Hashable, str], Node | Forgotten] = OrderedDict()

    def add(self, node: Node) -> None:
        """Keep a node that already hangs where it belongs, and let go what is too much."""
        if node.parent is not None:
            self._now_inner(node.parent)
        self._leaves[node.index] = node
        self._leaves_by_key.setdefault(node.key, {})[node.index] = node
        self._bytes += node.own_bytes
        if node.response_id is not None:
            self._responses[node.key, node.response_id] = node
            if len(self._responses) > MOST_RESPONSES:
                self._responses.popitem(last=False)
        self._trim()

    def leaves_of(self, key: Hashable) -> Sequence[Node]:
        """Leaves of a key, the latest first."""
        return tuple(reversed(self._leaves_by_key.get(key, {}).values()))

    def forgotten_of(self, key: Hashable) -> Collection[Forgotten]:
        """What is left of older requests of a key, the latest first."""
        if not self._forgotten:
            return ()
        return [one for own, one in reversed(self._forgotten.values()) if own == key]

    def of_response(self, key: Hashable, response_id: str) -> Node | Forgotten | None:
        """The request that got that response."""
        return self._responses.get((key, response_id))

    def _now_inner(self, node: Node) -> None:
        if self._leaves.pop(node.index, None) is not None:
            del self._leaves_by_key[node.key][node.index]
        self._inner[node.index] = node
        self._inner.move_to_end(node.index)

    def _trim(self) -> None:
        while len(self._inner) > self._most_inner or (self._inner and self._bytes > self._most_bytes):
            self._forget(self._inner.popitem(last=False)[1])
        while len(self._leaves) > self._most_leaves or (
            len(self._leaves) > 1 and self._bytes > self._most_bytes
        ):
            node = self._leaves.popitem(last=False)[1]
            del self._leaves_by_key[node.key][node.index]
            self._forget(node)

    def _forget(self, node: Node) -> None:
        node.release()
        self._bytes -= node.own_bytes
        left = Forgotten(node.index, node.lineage, node.size, element_digests(node.request))
        self._forgotten[node.index] = (node.key, left)
        if len(self._forgotten) > MOST_FORGOTTEN:
            self._forgotten.popitem(last=False)
        if node.response_id is not None and (node.key, node.response_id) in self._responses:
            self._responses[node.key, node.response_id] = left

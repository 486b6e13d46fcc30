"""What `lineage` keeps of earlier requests, and what it lets go."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator

from coldturn.reference.prefix.difference import extends
from coldturn.reference.prefix.lineage_digests import Digests
from coldturn.reference.prefix.lineage_index import LineageIndex
from coldturn.reference.prefix.lineage_node import Forgotten, Node

MOST_FORGOTTEN = 1000
MOST_NAMES = 10_000


class Pool:
    """The nodes of one key, parents before their children; with an index once searches need one.

    Attributes:
        largest: Content bytes of the largest node there was.
    """

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        self.index: LineageIndex | None = None
        self.largest = 0
        self._leaves: dict[int, Node] = {}

    def add(self, node: Node) -> None:
        """Keep a node that already hangs where it belongs."""
        self.nodes[node.index] = self._leaves[node.index] = node
        self.largest = max(self.largest, node.size)
        if node.parent is not None:
            self._leaves.pop(node.parent.index, None)
        if self.index is not None:
            self.index.add(node)

    def build_index(self) -> None:
        """Have an index from now on."""
        self.index = LineageIndex(self.nodes.values())

    def release(self, node: Node) -> Node | None:
        """Let a node go; returns its parent when that is left without any child."""
        if self.index is not None:
            self.index.release(node)
        del self.nodes[node.index]
        self._leaves.pop(node.index, None)
        parent = node.parent
        node.release()
        return None if parent is None or parent.children else parent

    def latest_leaves(self) -> Iterator[Node]:
        """The leaves, the latest first."""
        return reversed(self._leaves.values())


class Store:
    """Nodes by key and response id: the most recent leaves, the most recent inner ones, digests of others."""

    def __init__(self, most_leaves: int, most_inner: int, most_bytes: int) -> None:
        self._most_leaves = most_leaves
        self._most_inner = most_inner
        self._most_bytes = most_bytes
        self._bytes = 0
        self._leaves: OrderedDict[int, Node] = OrderedDict()
        self._inner: OrderedDict[int, Node] = OrderedDict()
        self._pools: dict[Hashable, Pool] = {}
        self._forgotten: OrderedDict[int, tuple[Hashable, Forgotten]] = OrderedDict()
        self._digests: dict[Hashable, Digests] = {}
        self._named: OrderedDict[tuple[Hashable, str], Node | Forgotten] = OrderedDict()

    def add(self, node: Node) -> None:
        """Keep a node that already hangs where it belongs, and let go what is too much."""
        if node.parent is not None:
            self._now_inner(node.parent)
        self._leaves[node.index] = node
        self.pool(node.key).add(node)
        self._bytes += node.own_bytes
        for name in node.names:
            self._named[node.key, name] = node
            self._named.move_to_end((node.key, name))
            if len(self._named) > MOST_NAMES:
                self._named.popitem(last=False)
        self._trim()

    def pool(self, key: Hashable) -> Pool:
        """The nodes of a key."""
        pool = self._pools.get(key)
        if pool is None:
            pool = self._pools[key] = Pool()
        return pool

    def forgotten_of(self, key: Hashable) -> Digests:
        """What is left of older requests of a key."""
        digests = self._digests.get(key)
        if digests is None:
            digests = self._digests[key] = Digests()
        return digests

    def named(self, key: Hashable, name: str) -> Node | Forgotten | None:
        """The request that got the response of that id, or the latest one in the conversation of that id."""
        return self._named.get((key, name))

    def _now_inner(self, node: Node) -> None:
        self._leaves.pop(node.index, None)
        self._inner[node.index] = node
        self._inner.move_to_end(node.index)

    def _trim(self) -> None:
        while len(self._inner) > self._most_inner or (self._inner and self._bytes > self._most_bytes):
            node = self._inner.popitem(last=False)[1]
            if not any(extends(node.request, child.request) for child in node.children):
                self._keep_digests(node)
            self._let_go(node)
        while len(self._leaves) > self._most_leaves or (
            len(self._leaves) > 1 and self._bytes > self._most_bytes
        ):
            self._let_go_branch(self._leaves.popitem(last=False)[1])

    def _let_go_branch(self, leaf: Node) -> None:
        """Let a leaf go, and what only it continued: its digests tell of all of them."""
        self._keep_digests(leaf)
        parent = self._let_go(leaf)
        while parent is not None:
            del self._inner[parent.index]
            parent = self._let_go(parent)

    def _keep_digests(self, node: Node) -> None:
        one = Forgotten.of(node)
        self._forgotten[node.index] = node.key, one
        self.forgotten_of(node.key).add(one)
        if len(self._forgotten) > MOST_FORGOTTEN:
            key, oldest = self._forgotten.popitem(last=False)[1]
            self.forgotten_of(key).remove(oldest)

    def _let_go(self, node: Node) -> Node | None:
        """Let a node go; returns its parent when nothing continues that any more."""
        self._bytes -= node.own_bytes
        for name in node.names:
            if self._named.get((node.key, name)) is node:
                self._named[node.key, name] = Forgotten.of(node)
        return self._pools[node.key].release(node)

"""Lineages: which earlier request a request continues. A tree, since sessions fork, retry and branch off.

The parent is the earlier request that shares most segment bytes, whatever their order: an early break does
not hide it. Ids, model and cache key only settle ties, else a change of them could not be found.

What is kept: a request without its raw bytes costs little, since what it says is held once for all that say
it. So besides the most recent leaves the most recent inner requests stay too, and a fork or a retry finds the
request that it left from. Of older ones only digests stay for a while, to say that a parent was evicted.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from xxhash import xxh3_128

from coldturn.reference.prefix.difference import common_elements
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.prefix.shared import Profile

LEAST_SHARED = 0.2
"""Of the smaller request; below it a request starts a lineage of its own."""
MOST_LEAVES = 1000
MOST_INNER = 1000


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a request stands among those placed before it.

    Attributes:
        index: How many requests were placed before it.
        parent: The request it continues, without its raw bytes; None when there is none, or it is evicted.
        lineage: Name of its tree: equal input gives equal names.
        evicted: There is a parent (`parent_index`), but what it said is no longer kept.
    """

    index: int
    parent: PromptRequest | None
    parent_index: int | None
    lineage: str
    evicted: bool


@dataclass(slots=True, eq=False)
class _Node:
    """A request that is kept.

    Attributes:
        missing: Content bytes of the parent that this request lacks.
        missing_above: The same, summed up to the root: no ancestor shares more with a third request than this
            node does, and that.
        largest_above: Content bytes of the largest ancestor.
    """

    index: int
    key: Hashable
    request: PromptRequest
    lineage: str
    identity: tuple[Hashable, ...]
    response_id: str | None
    parent: _Node | None
    missing: int = 0
    missing_above: int = 0
    largest_above: int = 0
    children: int = 0


@dataclass(slots=True)
class _Best:
    node: _Node
    shared: int
    rank: tuple[object, ...] | None = None


class Lineages:
    """Places requests in the order in which they were sent."""

    def __init__(self, *, most_leaves: int = MOST_LEAVES, most_inner: int = MOST_INNER) -> None:
        self._most_leaves = most_leaves
        self._most_inner = most_inner
        self._count = 0
        self._leaves: OrderedDict[int, _Node] = OrderedDict()
        self._inner: OrderedDict[int, _Node] = OrderedDict()
        self._by_key: dict[Hashable, dict[int, _Node]] = {}
        self._by_response: dict[tuple[Hashable, str], _Node] = {}

    def place(
        self,
        request: PromptRequest,
        *,
        key: Hashable = None,
        response_id: str | None = None,
        conversation: str | None = None,
        cache_key: str | None = None,
    ) -> Placement:
        """Find a request's parent and remember the request.

        Args:
            request: The request; its body is not kept.
            key: What candidates must share besides provider and surface, such as the source.
            response_id: Id of the response it got, which a later `previous_response_id` may name.
            conversation: Conversation id, when known.
            cache_key: Cache key; that of the body when None.
        """
        key = (key, request.provider, request.surface)
        identity = (conversation, request.model, cache_key or request.settings.get("prompt_cache_key"))
        parent = self._named(request, key) or self._best(request, key, identity)
        node = _Node(
            index=self._count,
            key=key,
            request=request.without_body(),
            lineage=parent.lineage if parent else _name(request, self._count),
            identity=identity,
            response_id=response_id,
            parent=parent,
        )
        self._count += 1
        self._remember(node, parent)
        return Placement(
            node.index,
            parent.request if parent else None,
            parent.index if parent else None,
            node.lineage,
            evicted=False,
        )

    def _named(self, request: PromptRequest, key: Hashable) -> _Node | None:
        if request.previous_response_id is None:
            return None
        return self._by_response.get((key, request.previous_response_id))

    def _best(self, request: PromptRequest, key: Hashable, identity: tuple[Hashable, ...]) -> _Node | None:
        profile = Profile(request.contents, request.content_bytes)
        best: _Best | None = None
        for node in self._candidates(key):
            least = best.shared if best else 1
            if node.request.content_bytes < least:
                continue
            shared = profile.shared_bytes(node.request.contents, node.request.content_bytes)
            if shared < least:
                continue
            if best is None or shared > best.shared:
                best = _Best(node, shared)
            else:
                best.rank = best.rank or _rank(best.node, request, identity)
                rank = _rank(node, request, identity)
                if rank > best.rank:
                    best = _Best(node, shared, rank)
        if best is None:
            return None
        smaller = min(best.node.request.content_bytes, request.content_bytes)
        return best.node if best.shared >= LEAST_SHARED * smaller else None

    def _candidates(self, key: Hashable) -> Iterator[_Node]:
        return reversed(self._by_key.get(key, {}).values())

    def _remember(self, node: _Node, parent: _Node | None) -> None:
        if parent is not None:
            parent.children += 1
            self._leaves.pop(parent.index, None)
            self._inner[parent.index] = parent
            self._inner.move_to_end(parent.index)
        self._leaves[node.index] = node
        self._by_key.setdefault(node.key, {})[node.index] = node
        if node.response_id is not None:
            self._by_response[node.key, node.response_id] = node
        if len(self._leaves) > self._most_leaves:
            self._forget(self._leaves.popitem(last=False)[1])
        if len(self._inner) > self._most_inner:
            self._forget(self._inner.popitem(last=False)[1])

    def _forget(self, node: _Node) -> None:
        del self._by_key[node.key][node.index]
        if node.response_id is not None:
            self._by_response.pop((node.key, node.response_id), None)


def _rank(node: _Node, request: PromptRequest, identity: tuple[Hashable, ...]) -> tuple[object, ...]:
    """What settles a tie: longest prefix, equal ids, model and key, no content left behind, latest."""
    common = common_elements(node.request, request)
    prefix = sum(one.size for one in node.request.contents[:common])
    same = tuple(
        mine is not None and mine == other for mine, other in zip(node.identity, identity, strict=True)
    )
    return prefix, same, common == len(node.request.contents), node.index


def _name(request: PromptRequest, index: int) -> str:
    hashed = xxh3_128(b"%d" % index)
    for block in request.contents:
        for facts in block.facts:
            hashed.update(facts.digest)
    return hashed.hexdigest()[:16]

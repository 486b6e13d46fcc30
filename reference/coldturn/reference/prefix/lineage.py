"""Lineages: which earlier request a request continues. A tree, since sessions fork, retry and branch off.

The parent is the earlier request that shares most segment bytes, whatever their order: an early break does
not hide it. Ids, model and cache key only settle ties, else a change of them could not be found.

What is kept: a request without its raw bytes costs little, since what it says is held once for all that say
it. So besides the most recent leaves the most recent inner requests stay too, and a fork or a retry finds the
request that it left from. Of older ones only digests stay for a while, to say that a parent was evicted.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xxhash import xxh3_128

from coldturn.reference.prefix.lineage_node import Forgotten, Node
from coldturn.reference.prefix.lineage_search import Identity, Search
from coldturn.reference.prefix.lineage_store import Store
from coldturn.reference.prefix.request import PromptRequest

MOST_LEAVES = 1000
MOST_INNER = 1000
MOST_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a request stands among those placed before it.

    Attributes:
        index: How many requests were placed before it.
        parent: The request it continues, without its raw bytes; None when there is none, or it is evicted.
        before: The request that the parent continues, if that is still kept.
        lineage: Name of its tree: equal input gives equal names.
        evicted: There is a parent (`parent_index`), but what it said is no longer kept.
    """

    index: int
    parent: PromptRequest | None
    parent_index: int | None
    lineage: str
    evicted: bool
    before: PromptRequest | None = None


class Lineages:
    """Places requests in the order in which they were sent.

    Args:
        most_leaves: Requests that nothing continues yet, of which all but the raw bytes is kept.
        most_inner: The same for requests that were continued.
        most_bytes: Content bytes that the kept requests may hold together.
    """

    def __init__(
        self,
        *,
        most_leaves: int = MOST_LEAVES,
        most_inner: int = MOST_INNER,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._store = Store(most_leaves, most_inner, most_bytes)
        self._count = 0

    def place(
        self,
        request: PromptRequest,
        *,
        key: Hashable = None,
        response_id: str | None = None,
        conversation: str | None = None,
        cache_key: str | None = None,
        parent: int | None = None,
        answered: bool = True,
    ) -> Placement:
        """Find a request's parent and remember the request.

        Args:
            request: The request; its body is not kept.
            key: What candidates must share besides provider and surface, such as the source.
            response_id: Id of the response it got, which a later `previous_response_id` may name.
            conversation: Conversation id, when known.
            cache_key: Cache key, when it is not in the body.
            parent: `Placement.index` of the request that it continues, where more than bytes tells that.
            answered: Whether the server answered. One that was refused is nobody's parent, unless it begins a
                lineage: no cache holds it, and what follows goes on from the one before.
        """
        key = (key, request.surface)
        identity = (conversation, request.model, cache_key or request.settings.get("prompt_cache_key"))
        found, shared = self._parent(request, key, identity, parent)
        index = self._count
        self._count += 1
        node = Node(
            index=index,
            key=key,
            request=request.without_body(),
            lineage=found.lineage if found else _name(request, index),
            identity=identity,
            response_id=response_id,
        )
        before = None
        if isinstance(found, Node):
            before = found.parent.request if found.parent is not None else None
        if answered or found is None:
            if isinstance(found, Node):
                node.continues(found, shared)
            self._store.add(node)
        return Placement(
            index=index,
            parent=found.request if isinstance(found, Node) else None,
            parent_index=found.index if found else None,
            lineage=node.lineage,
            evicted=isinstance(found, Forgotten),
            before=before,
        )

    def _parent(
        self, request: PromptRequest, key: Hashable, identity: Identity, declared: int | None
    ) -> tuple[Node | Forgotten | None, int]:
        known = None if declared is None else self._store.pool(key).nodes.get(declared)
        if known is not None:
            return known, 0
        name = request.previous_response_id or request.conversation
        named = self._store.named(key, name) if name is not None else None
        if named is not None:
            return named, 0
        search = Search(request, identity)
        return search.among(self._store.pool(key), self._store.forgotten_of(key))


def _name(request: PromptRequest, index: int) -> str:
    hashed = xxh3_128(b"%d" % index)
    for content in request.contents:
        hashed.update(content.digest)
    return hashed.hexdigest()[:16]

"""Earlier requests as `lineage` keeps them: whole but for their raw bytes, or as digests."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from coldturn.reference.prefix.difference import extends
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.prefix.shared import element_digests


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
    def names(self) -> Iterator[str]:
        """Ids by which a later request may say that it goes on from this one."""
        yield from (one for one in (self.response_id, self.request.conversation) if one is not None)

    @property
    def size(self) -> int:
        """Content bytes."""
        return self.request.content_bytes

    def continues(self, parent: Node, shared: int) -> None:
        """Hang the node below `parent`, with which it shares at least that many bytes of equal segments."""
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
        """Take the node out of its tree; what continued it hangs below its parent then."""
        for child in self.children:
            child.parent = self.parent
            child.missing += self.missing
        if self.parent is not None:
            self.parent.children.remove(self)
            self.parent.children.extend(self.children)
        self.parent = None
        self.children = []


@dataclass(frozen=True, slots=True, eq=False)
class Forgotten:
    """A request of which only digests are left."""

    index: int
    lineage: str
    size: int
    digests: array[int]

    @classmethod
    def of(cls, node: Node) -> Forgotten:
        """What is left of a node."""
        return cls(node.index, node.lineage, node.size, element_digests(node.request))

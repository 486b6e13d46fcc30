"""Chains of requests that only go on from one another: what the last one says, all of them say in part.

A new chain begins where a request does not repeat in full what its parent's chain says, and where ids change.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from coldturn.reference.prefix.difference import common_elements, extends
from coldturn.reference.prefix.elements import Content
from coldturn.reference.prefix.lineage_node import Node
from coldturn.reference.prefix.request import PromptRequest


class Chain:
    """Requests each of which repeats the one before it.

    Attributes:
        bit: Stands for the chain in sets of chains.
        members: Those that are kept, in order; never none but in the making.
    """

    __slots__ = ("bit", "members")

    def __init__(self, bit: int) -> None:
        self.bit = bit
        self.members: list[Node] = []

    @property
    def tip(self) -> Node:
        """The last one."""
        return self.members[-1]

    def takes(self, node: Node) -> bool:
        """Whether a node goes on from the last one, under the same ids."""
        tip = self.tip
        return node.identity == tip.identity and extends(tip.request, node.request)

    def append(self, node: Node) -> Sequence[Content]:
        """Go on with a node; returns what it adds."""
        said = len(self.members[-1].request.contents) if self.members else 0
        self.members.append(node)
        return node.request.contents[said:]

    def remove(self, node: Node) -> Sequence[Content]:
        """A node is kept no longer; returns what the chain does not say without it."""
        del self.members[bisect_left(self.members, node.index, key=_index)]
        left = len(self.members[-1].request.contents) if self.members else 0
        return node.request.contents[left:]

    def foremost(self, request: PromptRequest) -> Iterator[Node]:
        """Those that may repeat most of a request from the start: the latest of all, the latest in full."""
        yield self.tip
        common = common_elements(self.tip.request, request)
        whole = bisect_right(self.members, common, key=_elements)
        if 0 < whole < len(self.members):
            yield self.members[whole - 1]


def _index(node: Node) -> int:
    return node.index


def _elements(node: Node) -> int:
    return len(node.request.contents)

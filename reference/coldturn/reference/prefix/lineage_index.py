"""Which earlier requests share most with one, without a look at each: exact, by sums over all at once.

Requests that only go on from one another make up a chain (`lineage_chain`), of which the last one shares most
with any other request. Which chains say a segment is a set of bits (`lineage_said`), so that what a request
shares with every chain is summed in one go (`lineage_bits`), however many there are.

Where many chains share the same, as when requests have nothing in common but a template, the one that
`Search` would choose among them is found by what the request begins with, by ids and by age.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from coldturn.reference.prefix import lineage_bits as bits
from coldturn.reference.prefix.difference import extends
from coldturn.reference.prefix.elements import Content
from coldturn.reference.prefix.lineage_chain import Chain
from coldturn.reference.prefix.lineage_node import Node
from coldturn.reference.prefix.lineage_said import Said
from coldturn.reference.prefix.request import PromptRequest

Identity: TypeAlias = tuple[Hashable, ...]

_FEW = 8
"""Chains that are looked at one by one: up to so many looks cost less than sums over all."""
_SORTED = 8
"""To find a chain and sort it in takes so many times as long as to see that one is not among those wanted."""


class LineageIndex:
    """The chains that are kept, and what each of them says.

    Args:
        nodes: The nodes that are kept, parents before their children.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._said = Said()
        self._chains: dict[int, Chain] = {}
        self._by_place: list[Chain] = []
        self._free: list[Chain] = []
        self._known: dict[tuple[int, Hashable], int] = {}
        self._tips: list[int] = []
        self._ending: dict[tuple[int, Content], list[Node]] = {}
        for node in nodes:
            self.add(node)

    def add(self, node: Node) -> None:
        """Keep a node, which is later than all that are kept."""
        chain = self._chains.get(node.parent.index) if node.parent is not None else None
        if chain is not None and chain.takes(node):
            self._forget_tip(chain)
        else:
            chain = self._begin(node)
        self._said.say(chain.append(node), chain.bit)
        self._chains[node.index] = chain
        self._tips.append(node.index)
        if node.request.contents:
            self._ending.setdefault(_end(node), []).append(node)

    def release(self, node: Node) -> None:
        """Let a node go."""
        chain = self._chains.pop(node.index)
        was_tip = chain.tip is node
        if was_tip:
            self._forget_tip(chain)
        self._said.unsay(chain.remove(node), chain.bit)
        if not chain.members:
            self._end_chain(chain, node.identity)
        elif was_tip:
            insort(self._tips, chain.tip.index)
        if node.request.contents:
            ending = self._ending[_end(node)]
            ending.remove(node)
            if not ending:
                del self._ending[_end(node)]

    def guess(self, request: PromptRequest) -> Node | None:
        """A node that may share much: the last of the chain that alone says what the request ends with."""
        self._said.know(request.contents)
        for part in self._said.parts(reversed(request.contents)):
            if bits.is_single(part.chains):
                return self._by_place[part.chains.bit_length() - 1].tip
        return None

    def rivals(self, request: PromptRequest, least: int) -> list[Node] | None:
        """The nodes that may be best of those that share at least so many bytes; None when these are many.

        Such a node lacks no more than the rest of the request. So of any parts that are more than that
        together it says one; those that few chains say and that stand near the end tell most.

        Args:
            request: One that `guess` was asked about.
            least: Content bytes.
        """
        missing = request.content_bytes - least
        chains = 0
        for part in self._said.parts(reversed(request.contents)):
            if part.chains.bit_count() > _FEW:
                continue
            missing -= part.size
            chains |= part.chains
            if chains.bit_count() > _FEW:
                return None
            if missing < 0:
                return self._foremost(chains, request)
        return None

    def best(self, request: PromptRequest, identity: Identity) -> tuple[int, list[Node]]:
        """Content bytes that a request shares with those nodes that share most with it, and such nodes.

        Of those that share the same at least the one is given that repeats most from the start, of these the
        one whose ids are the same (`same_ids`), of these one that is repeated in full, of these the latest.

        Args:
            request: One that `guess` was asked about.
            identity: Of the request.
        """
        most, chains = bits.greatest(bits.sums(self._said.weights(request.contents)))
        if chains.bit_count() > _FEW:
            return most, self._chosen(chains, most, request, identity)
        foremost = self._foremost(chains, request)
        return most, [one for one in foremost if one is self._chains[one.index].tip or one.size == most]

    def repeated(self, request: PromptRequest, least: int, behind: int) -> Node | None:
        """The largest node of at least that size that the request repeats in full; of several the latest.

        Args:
            request: The request.
            least: Content bytes.
            behind: Index of a node; it and those before it are not looked at.
        """
        contents, sizes = request.contents, request.totals.bytes
        found = None
        for count in range(len(contents), max(bisect_left(sizes, least), 1) - 1, -1):
            if (count, contents[count - 1]) in self._ending:
                after = behind if found is None else found.index
                found = next(self._ends(request, count, after), found)
            if found is not None and sizes[count - 1] < found.size:
                break
        return found

    def _ends(self, request: PromptRequest, count: int, behind: int = -1) -> Iterator[Node]:
        """Nodes behind an index that say just the request's first so many elements, the latest first."""
        for node in reversed(self._ending.get((count, request.contents[count - 1]), ())):
            if node.index <= behind:
                return
            if extends(node.request, request):
                yield node

    def _foremost(self, chains: int, request: PromptRequest) -> list[Node]:
        return [node for place in bits.members(chains) for node in self._by_place[place].foremost(request)]

    def _chosen(self, chains: int, most: int, request: PromptRequest, identity: Identity) -> list[Node]:
        """Of many chains whose last ones share the same: the node that ranks first is among those given.

        A chain that repeats the first elements of the request says each of them, so the sets of those that do
        come first; which of these say them at the start is looked at one by one.
        """
        contents = request.contents
        steps = [(0, chains)]
        for count, content in enumerate(contents, 1):
            chains &= self._said.saying(content)
            if not chains:
                break
            if content.size:
                steps.append((count, chains))
        for count, chains in reversed(steps):
            tip = self._first_beginning(contents[:count], chains, identity)
            if tip is not None:
                return [tip, *self._whole(most, request, same_ids(tip.identity, identity), identity)]
        return []

    def _whole(
        self, size: int, request: PromptRequest, same: tuple[bool, ...], identity: Identity
    ) -> Iterator[Node]:
        """The latest nodes of that size that the request repeats in full, with just these ids the same."""
        sizes = request.totals.bytes
        for count in range(bisect_left(sizes, size), bisect_right(sizes, size)):
            ends = self._ends(request, count)
            yield from islice((one for one in ends if same_ids(one.identity, identity) == same), 1)

    def _first_beginning(self, start: Sequence[Content], chains: int, identity: Identity) -> Node | None:
        """Of those of the chains that begin so: the last node of the one with the same ids, of the latest."""
        alike = chains
        for place, known in enumerate(identity):
            if known is not None:
                alike = alike & self._known.get((place, known), 0) or alike
        beginning = (one for one in self._latest_first(alike) if one.request.contents[: len(start)] == start)
        found = next(beginning, None)
        if found is not None or alike == chains:
            return found
        others = self._latest_first(chains & ~alike)
        return max(
            (one for one in others if one.request.contents[: len(start)] == start),
            key=lambda one: same_ids(one.identity, identity),
            default=None,
        )

    def _latest_first(self, chains: int) -> Iterator[Node]:
        """The last nodes of chains: those of few are sorted, of many the latest are soon met among all."""
        if _SORTED * chains.bit_count() <= len(self._tips):
            yield from sorted(
                (self._by_place[place].tip for place in bits.members(chains)), key=_index, reverse=True
            )
            return
        for index in reversed(self._tips):
            chain = self._chains[index]
            if chain.bit & chains:
                yield chain.tip

    def _begin(self, node: Node) -> Chain:
        if self._free:
            chain = self._free.pop()
        else:
            chain = Chain(1 << len(self._by_place))
            self._by_place.append(chain)
        for known in enumerate(node.identity):
            self._known[known] = self._known.get(known, 0) | chain.bit
        return chain

    def _end_chain(self, chain: Chain, identity: Identity) -> None:
        self._free.append(chain)
        for known in enumerate(identity):
            self._known[known] &= ~chain.bit
            if not self._known[known]:
                del self._known[known]

    def _forget_tip(self, chain: Chain) -> None:
        del self._tips[bisect_left(self._tips, chain.tip.index)]


def same_ids(one: Identity, other: Identity) -> tuple[bool, ...]:
    """Which of the ids are known and the same."""
    return tuple(mine is not None and mine == theirs for mine, theirs in zip(one, other, strict=True))


def _end(node: Node) -> tuple[int, Content]:
    return len(node.request.contents), node.request.contents[-1]


def _index(node: Node) -> int:
    return node.index

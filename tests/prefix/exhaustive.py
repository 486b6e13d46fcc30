"""The parent by a look at every earlier request: what any quicker search must find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from coldturn.reference.prefix.continuation import says_again
from coldturn.reference.prefix.difference import common_elements
from coldturn.reference.prefix.lineage_search import LEAST_SHARED
from coldturn.reference.prefix.model import Block
from coldturn.reference.prefix.request import PromptRequest


@dataclass(slots=True)
class Exhaustive:
    """Requests in order, none of which is ever let go."""

    _earlier: list[PromptRequest] = field(default_factory=list)
    _identities: list[tuple[Hashable, ...]] = field(default_factory=list)
    _said: list[Counter[tuple[bytes, int]]] = field(default_factory=list)

    def place(self, request: PromptRequest, *identity: Hashable) -> tuple[int | None, bool]:
        """Index of the request that shares most by the rules, and whether both share enough to tell."""
        said = segments(request.blocks)
        places = range(len(self._earlier))
        best = max(places, key=lambda at: self._rank(at, request, said, identity), default=None)
        enough = False
        if best is not None:
            shared = _shared(self._said[best], said)
            best = self._gone_on_with(best, request, shared)
            size = min(self._earlier[best].content_bytes, request.content_bytes)
            shared = _shared(self._said[best], said)
            enough = shared > 0 and shared >= LEAST_SHARED * size
        self._earlier.append(request)
        self._identities.append(identity)
        self._said.append(said)
        return best, enough

    def _rank(
        self,
        at: int,
        request: PromptRequest,
        said: Counter[tuple[bytes, int]],
        identity: tuple[Hashable, ...],
    ) -> tuple[int, int, list[bool], bool, int]:
        one = self._earlier[at]
        common = common_elements(one, request)
        prefix = sum(content.size for content in one.contents[:common])
        pairs = zip(self._identities[at], identity, strict=True)
        same = [theirs is not None and theirs == mine for theirs, mine in pairs]
        return _shared(self._said[at], said), prefix, same, common == len(one.contents), at

    def _gone_on_with(self, best: int, request: PromptRequest, shared: int) -> int:
        """The largest later one that is repeated in full, and as far, unless the best says more again."""
        one = self._earlier[best]
        same = common_elements(one, request)
        if not shared or same == len(one.contents):
            return best
        found, further = best, sum(content.size for content in one.contents[:same])
        mine = [block.facts.digest for block in request.blocks]
        for at in reversed(range(best + 1, len(self._earlier))):
            theirs = [block.facts.digest for block in self._earlier[at].blocks]
            if theirs and theirs == mine[: len(theirs)] and self._earlier[at].content_bytes >= further:
                found, further = at, self._earlier[at].content_bytes + 1
        start = one.totals.blocks[same]
        was, now = list(one.blocks[start:]), list(request.blocks[start:])
        again = says_again(was, now)
        if again is None:
            again = any(size >= 32 for _, size in segments(was) & segments(now))
        return best if again else found


def segments(blocks: Iterable[Block]) -> Counter[tuple[bytes, int]]:
    """Digests and sizes of all segments of blocks."""
    return Counter((one.digest, one.end - one.start) for block in blocks for one in block.facts.segments)


def _shared(one: Counter[tuple[bytes, int]], other: Counter[tuple[bytes, int]]) -> int:
    return sum(size * count for (_, size), count in (one & other).items())

"""How much two requests share: the bytes of equal segments, wherever they stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from coldturn.reference.prefix.elements import Content


class Profile:
    """What one request says, ready to be held against many others."""

    __slots__ = ("_distinct", "contents", "size")

    def __init__(self, contents: Sequence[Content], size: int) -> None:
        self.contents = contents
        self.size = size
        self._distinct = frozenset(contents)

    def shared_bytes(self, other: Sequence[Content], other_size: int) -> int:
        """Content bytes of the segments that both have; a segment counts as often as both have it.

        Elements that are equal as a whole are matched first; segments are looked at in the rest only.
        """
        common = self._distinct.intersection(other)
        if len(self._distinct) == len(self.contents) and len(other) == len(frozenset(other)):
            shared = sum(one.size for one in common)
            if shared in (self.size, other_size):
                return shared
            return shared + _shared_segments(
                (one for one in self.contents if one not in common),
                (one for one in other if one not in common),
            )
        mine, theirs = Counter(self.contents), Counter(other)
        both = mine & theirs
        shared = sum(one.size * count for one, count in both.items())
        return shared + _shared_segments((mine - both).elements(), (theirs - both).elements())


def _shared_segments(mine: Iterable[Content], theirs: Iterable[Content]) -> int:
    sizes: dict[bytes, int] = {}
    counts = _segments(mine, sizes)
    if not counts:
        return 0
    both = counts & _segments(theirs, sizes)
    return sum(sizes[digest] * count for digest, count in both.items())


def _segments(contents: Iterable[Content], sizes: dict[bytes, int]) -> Counter[bytes]:
    counts: Counter[bytes] = Counter()
    for content in contents:
        for facts in content.facts:
            for segment in facts.segments:
                counts[segment.digest] += 1
                sizes[segment.digest] = segment.end - segment.start
    return counts

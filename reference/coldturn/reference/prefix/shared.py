"""How much two requests share: the bytes of equal segments, wherever they stand."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence

from coldturn.reference.prefix.difference import common_prefix
from coldturn.reference.prefix.elements import Content
from coldturn.reference.prefix.model import Zone
from coldturn.reference.prefix.request import PromptRequest

SMALL = 4096
"""Content bytes below which a prompt may be a handful of segments, too few to tell by."""
_LEAST_MESSAGES = 3


class Profile:
    """What one request says, ready to be held against many others."""

    __slots__ = ("_contents", "_distinct", "_size", "_sizes")

    def __init__(self, request: PromptRequest) -> None:
        self._contents = request.contents
        self._size = request.content_bytes
        self._distinct = frozenset(request.contents)
        self._sizes: dict[int, int] | None = None

    def shared_bytes(self, other: PromptRequest) -> int:
        """Content bytes of the segments that both have; a segment counts as often as both have it.

        Elements that are equal as a whole are matched first; segments are looked at in the rest only.
        """
        theirs = other.contents
        common = self._distinct.intersection(theirs)
        if len(self._distinct) != len(self._contents) or len(frozenset(theirs)) != len(theirs):
            return _shared_repeated(self._contents, theirs)
        shared = sum(one.size for one in common)
        if shared in (self._size, other.content_bytes):
            return shared
        return shared + _shared_segments(
            (one for one in self._contents if one not in common),
            (one for one in theirs if one not in common),
        )

    def shared_with_digests(self, digests: array[int]) -> int:
        """The same against `element_digests`, of which no more is known: whole elements only."""
        if self._sizes is None:
            self._sizes = {_short(one): one.size for one in self._distinct}
        sizes = self._sizes
        return sum(sizes[digest] for digest in sizes.keys() & digests)


def element_digests(request: PromptRequest) -> array[int]:
    """What is kept of a request that is forgotten: eight bytes per element."""
    return array("Q", (_short(one) for one in request.contents))


def _short(content: Content) -> int:
    return int.from_bytes(content.digest[:8], "little")


def _shared_repeated(mine: Sequence[Content], theirs: Sequence[Content]) -> int:
    my_counts, their_counts = Counter(mine), Counter(theirs)
    both = my_counts & their_counts
    shared = sum(one.size * count for one, count in both.items())
    return shared + _shared_segments((my_counts - both).elements(), (their_counts - both).elements())


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


def repeats_messages(parent: PromptRequest, child: PromptRequest) -> bool:
    """Whether most of the parent's messages are sent again, be they ever so short: for small prompts."""
    was, now = (
        [
            element.content
            for placed in one.groups
            if placed.group.zone is Zone.HISTORY
            for element in placed.elements
        ]
        for one in (parent, child)
    )
    again = sum((Counter(was) & Counter(now)).values())
    return again >= _LEAST_MESSAGES and 3 * again >= 2 * len(was)


def alike_bytes(parent: PromptRequest, child: PromptRequest) -> int:
    """Content bytes that blocks at equal places have in common at their two ends: for small prompts."""
    was = [facts.content for one in parent.contents for facts in one.facts]
    now = [facts.content for one in child.contents for facts in one.facts]
    return sum(_common_ends(one, other) for one, other in zip(was, now, strict=False))


def _common_ends(was: bytes, now: bytes) -> int:
    front = common_prefix(was, now)
    left = min(len(was), len(now)) - front
    return front + min(left, common_prefix(was[::-1], now[::-1]))

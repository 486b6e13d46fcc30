"""What chains of requests say: which of them say a segment, and how often, as sets of bits.

Most segments stand in one element only, so an element stands for those of its segments that no other element
holds. A segment that a second one holds is listed by itself from then on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from coldturn.reference.prefix.elements import Content
from coldturn.reference.prefix.lineage_bits import lower_level, raise_level


class Part:
    """Bytes that are said together.

    Attributes:
        size: How many bytes.
        levels: `levels[k]`: the chains that say them more than k times.
    """

    __slots__ = ("levels", "size")

    def __init__(self, size: int = 0) -> None:
        self.size = size
        self.levels: list[int] = []

    @property
    def chains(self) -> int:
        """The chains that say them."""
        return self.levels[0] if self.levels else 0


class _Segment(Part):
    """A segment of several elements; `holders` says of how many."""

    __slots__ = ("holders",)

    def __init__(self, size: int, levels: list[int]) -> None:
        super().__init__(size)
        self.levels = levels
        self.holders = 1


class _Element(Part):
    """An element: its size is that of the segments that it alone holds.

    Attributes:
        repeats: How often it holds what it holds more than once.
        shared: Segments that others hold too, and how often it does.
    """

    __slots__ = ("repeats", "shared")

    def __init__(self, repeats: dict[bytes, int]) -> None:
        super().__init__()
        self.repeats = repeats
        self.shared: list[tuple[_Segment, int]] = []


class Said:
    """Who says what; a chain is a bit."""

    def __init__(self) -> None:
        self._elements: dict[Content, _Element] = {}
        self._segments: dict[bytes, _Element | _Segment] = {}

    def know(self, contents: Iterable[Content]) -> None:
        """Look at elements that a chain is about to say. It can make segments of others shared."""
        for content in set(contents).difference(self._elements):
            self._enter(content)

    def say(self, contents: Iterable[Content], bit: int) -> None:
        """A chain says these elements, besides what it said."""
        for content in contents:
            element = self._elements.get(content) or self._enter(content)
            raise_level(element.levels, bit)
            for segment, count in element.shared:
                for _ in range(count):
                    raise_level(segment.levels, bit)

    def unsay(self, contents: Iterable[Content], bit: int) -> None:
        """A chain no longer says these elements, each of which it said."""
        for content in contents:
            element = self._elements[content]
            lower_level(element.levels, bit)
            for segment, count in element.shared:
                for _ in range(count):
                    lower_level(segment.levels, bit)
            if not element.levels:
                self._leave(content, element)

    def saying(self, content: Content) -> int:
        """The chains that say an element as a whole."""
        element = self._elements.get(content)
        return element.chains if element is not None else 0

    def parts(self, contents: Iterable[Content]) -> Iterator[Part]:
        """What these elements, which are known, say one by one; the same part may come more than once."""
        for content in contents:
            element = self._elements[content]
            yield element
            for segment, _ in element.shared:
                yield segment

    def weights(self, contents: Sequence[Content]) -> dict[int, int]:
        """By set of chains: bytes of these elements that just these chains say, as often as both do."""
        weights: dict[int, int] = {}
        repeated: dict[_Segment, int] = {}
        for content, count in Counter(contents).items():
            element = self._elements[content]
            _weigh(element, count, weights)
            for segment, times in element.shared:
                repeated[segment] = repeated.get(segment, 0) + times * count
        for segment, count in repeated.items():
            _weigh(segment, count, weights)
        return weights

    def _enter(self, content: Content) -> _Element:
        sizes: dict[bytes, int] = {}
        repeats: dict[bytes, int] = {}
        for facts in content.facts:
            for one in facts.segments:
                if one.digest in sizes:
                    repeats[one.digest] = repeats.get(one.digest, 1) + 1
                else:
                    sizes[one.digest] = one.end - one.start
        element = self._elements[content] = _Element(repeats)
        for digest, size in sizes.items():
            holder = self._segments.setdefault(digest, element)
            count = repeats.get(digest, 1)
            if holder is element:
                element.size += size * count
                continue
            if isinstance(holder, _Element):
                holder = self._share(digest, size, holder)
            holder.holders += 1
            element.shared.append((holder, count))
        return element

    def _share(self, digest: bytes, size: int, holder: _Element) -> _Segment:
        """List a segment by itself that one element stood for."""
        count = holder.repeats.get(digest, 1)
        segment = _Segment(size, [level for level in holder.levels for _ in range(count)])
        self._segments[digest] = segment
        holder.size -= size * count
        holder.shared.append((segment, count))
        return segment

    def _leave(self, content: Content, element: _Element) -> None:
        del self._elements[content]
        for digest in {one.digest for facts in content.facts for one in facts.segments}:
            holder = self._segments[digest]
            if isinstance(holder, _Segment):
                holder.holders -= 1
            if holder is element or (isinstance(holder, _Segment) and not holder.holders):
                del self._segments[digest]


def _weigh(part: Part, count: int, weights: dict[int, int]) -> None:
    if part.size:
        for level in part.levels[:count]:
            weights[level] = weights.get(level, 0) + part.size

"""Elements: one tool, message or input item as it was sent, read once and shared by every request it is in.

An `Element` is what a wire digest stands for; its `Content` is what all spellings of it have in common (cache
markers, white space and escapes aside). Both are found through weak tables, so memory follows live requests.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Generic, NamedTuple, TypeVar

from xxhash import xxh3_128_digest

from coldturn.reference.prefix import segments, slicing
from coldturn.reference.prefix.model import BlockFacts, BlockKind
from coldturn.reference.prefix.strings import Flag

T = TypeVar("T")


def _nothing() -> None:
    return None


class WeakTable(Generic[T]):
    """Digest -> object, as long as somebody else holds the object."""

    __slots__ = ("_references",)

    def __init__(self) -> None:
        self._references: dict[bytes, weakref.ref[T]] = {}

    def __len__(self) -> int:
        return len(self._references)

    def get(self, digest: bytes) -> T | None:
        """The object of that digest, or None."""
        reference = self._references.get(digest)
        return None if reference is None else reference()

    def find(self, digests: Iterable[bytes]) -> list[T | None]:
        """The object of each digest, or None."""
        return [reference() for reference in map(self._references.get, digests, repeat(_nothing))]

    def put(self, digest: bytes, value: T) -> T:
        """Hold `value` weakly; the object already there wins, so that equal things are identical."""
        known = self.get(digest)
        if known is not None:
            return known

        def forget(reference: weakref.ref[T]) -> None:
            if self._references.get(digest) is reference:
                del self._references[digest]

        self._references[digest] = weakref.ref(value, forget)
        return value


class Piece(NamedTuple):
    """A block within its element, wherever that stands.

    Attributes:
        suffix: What the block's JSON path adds to its element's.
        title: What its label says behind the place.
        span: The block's bytes within the element.
        source: The bytes that its content was made from: a quoted string, or one JSON value.
        cuts: Parts of `source` that are not content (ids, markers), in order.
    """

    kind: BlockKind
    suffix: str
    title: str
    role: str | None
    name: str | None
    call_id: str | None
    span: tuple[int, int]
    source: tuple[int, int]
    cuts: tuple[tuple[int, int], ...]
    facts: BlockFacts


@dataclass(frozen=True, slots=True)
class FoundMarker:
    """A cache marker within an element; `piece` is the block it stands behind, -1 for the one in front."""

    suffix: str
    piece: int
    value: bytes


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Content:
    """What the spellings of an element have in common: its blocks' facts. Equal ones are one object."""

    facts: tuple[BlockFacts, ...]
    size: int
    digest: bytes


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Element:
    """A sent element, read.

    Attributes:
        role: Of a message or input item.
        size: Wire bytes.
        bare: xxh3-128 of the wire bytes without markers: tells other spellings from moved markers.
    """

    pieces: tuple[Piece, ...]
    content: Content
    markers: tuple[FoundMarker, ...]
    flags: frozenset[Flag]
    role: str | None
    size: int
    bare: bytes


_facts: WeakTable[BlockFacts] = WeakTable()
_contents: WeakTable[Content] = WeakTable()


def make_facts(content: bytes, *, is_text: bool, header: bytes) -> BlockFacts:
    """Facts of a block; those of an equal block where one is alive."""
    lengths = b"%d %d %d\0" % (is_text, len(header), len(content))
    digest = xxh3_128_digest(b"".join((lengths, header, content)))
    known = _facts.get(digest)
    if known is not None:
        return known
    cut = segments.cut_text if is_text else segments.cut_json
    return _facts.put(digest, BlockFacts(content, is_text, header, digest, cut(content)))


def make_content(facts: Sequence[BlockFacts]) -> Content:
    """The content of an element with these blocks; the equal one where one is alive."""
    digest = xxh3_128_digest(b"".join(one.digest for one in facts))
    known = _contents.get(digest)
    if known is not None:
        return known
    return _contents.put(digest, Content(tuple(facts), sum(len(one.content) for one in facts), digest))


def cut_out(data: bytes, cuts: Iterable[tuple[int, int]]) -> bytes:
    """`data` without these spans, which are in order and do not overlap."""
    kept = []
    position = 0
    for start, end in cuts:
        kept.append(data[position:start])
        position = end
    kept.append(data[position:])
    return b"".join(kept)


def without(members: slicing.Members, keys: frozenset[str]) -> tuple[tuple[int, int], ...]:
    """The spans to cut so that an object lacks these keys (and repeated ones) and stays JSON."""
    if keys.isdisjoint(members.by_key) and len(members.by_key) == len(members.members):
        return ()
    found = members.members
    last = {member.key: index for index, member in enumerate(found)}
    cuts = []
    kept_before = False
    for index, member in enumerate(found):
        if member.key not in keys and last[member.key] == index:
            kept_before = True
        elif kept_before:
            cuts.append((found[index - 1].end, member.end))
        elif index + 1 < len(found):
            cuts.append((member.start, found[index + 1].start))
        else:
            cuts.append((member.start, member.end))
    return tuple(cuts)

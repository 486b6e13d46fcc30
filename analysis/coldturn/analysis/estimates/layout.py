"""A recorded request as a cache sees it: boundaries with rolling keys, and what stands between them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from coldturn.reference.prefix.model import BlockFacts, BlockKind, Zone


class Unit(NamedTuple):
    """A block as far as a cache can tell one from another.

    Attributes:
        message: Ordinal of the message or input item; None for tools and system parameters.
    """

    kind: BlockKind
    role: str | None
    message: int | None
    zone: Zone
    facts: BlockFacts


_IMAGE_PARTS = (b'"type":"image"', b'{"image":{')
"""How a result of a tool holds an image, on Messages and on Converse; quotes within its text are escaped."""


def shows_image(kind: BlockKind, content: bytes) -> bool:
    """Whether a block is an image, or the result of a tool that holds one."""
    if kind is BlockKind.TOOL_RESULT:
        return any(part in content for part in _IMAGE_PARTS)
    return kind is BlockKind.IMAGE


@dataclass(frozen=True, slots=True)
class Layout:
    """A prompt cut at every segment.

    Attributes:
        units: The blocks that count, in render order.
        links: A rolling 64-bit hash per segment: equal links mean equal prompts up to there.
        keys: The same with the settings that the cache keys on.
        weights: Units of weight of each segment, from which tokens are estimated: bytes, unless a tokenizer
            is used.
        block_ends: For each block the index of its last segment.
        indices: For each block its index in the request; None for one that stands in an earlier request.
        images: Whether it shows an image, in a message or in the result of a tool.
    """

    units: Sequence[Unit]
    links: Sequence[int]
    keys: Sequence[int]
    weights: Sequence[int]
    block_ends: Sequence[int]
    indices: Sequence[int | None]
    images: bool = False

    def segment(self, index: int) -> tuple[bytes, bytes]:
        """A segment's header (of the first one of a block that has one) and its content."""
        block = bisect_left(self.block_ends, index)
        facts = self.units[block].facts
        inside = index - (self.block_ends[block - 1] + 1 if block else 0)
        header = b"" if inside else facts.header
        if not facts.segments:
            return header, b""
        own = facts.segments[inside]
        return header, facts.content[own.start : own.end]

    def block_at(self, index: int) -> int | None:
        """Which counted block stands at or before the request's block `index`; None when none does."""
        found = None
        for position, original in enumerate(self.indices):
            if original is not None and original <= index:
                found = position
        return found


def setting(settings: Mapping[str, bytes], path: str) -> bytes | None:
    """A request's setting as compact JSON, by a top-level key or a dotted path; None when it is not there."""
    first, _, rest = path.partition(".")
    value = settings.get(first)
    if value is None or value == b"null" or not rest:
        return None if value == b"null" else value
    try:
        inner = msgspec.json.decode(value, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return setting({key: bytes(raw) for key, raw in inner.items()}, rest)

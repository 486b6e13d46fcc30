"""The ledger of a request: a digest per segment, and per zone a hash of its own and one from the start."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from xxhash import xxh3_128, xxh3_128_digest

from coldturn.reference.prefix.model import Block, Zone
from coldturn.reference.prefix.request import PromptRequest

ZONES = (Zone.TOOLS, Zone.SYSTEM, Zone.TAIL, Zone.HISTORY, Zone.TRANSIENT)


@dataclass(frozen=True, slots=True)
class ZoneHash:
    """One zone of a request.

    Attributes:
        bytes: Content bytes.
        hash: 32 hex digits over the zone's own blocks, in render order.
        prefix_hash: 32 hex digits over every block from the first to the last one of this zone (or, when it
            is empty, of the zones before it): equal hashes mean that the prompts are equal up to there.
    """

    zone: Zone
    bytes: int
    segment_count: int
    hash: str
    prefix_hash: str


@dataclass(frozen=True, slots=True)
class SegmentHash:
    """One segment at its place. The first of a block covers the block's header (role, ids) too.

    Attributes:
        bytes: Content bytes; 0 for the only segment of a block without content.
        key: A name for people: the block's label, with the section in front of the text where it has one.
        kind: The block's kind.
    """

    digest: bytes
    bytes: int
    key: str
    kind: str
    zone: Zone


@dataclass(frozen=True, slots=True)
class Ledger:
    """All digests of one request; `zones` always lists the five zones, `segments` is in render order.

    Attributes:
        block_ends: How many segments stand up to the end of each block: ties `Marker.block` to segments.
    """

    zones: tuple[ZoneHash, ...]
    segments: tuple[SegmentHash, ...]
    wire_hash: str
    settings_hash: str
    content_bytes: int
    block_ends: tuple[int, ...] = ()


def ledger_of(request: PromptRequest) -> Ledger:
    """Compute a request's ledger, by xxh3-128. Once its body is gone, the wire hash is that of nothing."""
    segments = [_segments(block) for block in request.blocks]
    settings = b"".join(
        b"%d:%b=%d:%b," % (len(key), key.encode("utf-8", "surrogatepass"), len(value), value)
        for key, value in sorted(request.settings.items())
    )
    return Ledger(
        zones=_zones(request.blocks, [len(one) for one in segments]),
        segments=tuple(segment for block in segments for segment in block),
        wire_hash=xxh3_128_digest(request.body).hex(),
        settings_hash=xxh3_128_digest(settings).hex(),
        content_bytes=request.content_bytes,
        block_ends=tuple(accumulate(len(block) for block in segments)),
    )


def _segments(block: Block) -> list[SegmentHash]:
    facts = block.facts
    kind = block.kind.value
    if not facts.segments:
        return [SegmentHash(facts.digest, 0, block.label, kind, block.zone)]
    found = [
        SegmentHash(
            one.digest,
            one.end - one.start,
            f"{block.label} {one.section}" if one.section else block.label,
            kind,
            block.zone,
        )
        for one in facts.segments
    ]
    if facts.header:
        first = found[0]
        digest = xxh3_128_digest(facts.header + b"\0" + first.digest)
        found[0] = SegmentHash(digest, first.bytes, first.key, first.kind, first.zone)
    return found


def _zones(blocks: tuple[Block, ...], counts: list[int]) -> tuple[ZoneHash, ...]:
    own = {zone: xxh3_128() for zone in ZONES}
    sizes = dict.fromkeys(ZONES, 0)
    segments = dict.fromkeys(ZONES, 0)
    rolling = xxh3_128()
    last: dict[Zone, tuple[int, str]] = {}
    for index, (block, count) in enumerate(zip(blocks, counts, strict=True)):
        own[block.zone].update(block.facts.digest)
        rolling.update(block.facts.digest)
        sizes[block.zone] += len(block.facts.content)
        segments[block.zone] += count
        last[block.zone] = index, rolling.hexdigest()
    found = []
    reached = -1, xxh3_128().hexdigest()
    for zone in ZONES:
        reached = max(reached, last.get(zone, reached))
        found.append(ZoneHash(zone, sizes[zone], segments[zone], own[zone].hexdigest(), reached[1]))
    return tuple(found)

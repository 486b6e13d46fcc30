"""The ledger of a request: a digest per segment, and per zone a hash of its own and one from the start."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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
    """Compute a request's ledger, by xxh3-128. Once its body is gone, the wire hash is that of nothing.

    For requests that grow out of one another `RunningLedger` gives the same for less.
    """
    state = LedgerState()
    segments, ends = state.add(request.blocks)
    return finished(request, state, tuple(segments), tuple(ends))


def finished(
    request: PromptRequest, state: LedgerState, segments: tuple[SegmentHash, ...], ends: tuple[int, ...]
) -> Ledger:
    """The ledger of a request all of whose blocks `state` has met."""
    settings = b"".join(
        b"%d:%b=%d:%b," % (len(key), key.encode("utf-8", "surrogatepass"), len(value), value)
        for key, value in sorted(request.settings.items())
    )
    return Ledger(
        zones=state.zones(),
        segments=segments,
        wire_hash=xxh3_128_digest(request.body).hex(),
        settings_hash=xxh3_128_digest(settings).hex(),
        content_bytes=request.content_bytes,
        block_ends=ends,
    )


class LedgerState:
    """The hashes of the blocks met so far, in render order."""

    __slots__ = ("_count", "_last", "_own", "_rolling", "_segments", "_segments_by_zone", "_sizes")

    def __init__(self) -> None:
        self._own = {zone: xxh3_128() for zone in ZONES}
        self._rolling = xxh3_128()
        self._sizes = dict.fromkeys(ZONES, 0)
        self._segments_by_zone = dict.fromkeys(ZONES, 0)
        self._last: dict[Zone, tuple[int, str]] = {}
        self._count = self._segments = 0

    def copy(self) -> LedgerState:
        """The same, to go on from twice."""
        other = LedgerState.__new__(LedgerState)
        other._own = {zone: one.copy() for zone, one in self._own.items()}
        other._rolling = self._rolling.copy()
        other._sizes, other._segments_by_zone = dict(self._sizes), dict(self._segments_by_zone)
        other._last = dict(self._last)
        other._count, other._segments = self._count, self._segments
        return other

    def add(self, blocks: Iterable[Block]) -> tuple[list[SegmentHash], list[int]]:
        """Meet the next blocks; returns their segments, and how many there are up to the end of each."""
        found: list[SegmentHash] = []
        ends: list[int] = []
        for block in blocks:
            segments = _segments(block)
            zone, facts = block.zone, block.facts
            self._own[zone].update(facts.digest)
            self._rolling.update(facts.digest)
            self._sizes[zone] += len(facts.content)
            self._segments_by_zone[zone] += len(segments)
            self._last[zone] = self._count, self._rolling.hexdigest()
            self._count += 1
            self._segments += len(segments)
            found += segments
            ends.append(self._segments)
        return found, ends

    def zones(self) -> tuple[ZoneHash, ...]:
        """The five zones as they stand now."""
        found = []
        reached = -1, xxh3_128().hexdigest()
        for zone in ZONES:
            reached = max(reached, self._last.get(zone, reached))
            found.append(
                ZoneHash(
                    zone,
                    self._sizes[zone],
                    self._segments_by_zone[zone],
                    self._own[zone].hexdigest(),
                    reached[1],
                )
            )
        return tuple(found)


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

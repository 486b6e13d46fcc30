"""Unpacks the segments that a `chat` span carries as strings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from coldturn.reference.prefix.errors import ColdturnError
from coldturn.traces import names
from coldturn.traces.span_reader import AttributeValue, SpanRow

_HEX_DIGITS = 16


class PackedSegmentsError(ColdturnError):
    """A span whose packed segments contradict each other."""

    slug = "packed-segments"

    def __init__(self, span_id: str, reason: str) -> None:
        self.span_id = span_id
        self.reason = reason
        super().__init__(f"span {span_id}: its packed segments disagree ({reason}): write the trace anew")


@dataclass(frozen=True, slots=True)
class Definition:
    """Where a file first met a hash."""

    key: str
    kind: str
    zone: str


@dataclass(frozen=True, slots=True)
class PackedSegments:
    """The segments of one request in render order; three parallel tuples.

    Attributes:
        hashes: 16 hex digits each.
        sizes: Content bytes of each.
        zones: Zone of each.
    """

    hashes: tuple[str, ...]
    sizes: tuple[int, ...]
    zones: tuple[str, ...]


def unpack(span: SpanRow) -> PackedSegments | None:
    """Return the span's segments; None when it carries none.

    Raises:
        PackedSegmentsError: Count, hashes, bytes and zones do not fit each other.
    """
    count = span.attributes.get(names.SEGMENT_COUNT)
    if not isinstance(count, int):
        return None
    packed = _text(span.attributes, names.SEGMENT_HASHES)
    hashes = tuple(packed[i : i + _HEX_DIGITS] for i in range(0, len(packed), _HEX_DIGITS))
    try:
        sizes = tuple(int(size) for size in _split(span.attributes, names.SEGMENT_BYTES))
        runs = [_run(run) for run in _split(span.attributes, names.SEGMENT_ZONES)]
    except ValueError as error:
        raise PackedSegmentsError(span.span_id, str(error)) from error
    zoned = sum(length for _, length in runs)
    if {len(packed) / _HEX_DIGITS, len(sizes), zoned} != {count}:
        reason = f"count {count}, {len(packed)} hex digits, {len(sizes)} sizes, {zoned} in zones"
        raise PackedSegmentsError(span.span_id, reason)
    return PackedSegments(hashes, sizes, tuple(zone for zone, length in runs for _ in range(length)))


def definitions(span: SpanRow) -> dict[str, Definition]:
    """Return what the span defines: hash -> key, kind and zone.

    Raises:
        PackedSegmentsError: The rows cannot be read.
    """
    text = _text(span.attributes, names.SEGMENT_DEFINITIONS)
    if not text:
        return {}
    try:
        rows = msgspec.json.decode(text, type=list[tuple[str, str, str, str]])
    except msgspec.DecodeError as error:
        raise PackedSegmentsError(span.span_id, f"definitions: {error}") from error
    return {digest: Definition(key, kind, zone) for digest, key, kind, zone in rows}


def _text(attributes: Mapping[str, AttributeValue], name: str) -> str:
    value = attributes.get(name)
    return value if isinstance(value, str) else ""


def _split(attributes: Mapping[str, AttributeValue], name: str) -> list[str]:
    text = _text(attributes, name)
    return text.split(",") if text else []


def _run(run: str) -> tuple[str, int]:
    zone, _, length = run.partition(":")
    return zone, int(length)

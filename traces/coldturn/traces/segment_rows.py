"""Rows of `segments.parquet`: what a span packs, resolved with what this or another span defines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from coldturn.reference.prefix.errors import ColdturnError
from coldturn.traces.packed import Definition, PackedSegmentsError, definitions, unpack
from coldturn.traces.span_reader import SpanRow

Tell: TypeAlias = Callable[[ColdturnError], object]
"""Is told of a span whose segments disagree."""


def fail(error: ColdturnError) -> None:
    """A `Tell` that takes it for an error.

    Raises:
        ColdturnError: Always.
    """
    raise error


def defined_by(span: SpanRow, tell: Tell) -> dict[str, Definition]:
    """What a span defines: hash -> key, kind and zone."""
    try:
        return definitions(span)
    except PackedSegmentsError as error:
        tell(error)
        return {}


def segment_rows(spans: Iterable[SpanRow], tell: Tell | None = None) -> Iterator[dict[str, Any]]:
    """Rows of `segments.parquet` for spans that are held in memory.

    Args:
        spans: In order.
        tell: Is told of spans whose segments disagree, which have no rows. When None, that is an error.

    Raises:
        PackedSegmentsError: Segments disagree, and `tell` is None.
    """
    held, told = list(spans), tell or fail
    known: dict[str, Definition] = {}
    for span in held:
        for digest, definition in defined_by(span, told).items():
            known.setdefault(digest, definition)
    for span in held:
        yield from rows_of(span, known, told)


def rows_of(span: SpanRow, known: Mapping[str, Definition], tell: Tell) -> Iterator[dict[str, Any]]:
    """The rows of one span; none for one whose segments disagree."""
    try:
        packed = unpack(span)
        unseen = set(definitions(span))
    except PackedSegmentsError as error:
        tell(error)
        return
    if packed is None:
        return
    for ordinal, (digest, size, zone) in enumerate(
        zip(packed.hashes, packed.sizes, packed.zones, strict=True)
    ):
        definition = known.get(digest)
        yield {
            "span_id": span.span_id,
            "ordinal": ordinal,
            "hash": digest,
            "bytes": size,
            "zone": zone,
            "key": definition.key if definition else None,
            "kind": definition.kind if definition else None,
            "defined": digest in unseen,
        }
        unseen.discard(digest)

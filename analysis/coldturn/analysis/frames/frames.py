"""Spans as polars frames: `turns`, `steps` and `segments`. `columns` says what each column holds."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import polars as pl

from coldturn.analysis.estimates.longest_prefix import LongestPrefix, StepEstimate
from coldturn.analysis.frames import columns
from coldturn.analysis.rates import rate
from coldturn.traces import names
from coldturn.traces.packed import Definition, definitions, unpack
from coldturn.traces.span_reader import SpanRow

Row: TypeAlias = dict[str, Any]
"""A row of a frame: column -> value of the column's type."""

_ZONES = ("tools", "system", "tail", "history", "transient")

_STEP_ATTRIBUTES: Mapping[str, str] = {
    "provider": names.PROVIDER,
    "model": names.REQUEST_MODEL,
    "surface": names.WIRE_FORMAT,
    "scope": names.CACHE_SCOPE,
    "wire_bytes": names.WIRE_BYTES,
    "segments": names.SEGMENT_COUNT,
    "base_span_id": names.BASE_SPAN_ID,
    "base_age_ms": names.BASE_AGE_MS,
    "common_bytes": names.COMMON_BYTES,
    "stable": names.STABLE,
    "break_zone": names.BREAK_ZONE,
    "break_segment": names.BREAK_SEGMENT,
    "break_path": names.BREAK_PATH,
    "break_section": names.BREAK_SECTION,
    "break_offset": names.BREAK_OFFSET,
    "break_block_offset": names.BREAK_BLOCK_OFFSET,
    "break_cause": names.BREAK_CAUSE,
    "break_confidence": names.BREAK_CONFIDENCE,
    "break_planned": names.BREAK_PLANNED,
    "break_lost_bytes": names.BREAK_LOST_BYTES,
    "break_delta_bytes": names.BREAK_DELTA_BYTES,
    "harmless_cause": names.HARMLESS_CAUSE,
    "elided_results": names.ELISION_COUNT,
}

_REPORTED: Mapping[str, str] = {
    "input_tokens_reported": names.INPUT_TOKENS,
    "read_tokens_reported": names.CACHE_READ_TOKENS,
    "written_tokens_reported": names.CACHE_WRITE_TOKENS,
    "output_tokens_reported": names.OUTPUT_TOKENS,
}


_COUNTS = tuple(name for name in (*columns.REPORTED, *columns.ESTIMATED) if name != "hit_rate_estimated")


def steps(spans: Iterable[SpanRow]) -> pl.DataFrame:
    """Return one row per step, in the order in which requests were sent.

    Estimates assume one cache per (recording, policy) and scope, which all its Runs share. They are null
    where a span carries no segments.

    Raises:
        PackedSegmentsError: A span's packed segments contradict each other.
    """
    rows = [row for _, row in _step_rows(spans)]
    return pl.DataFrame(rows, schema=columns.schema(columns.STEPS))


def turns(spans: Iterable[SpanRow]) -> pl.DataFrame:
    """Return one row per turn, in the order in which turns began.

    A turn whose own span is missing (it was open when its process died) is made from its steps.

    Raises:
        PackedSegmentsError: A span's packed segments contradict each other.
    """
    ours = list(spans)
    own = {span.span_id: span for span in _of_operation(ours, "invoke_agent")}
    calls = Counter(span.parent_id for span in _of_operation(ours, "execute_tool"))
    taken: dict[str, list[Row]] = defaultdict(list)
    for span, row in _step_rows(ours):
        taken[span.parent_id].append(row)
    rows = [_turn_row(own.get(turn), taken[turn], calls[turn]) for turn in {**own, **dict(taken)}]
    rows.sort(key=lambda row: (row["recording"], row["policy"], row["started"], row["run_id"], row["turn"]))
    return pl.DataFrame(rows, schema=columns.schema(columns.TURNS))


def segments(spans: Iterable[SpanRow]) -> pl.DataFrame:
    """Return one row per segment of each step, in render order, with packed hashes resolved.

    `key` and `kind` tell where the hash was FIRST met; `zone` is exact for the request. A hash whose
    definition is missing (its span was lost) has null `key` and `kind`.

    Raises:
        PackedSegmentsError: A span's packed segments contradict each other.
    """
    rows: list[Row] = []
    known: dict[str, Definition] = {}
    for span in _chats(spans):
        new = definitions(span)
        known |= {digest: definition for digest, definition in new.items() if digest not in known}
        rows += _segment_rows(span, known, new)
    return pl.DataFrame(rows, schema=columns.schema(columns.SEGMENTS))


def _of_operation(spans: Iterable[SpanRow], operation: str) -> Iterator[SpanRow]:
    """Our spans of one kind; spans of other libraries in the same file are left out."""
    for span in spans:
        if span.attributes.get(names.OPERATION) == operation and names.SCHEMA in span.attributes:
            yield span


def _chats(spans: Iterable[SpanRow]) -> list[SpanRow]:
    """The steps' spans in the order in which requests were sent (a file holds them as they ended)."""

    def place(span: SpanRow) -> tuple[str, str, int, str, int, int]:
        key = _identity(span)
        return key["recording"], key["policy"], span.start, key["run_id"], key["turn"], _step(span)

    return sorted(_of_operation(spans, "chat"), key=place)


def _identity(span: SpanRow) -> Row:
    found = span.attributes
    return {
        "recording": found.get(names.REPLAY_CASSETTE) or "",
        "policy": found.get(names.REPLAY_POLICY) or "",
        "run_id": found.get(names.RUN_ID) or "",
        "turn": found.get(names.TURN_INDEX, 0),
    }


def _step(span: SpanRow) -> int:
    step = span.attributes.get(names.STEP_INDEX)
    return step if isinstance(step, int) else 0


def _step_rows(spans: Iterable[SpanRow]) -> Iterator[tuple[SpanRow, Row]]:
    caches: dict[tuple[str, str], LongestPrefix] = defaultdict(LongestPrefix)
    for span in _chats(spans):
        identity = _identity(span)
        found = span.attributes
        row = {
            **identity,
            "step": _step(span),
            "span_id": span.span_id,
            "trace_id": span.trace_id,
            "started": span.start,
            **{column: found.get(name) for column, name in _STEP_ATTRIBUTES.items()},
            **_zone_bytes(span),
            "later_causes": list(_array(span, names.BREAK_LATER_CAUSES)) or None,
            **{column: span.reported(name) for column, name in _REPORTED.items()},
            **_estimates(_estimate(span, caches[identity["recording"], identity["policy"]])),
        }
        yield span, row


def _array(span: SpanRow, name: str) -> tuple[Any, ...]:
    value = span.attributes.get(name)
    return value if isinstance(value, tuple) else ()


def _zone_bytes(span: SpanRow) -> Row:
    sizes = dict(zip(_array(span, names.ZONE_NAMES), _array(span, names.ZONE_BYTES), strict=True))
    total = sum(sizes.values()) if sizes else None
    return {"content_bytes": total} | {f"{zone}_bytes": sizes.get(zone) for zone in _ZONES}


def _estimate(span: SpanRow, cache: LongestPrefix) -> StepEstimate | None:
    packed = unpack(span)
    if packed is None:
        return None
    digests = [bytes.fromhex(digest) for digest in packed.hashes]
    common = span.attributes.get(names.COMMON_BYTES)
    scope = span.attributes.get(names.CACHE_SCOPE)
    return cache.observe(digests, packed.sizes, common if isinstance(common, int) else 0, str(scope))


def _estimates(estimate: StepEstimate | None) -> Row:
    return {name: None if estimate is None else getattr(estimate, name) for name in columns.ESTIMATED}


def _turn_row(own: SpanRow | None, taken: list[Row], tool_calls: int) -> Row:
    first = taken[0] if taken else {}
    broken = [row for row in taken if row["break_cause"] is not None]
    planned = [row for row in broken if row["break_planned"]]
    unplanned = [row for row in broken if not row["break_planned"]]
    its_break = unplanned[0] if unplanned else {}
    sums = {name: _sum(taken, name) for name in _COUNTS}
    return {
        **(_identity(own) if own else {name: first[name] for name in columns.IDENTITY}),
        "trace_id": own.trace_id if own else first["trace_id"],
        "agent": own.attributes.get(names.AGENT_NAME) if own else None,
        "started": own.start if own else first["started"],
        "steps": len(taken),
        "tool_calls": tool_calls,
        "complete": own is not None and own.attributes.get(names.TURN_STEP_COUNT) == len(taken),
        "breaks_planned": len(planned),
        "breaks_unplanned": len(unplanned),
        "break_step": its_break.get("step"),
        "break_zone": its_break.get("break_zone"),
        "break_cause": its_break.get("break_cause"),
        "planned_cause": planned[0]["break_cause"] if planned else None,
        **sums,
        "hit_rate_estimated": rate(sums["read_estimated"], sums["input_tokens_estimated"]),
    }


def _sum(rows: Iterable[Row], name: str) -> int | None:
    """Sum a column; None unless every row knows it: a partial sum would look like the whole."""
    values: list[int | None] = [row[name] for row in rows]
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _segment_rows(
    span: SpanRow, known: Mapping[str, Definition], new: Mapping[str, Definition]
) -> Iterator[Row]:
    packed = unpack(span)
    if packed is None:
        return
    place = {**_identity(span), "step": _step(span), "span_id": span.span_id}
    unseen = set(new)
    for ordinal, (digest, size, zone) in enumerate(
        zip(packed.hashes, packed.sizes, packed.zones, strict=True)
    ):
        definition = known.get(digest)
        yield {
            **place,
            "ordinal": ordinal,
            "hash": digest,
            "bytes": size,
            "zone": zone,
            "key": definition.key if definition else None,
            "kind": definition.kind if definition else None,
            "defined": digest in unseen,
        }
        unseen.discard(digest)

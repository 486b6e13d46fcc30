"""What the runtime reports, turned into span attributes; `coldturn.traces.names` says what they mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TypeAlias

import msgspec

from coldturn.reference.observer import (
    ElisionInfo,
    RefreshOutcome,
    ServerState,
    StepInfo,
    ToolCallInfo,
    ToolOutcomeInfo,
)
from coldturn.reference.prefix.ledger import Ledger, SegmentHash
from coldturn.reference.prefix.model import Break, Comparison, Marker, Surface
from coldturn.reference.surface.meta import CALL, USE
from coldturn.reference.wire.model import CacheDiagnosis, Reply, Usage
from coldturn.traces import names
from coldturn.traces.otlp import clean_text

Value: TypeAlias = str | bool | int | float | Sequence[str] | Sequence[int]
Attributes: TypeAlias = dict[str, Value]

_OPENAI = (Surface.CHAT_COMPLETIONS, Surface.RESPONSES)

DIGEST_BYTES = 8
"""Bytes of a segment's digest that go on a span: 16 hex digits."""


def compact(pairs: Mapping[str, Value | None]) -> Attributes:
    """Drop what is unknown (None) and clean every text, so that any exporter can carry it."""
    return {name: _cleaned(value) for name, value in pairs.items() if value is not None}


def _cleaned(value: Value) -> Value:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, bool | int | float):
        return value
    return [clean_text(item) if isinstance(item, str) else item for item in value]  # type: ignore[return-value] # one kind in, the same out


def request_attributes(info: StepInfo) -> Attributes:
    """Identity of a step and of its request."""
    surface = info.surface
    return compact(
        {
            names.OPERATION: "chat",
            names.STEP_INDEX: info.step,
            names.PROVIDER: surface.provider,
            names.API_TYPE: surface.value if surface in _OPENAI else None,
            names.REQUEST_MODEL: info.model,
            names.CACHE_SCOPE: info.scope,
            names.WIRE_FORMAT: surface.value,
            names.WIRE_BYTES: len(info.body),
            names.WIRE_HASH: info.ledger.wire_hash,
            names.HASH_ALGORITHM: names.HASH_ALGORITHM_NAME,
            names.PARAMS_HASH: info.ledger.settings_hash,
        }
    )


def ledger_attributes(ledger: Ledger, defined: set[bytes]) -> Attributes:
    """Zones and packed segments.

    Args:
        ledger: The request's.
        defined: Digests that the file has already defined; this request's are added.
    """
    zones, segments = ledger.zones, ledger.segments
    return compact(
        {
            names.ZONE_NAMES: [zone.zone.value for zone in zones],
            names.ZONE_BYTES: [zone.bytes for zone in zones],
            names.ZONE_SEGMENT_COUNTS: [zone.segment_count for zone in zones],
            names.ZONE_HASHES: [zone.hash for zone in zones],
            names.ZONE_PREFIX_HASHES: [zone.prefix_hash for zone in zones],
            names.SEGMENT_COUNT: len(segments),
            names.SEGMENT_HASHES: b"".join(s.digest[:DIGEST_BYTES] for s in segments).hex(),
            names.SEGMENT_BYTES: ",".join(str(s.bytes) for s in segments),
            names.SEGMENT_ZONES: _zone_runs(segments),
            names.SEGMENT_DEFINITIONS: _definitions(segments, defined),
        }
    )


def _zone_runs(segments: Iterable[SegmentHash]) -> str:
    runs = groupby(segments, key=lambda segment: segment.zone)
    return ",".join(f"{zone.value}:{sum(1 for _ in run)}" for zone, run in runs)


def _definitions(segments: Iterable[SegmentHash], defined: set[bytes]) -> str | None:
    rows: list[list[str]] = []
    for segment in segments:
        digest = segment.digest[:DIGEST_BYTES]
        if digest not in defined:
            defined.add(digest)
            rows.append([digest.hex(), clean_text(segment.key), segment.kind, segment.zone.value])
    return msgspec.json.encode(rows).decode() if rows else None


def comparison_attributes(comparison: Comparison) -> Attributes:
    """What the pair's bytes tell: common bytes, and the break unless the pair is stable."""
    first = comparison.first
    found: dict[str, Value | None] = {
        names.COMMON_BYTES: comparison.common_bytes,
        names.STABLE: comparison.stable,
    }
    if first is not None and comparison.stable and first.harmless:
        found[names.HARMLESS_CAUSE] = first.cause
    elif first is not None:
        found |= _break(first)
    return compact(found)


def _break(first: Break) -> dict[str, Value | None]:
    return {
        names.BREAK_OFFSET: first.offset,
        names.BREAK_ZONE: first.zone.value,
        names.BREAK_SEGMENT: first.segment,
        names.BREAK_PATH: first.path,
        names.BREAK_BLOCK_OFFSET: first.block_offset,
        names.BREAK_SECTION: first.section,
        names.BREAK_CAUSE: first.cause,
        names.BREAK_CONFIDENCE: first.confidence.value,
        names.BREAK_PLANNED: first.planned,
        names.BREAK_LOST_BYTES: first.lost_bytes,
        names.BREAK_DELTA_BYTES: first.delta_bytes,
        names.BREAK_LATER_CAUSES: [later.cause for later in first.later] or None,
    }


def marker_attributes(markers: Sequence[Marker], ledger: Ledger) -> Attributes:
    """What the request's cache markers ask for, and behind which segments they stand."""
    behind_blocks = any(marker.block is not None for marker in markers)
    return compact(
        {
            names.CACHE_MODE: "explicit" if behind_blocks else "automatic" if markers else "none",
            names.CACHE_TTL: [_lifetime(marker) for marker in markers] or None,
            names.CACHE_BREAKPOINTS: [_segments_before(marker, ledger) for marker in markers] or None,
        }
    )


def _segments_before(marker: Marker, ledger: Ledger) -> int:
    return 0 if marker.block is None else ledger.block_ends[marker.block]


def _lifetime(marker: Marker) -> str:
    try:
        value = msgspec.json.decode(marker.value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    ttl = value.get("ttl") if isinstance(value, dict) else None
    return ttl if isinstance(ttl, str) else ""


def elision_attributes(elision: ElisionInfo) -> Attributes:
    """What the prompt shows shortened."""
    return compact(
        {
            names.ELISION_COUNT: elision.count,
            names.ELISION_ORIGINAL_BYTES: elision.original_bytes,
            names.ELISION_SENT_BYTES: elision.sent_bytes,
            names.ELISION_BOUNDARY: None if elision.boundary_message < 0 else elision.boundary_message,
            names.ELISION_RECORDS: list(elision.handles) or None,
        }
    )


def reply_attributes(reply: Reply, *, compat_names: bool) -> Attributes:
    """The answer and the usage that came with it; nothing is filled in that was not reported."""
    usage = reply.usage or Usage()
    diagnosed = _diagnosis(reply.diagnosis) if reply.diagnosis is not None else {}
    return compact(
        {
            names.RESPONSE_ID: reply.response_id,
            names.RESPONSE_MODEL: reply.model,
            names.FINISH_REASONS: None if reply.finish_reason is None else [reply.finish_reason],
            names.INPUT_TOKENS: usage.input_tokens,
            names.OUTPUT_TOKENS: usage.output_tokens,
            names.CACHE_READ_TOKENS: usage.cache_read_tokens,
            names.CACHE_WRITE_TOKENS: usage.cache_write_tokens,
            names.CACHE_CREATION_TOKENS: usage.cache_write_tokens if compat_names else None,
            names.USAGE_RAW: usage.raw or None,
            **diagnosed,
        }
    )


def _diagnosis(found: CacheDiagnosis) -> Mapping[str, Value | None]:
    return {
        names.DIAGNOSIS_SOURCE: found.source,
        names.DIAGNOSIS_TYPE: found.type,
        names.DIAGNOSIS_REASON: found.reason,
        names.DIAGNOSIS_MISSED_TOKENS: found.missed_tokens,
        names.DIAGNOSIS_REUSABLE_TOKENS: found.reusable_tokens,
        names.DIAGNOSIS_COMPARISON_ID: found.comparison_id,
    }


def server_attributes(servers: Sequence[ServerState]) -> Attributes:
    """The servers as they stood at the end of a turn, in parallel arrays."""
    if not servers:
        return {}
    return compact(
        {
            names.SERVER_NAMES: [s.name for s in servers],
            names.SERVER_VERSIONS: [s.catalog_version for s in servers],
            names.SERVER_HASHES: [s.catalog_hash for s in servers],
            names.SERVER_TOOL_COUNTS: [s.tool_count for s in servers],
            names.SERVER_TIERS: [s.tier for s in servers],
            names.SERVER_PRELOADS: [s.preload for s in servers],
            names.SERVER_STATES: [s.state for s in servers],
            names.SERVER_PROMPT_BYTES: [s.prompt_bytes for s in servers],
            names.SERVER_MISSING_EAGER: [f"{s.name}:{name}" for s in servers for name in s.missing_eager]
            or None,
        }
    )


def call_attributes(info: ToolCallInfo) -> Attributes:
    """A tool call as it is dispatched."""
    return compact(
        {
            names.OPERATION: "execute_tool",
            names.TOOL_NAME: info.exposed_name,
            names.TOOL_CALL_ID: info.call_id,
            names.TOOL_TYPE: "function",
            names.TOOL_ROUTE: info.route,
            names.SERVER_NAME: info.server,
            names.SERVER_TOOL: info.tool,
            names.CATALOG_VERSION: info.catalog_version,
        }
    )


def outcome_attributes(info: ToolCallInfo, outcome: ToolOutcomeInfo) -> Attributes:
    """A tool call as it returned."""
    called = outcome.refusal is None and _calls_server(info)
    return compact(
        {
            names.MCP_METHOD: "tools/call" if called else None,
            names.TOOL_BYTES: outcome.size,
            names.TOOL_TOKENS_ESTIMATED: outcome.tokens_estimated,
            names.TOOL_HASH: outcome.digest,
            names.TOOL_HANDLE: outcome.handle,
            names.TOOL_ELIDED: outcome.elided,
            names.TOOL_REFUSAL: outcome.refusal,
            names.ERROR_TYPE: (outcome.refusal or "tool_error") if outcome.is_error else None,
        }
    )


def _calls_server(info: ToolCallInfo) -> bool:
    """Whether the call goes on to a server: lists and descriptions come from the catalogue."""
    if info.server is None or info.tool is None:
        return False
    return info.route in {"direct", "facade"} or info.exposed_name in {CALL, USE}


def refresh_attributes(outcome: RefreshOutcome) -> Attributes:
    """What a catalogue refresh committed."""
    return compact(
        {
            names.CATALOG_VERSION: outcome.version,
            names.CATALOG_PREVIOUS: outcome.previous_version,
            names.CATALOG_HASH: outcome.catalog_hash,
            names.CATALOG_TOOL_COUNT: outcome.tool_count,
            names.CATALOG_ADDED: list(outcome.added) or None,
            names.CATALOG_REMOVED: list(outcome.removed) or None,
            names.CATALOG_CHANGED: list(outcome.changed) or None,
        }
    )

"""What stands on the `chat` span of a recorded request, and what an analysis says beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from coldturn.analysis.breaks.explain import Compared
from coldturn.analysis.breaks.findings import Finding, Verdict
from coldturn.reference.observer import ElisionInfo, StepInfo
from coldturn.reference.prefix.difference import first_difference
from coldturn.reference.prefix.ledger import Ledger
from coldturn.reference.prefix.model import Fidelity, Zone
from coldturn.reference.prefix.request import PromptRequest
from coldturn.traces import names
from coldturn.traces import span_attributes as attributes
from coldturn.traces.span_reader import AttributeValue

_NO_ELISION: Final = ElisionInfo(0, 0, 0, -1, ())
NO_TEXT: Final = frozenset({Zone.SETTINGS, Zone.NONE})
"""Zones of findings that no text differs for."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an earlier request stands in the trace; `started` as for a span."""

    span_id: str
    trace_id: str
    turn: int
    started: int


def as_read(found: Mapping[str, attributes.Value]) -> dict[str, AttributeValue]:
    """Attributes as a reader gives them back: lists are tuples."""
    return {
        name: value if isinstance(value, str | bool | int | float) else tuple(value)
        for name, value in found.items()
    }


def _scope(request: PromptRequest) -> str:
    key = request.settings.get("prompt_cache_key", b"")
    named = f"/{key.decode(errors='replace').strip(chr(34))}" if key else ""
    return f"{request.provider}/{request.model or 'unknown'}{named}"


def request_attributes(
    one: Compared, ledger: Ledger, turn: int, step: int, defined: set[bytes]
) -> dict[str, AttributeValue]:
    """The request itself, its zones, segments and markers.

    Args:
        one: As compared.
        ledger: The request's.
        turn: Index of its turn.
        step: Index in the turn.
        defined: Digests that the trace has defined; this request's are added.
    """
    request = one.request
    info = StepInfo(
        run_id="", turn=turn, step=step, surface=request.surface, model=request.model or "unknown",
        scope=_scope(request), body=request.body, ledger=ledger, markers=request.markers, base=None,
        comparison=None, elision=_NO_ELISION,
    )  # fmt: skip
    found = as_read(
        {
            **attributes.request_attributes(info),
            **attributes.ledger_attributes(_known_zones(ledger, one.exchange.parts_missing), defined),
            **attributes.marker_attributes(request.markers, ledger),
            names.FIDELITY: request.fidelity.value,
            names.REQUEST_INDEX: one.number,
        }
    )
    if request.model is None:
        del found[names.REQUEST_MODEL]
    if request.fidelity is not Fidelity.WIRE:
        del found[names.WIRE_BYTES], found[names.WIRE_HASH]
    return found


def _known_zones(ledger: Ledger, missing: frozenset[Zone]) -> Ledger:
    """Without the zones that the source did not keep: nothing is known of them."""
    if not missing:
        return ledger
    return replace(ledger, zones=tuple(zone for zone in ledger.zones if zone.zone not in missing))


def base_attributes(base: Place | None, started: int) -> dict[str, AttributeValue]:
    """The request that it was compared with."""
    if base is None:
        return {}
    found: dict[str, AttributeValue] = {
        names.BASE_SPAN_ID: base.span_id,
        names.BASE_TRACE_ID: base.trace_id,
        names.BASE_TURN_INDEX: base.turn,
    }
    if started and base.started:
        found[names.BASE_AGE_MS] = (started - base.started) // 1_000_000
    return found


def comparison_attributes(one: Compared) -> dict[str, AttributeValue]:
    """What the pair's bytes tell, as far as the recording supports it."""
    if one.parent_request is None:
        return {}
    found = one.found
    if found is None or found.zone in NO_TEXT:
        common = _common_bytes(one.parent_request, one.request)
        return {names.STABLE: True} | ({} if common is None else {names.COMMON_BYTES: common})
    common = found.offset
    told: dict[str, attributes.Value | None] = {names.COMMON_BYTES: common}
    if found.verdict is Verdict.BROKEN_HARMLESS:
        told |= {names.STABLE: True, names.HARMLESS_CAUSE: found.cause}
    else:
        told |= {names.STABLE: False} | _break(found)
    return as_read(attributes.compact(told))


def _break(found: Finding) -> dict[str, attributes.Value | None]:
    return {
        names.BREAK_OFFSET: found.offset,
        names.BREAK_ZONE: found.zone.value,
        names.BREAK_SEGMENT: found.segment,
        names.BREAK_PATH: found.path,
        names.BREAK_BLOCK_OFFSET: found.block_offset,
        names.BREAK_SECTION: found.section,
        names.BREAK_CAUSE: found.cause,
        names.BREAK_CONFIDENCE: found.confidence,
        names.BREAK_PLANNED: found.planned,
        names.BREAK_LOST_BYTES: found.lost_bytes,
        names.BREAK_DELTA_BYTES: found.delta_bytes,
        names.BREAK_LATER_CAUSES: [later.cause for later in found.later] or None,
    }


def _common_bytes(parent: PromptRequest, child: PromptRequest) -> int | None:
    """Content bytes in common from the start; None where the recording does not support an offset."""
    if Fidelity.WIRE is not parent.fidelity or parent.fidelity is not child.fidelity:
        return None
    if child.previous_response_id is not None:
        return None
    place = first_difference(parent, child)
    return parent.content_bytes if place is None else place.offset


def further(one: Compared) -> dict[str, Any]:
    """The columns of `coldturn.analysis.frames.further.FURTHER`."""
    found: dict[str, Any] = {}
    if one.reply is not None and one.reply.usage is not None:
        found["output_tokens_reported"] = one.reply.usage.output_tokens
    row = one.estimate
    if row is not None:
        found |= {
            "input_tokens_reported": row.input_reported,
            "read_tokens_reported": row.read_reported,
            "written_tokens_reported": row.written_reported,
            "rules": row.rules,
            "input_tokens_estimated": row.input_estimated,
            "ceiling_estimated": row.ceiling_estimated,
            "read_estimated": row.read_estimated,
            "written_estimated": row.written_estimated,
        }
    if one.found is not None:
        found["verdict"] = one.found.verdict.value
        found["lost_tokens_estimated"] = one.found.lost_tokens_estimated
        if one.found.zone in NO_TEXT:
            found["judged_cause"] = one.found.cause
    return found

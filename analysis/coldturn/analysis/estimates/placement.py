"""Which boundaries a request writes and looks up, by the markers in it and its provider's rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec

from coldturn.analysis.entries.request import Write
from coldturn.analysis.estimates.layout import Layout, Unit, setting
from coldturn.analysis.estimates.ruleset import Parameters, Placement
from coldturn.reference.prefix.model import BlockKind, Marker, Zone
from coldturn.reference.prefix.request import PromptRequest

TOO_MANY_MARKERS = "too_many_markers"
TTL_ORDER = "ttl_order"
CONTESTED_PROBES = "contested_latest_probes"

_RUNS = frozenset({BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT})
_UNMARKABLE = frozenset({BlockKind.REASONING})
_DEVELOPER = frozenset({"developer", "system"})


@dataclass(frozen=True, slots=True)
class Placed:
    """Boundaries are indices into the layout's segments.

    Attributes:
        refused: Why the provider would answer 400; None when it would not.
        contested: The result hangs on a point on which sources disagree.
    """

    probes: tuple[int, ...] = ()
    writes: tuple[Write, ...] = ()
    refused: str | None = None
    contested: str | None = None


def place(request: PromptRequest, layout: Layout, parameters: Parameters) -> Placed:
    """Boundaries of one request; none where the rules know no markers."""
    match parameters.placement:
        case Placement.ANTHROPIC:
            return _anthropic(request, layout, parameters)
        case Placement.OPENAI:
            return _openai(request, layout, parameters)
        case None:
            return Placed()


def _anthropic(request: PromptRequest, layout: Layout, parameters: Parameters) -> Placed:
    """Explicit markers, and one for the whole request that lands on the last block that can be marked."""
    marked: dict[int, float | None] = {}
    for marker in request.markers:
        block = _last_markable(layout) if marker.block is None else layout.block_at(marker.block)
        if block is not None:
            marked[block] = _ttl(marker, parameters.ttls)
    if not marked:
        return Placed()
    if parameters.max_breakpoints is not None and len(marked) > parameters.max_breakpoints:
        return Placed(refused=TOO_MANY_MARKERS)
    ordered = sorted(marked.items())
    lifetimes = [ttl or parameters.ttl or 0.0 for _, ttl in ordered]
    if any(later > earlier for earlier, later in pairwise(lifetimes)):
        return Placed(refused=TTL_ORDER)
    positions = _positions(layout.units, marked)
    probes: set[int] = set()
    for block, _ in ordered:
        at = positions.index(block)
        probes.update(positions[max(at + 1 - parameters.lookback, 0) : at + 1])
    return Placed(
        probes=tuple(layout.block_ends[block] for block in sorted(probes)),
        writes=tuple(Write(layout.block_ends[block], ttl) for block, ttl in ordered),
    )


def _positions(blocks: Sequence[Unit], marked: Mapping[int, object]) -> list[int]:
    """Last blocks of positions: a run of tool calls is one, so is one of results; a marker ends one."""
    return [
        index
        for index, block in enumerate(blocks)
        if index in marked
        or index + 1 == len(blocks)
        or block.kind not in _RUNS
        or blocks[index + 1].kind is not block.kind
    ]


def _last_markable(layout: Layout) -> int | None:
    blocks = layout.units
    return next((i for i in range(len(blocks) - 1, -1, -1) if blocks[i].kind not in _UNMARKABLE), None)


def _ttl(marker: Marker, known: Mapping[str, float]) -> float | None:
    try:
        value = msgspec.json.decode(marker.value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return known.get(str(value.get("ttl"))) if isinstance(value, dict) else None


def _openai(request: PromptRequest, layout: Layout, parameters: Parameters) -> Placed:
    """Explicit breakpoints, and in implicit mode the end of the latest eligible message."""
    found = (layout.block_at(marker.block) for marker in request.markers if marker.block is not None)
    explicit = sorted({block for block in found if block is not None})
    ttl = request_ttl(request, parameters)
    implicit = setting(request.settings, "prompt_cache_options.mode") != b'"explicit"'
    endings = list(_eligible(layout.units)) if implicit else []
    most = parameters.max_explicit_writes
    written = {*_latest(explicit, most), endings[-1]} if endings else set(_latest(explicit, most + 1))
    probes = {*explicit[: parameters.first_probes], *_latest(explicit, parameters.latest_probes)}
    if endings:
        probes.update(endings[-(parameters.earlier_probes + 1) :])
        probes.update(_developer_end(layout.units))
    beyond = parameters.first_probes + parameters.latest_probes
    return Placed(
        probes=tuple(layout.block_ends[block] for block in sorted(probes)),
        writes=tuple(Write(layout.block_ends[block], ttl) for block in sorted(written)),
        contested=CONTESTED_PROBES if len(explicit) > beyond else None,
    )


def request_ttl(request: PromptRequest, parameters: Parameters) -> float | None:
    """Seconds that a request asks its prefix to be kept, by the names that the rules know; else None."""
    for path in ("prompt_cache_options.ttl", "prompt_cache_retention"):
        value = setting(request.settings, path)
        if value is not None:
            return parameters.ttls.get(value.decode("utf-8", "replace").strip('"'))
    return None


def _latest(explicit: Sequence[int], count: int) -> Sequence[int]:
    return explicit[-count:] if count else ()


def _eligible(blocks: Sequence[Unit]) -> Iterator[int]:
    """Last blocks of messages at which an implicit breakpoint may stand, in order."""
    initial = next(iter(_developer_end(blocks)), None)
    for index, block in enumerate(blocks):
        following = blocks[index + 1] if index + 1 < len(blocks) else None
        if index == initial:
            yield index
        elif block.kind is BlockKind.TOOL_RESULT:
            if following is None or following.kind is not BlockKind.TOOL_RESULT:
                yield index
        elif block.role == "user" and (following is None or following.message != block.message):
            yield index


def _developer_end(blocks: Sequence[Unit]) -> Iterator[int]:
    """The last block of the developer messages and instructions at the start, if there are any."""
    end = None
    for index, block in enumerate(blocks):
        if block.zone is Zone.TOOLS:
            continue
        if block.zone not in (Zone.SYSTEM, Zone.TAIL) and block.role not in _DEVELOPER:
            break
        end = index
    if end is not None:
        yield end

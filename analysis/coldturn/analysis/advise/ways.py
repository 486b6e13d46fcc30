"""How each cause is mended: what a simulation does, what changes on the wire, what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Mend(StrEnum):
    """What a simulation does to a request that has the cause.

    Attributes:
        HELD: What was sent before is sent again as it was.
        SUFFIX: The same, and what is new stands behind everything, in this request only.
        APPENDED: The same, and what is new stands in the history from then on.
        PLANNED: What was sent before is sent again as it was until the next turn begins.
        SETTING: The setting keeps its value.
        MARKERS: Markers stand where the next request can read.
        LIFETIME: Entries are asked to live longer.
        NONE: No change of requests mends it, or none that can be simulated.
    """

    HELD = "held"
    SUFFIX = "suffix"
    APPENDED = "appended"
    PLANNED = "planned"
    SETTING = "setting"
    MARKERS = "markers"
    LIFETIME = "lifetime"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Way:
    """How a cause is mended.

    Attributes:
        wire: What changes in what is sent.
        trade_off: What it costs, in one sentence.
    """

    mend: Mend
    wire: str
    trade_off: str


_ORDER = Way(
    Mend.HELD,
    "Earlier blocks are sent again in the order and the bytes in which they were first sent.",
    "Needs what was sent to be kept, or one fixed way to serialise it; nothing is lost to the model.",
)
_FROZEN = Way(
    Mend.HELD,
    "Messages that were sent stay as they were; what changes is said in new ones.",
    "The prompt grows by what is no longer taken out, until a planned compaction.",
)
_VOLATILE = Way(
    Mend.SUFFIX,
    "The value that moves leaves the system text and stands in a last message of each request.",
    "A few uncached tokens in every request, and the model finds the value elsewhere.",
)
_TOOL = Way(
    Mend.APPENDED,
    "The tools array stays; a tool that arrives later is defined behind the history, and stays there.",
    "Calls go through the provider's own deferral or through one tool that calls others by name.",
)
_ROSTER = Way(
    Mend.APPENDED,
    "The list in the system text stays; what joins it is announced behind the history.",
    "The model reads the newest entries later in the prompt; the list is whole again after a compaction.",
)
_KEPT = Way(
    Mend.HELD,
    "What left stays listed, and calls of it are refused.",
    "The model may try what is gone, and reads the refusal.",
)
_SECTION = Way(
    Mend.HELD,
    "The same sections are sent in the same order, in every request.",
    "Sections that are not needed are paid for at the price of a read.",
)
_PLAN = Way(
    Mend.PLANNED,
    "Results are shortened once, at the start of a turn, and never changed again.",
    "Within a turn the prompt stays longer.",
)
_SETTING = Way(
    Mend.SETTING,
    "The setting keeps the value that the conversation began with.",
    "A step that needs another value is a conversation of its own.",
)
_MARKERS = Way(
    Mend.MARKERS,
    "One marker behind what the request before held, one at the end; those on tools and system text stay.",
    "Each write costs more than plain input, so short prefixes gain little.",
)
_LIFETIME = Way(
    Mend.LIFETIME,
    "Markers, or the request, ask for the longer lifetime.",
    "Where writes cost more for it (on Anthropic's API twice the input price), it pays after two reads.",
)


def _none(wire: str, trade_off: str) -> Way:
    return Way(Mend.NONE, wire, trade_off)


_OUTSIDE = "Nothing in the requests."

_TOOLS: Mapping[str, Way] = {
    "tool_order": _ORDER,
    "schema_key_order": _ORDER,
    "tool_edited": _ORDER,
    "random_id_in_tools": _ORDER,
    "defer_mode_flip": _ORDER,
    "tool_added": _TOOL,
    "tool_promoted": _TOOL,
    "tier_changed": _TOOL,
    "facade_index_changed": _TOOL,
    "tool_removed": _KEPT,
}
_SYSTEM: Mapping[str, Way] = {
    **dict.fromkeys(
        (
            "clock_in_prefix",
            "date_rollover",
            "random_id_in_system",
            "attribution_nonce",
            "env_state",
            "memory_injection",
            "system_micro_drift",
            "system_edited",
        ),
        _VOLATILE,
    ),
    **dict.fromkeys(("catalog_growth", "skills_roster", "subagent_roster"), _ROSTER),
    "catalog_shrink": _KEPT,
    "section_toggle": _SECTION,
    "section_reorder": _SECTION,
    "system_replaced": _none(
        "Another task gets a conversation of its own, so that each keeps its prefix.",
        "Two conversations share no history.",
    ),
}
_HISTORY: Mapping[str, Way] = {
    **dict.fromkeys(
        (
            "block_missing",
            "content_shape",
            "empty_field",
            "history_id_regenerated",
            "json_format",
            "message_block_reorder",
            "message_merge",
            "whitespace_drift",
        ),
        _ORDER,
    ),
    **dict.fromkeys(
        (
            "history_rewritten",
            "image_replaced",
            "image_toggle",
            "thinking_stripped",
            "transient_tail_changed",
            "transient_tail_removed",
        ),
        _FROZEN,
    ),
    "elision_moving_boundary": _PLAN,
    "elision_not_idempotent": _PLAN,
    "planned_elision": _none("Nothing: it was meant.", "None."),
    "compaction": _none(
        "Compact seldom, and at the start of a turn.",
        "A longer prompt meanwhile; the summary is worth its price when much follows.",
    ),
}
_SETTINGS: Mapping[str, Way] = dict.fromkeys(
    (
        "betas_changed",
        "cache_key_changed",
        "effort_changed",
        "image_detail_changed",
        "model_changed",
        "parallel_tool_calls_changed",
        "response_format_changed",
        "scope_changed",
        "service_tier_changed",
        "thinking_changed",
        "tool_choice_changed",
        "verbosity_changed",
    ),
    _SETTING,
)
PLACEMENT: Mapping[str, Way] = {
    **dict.fromkeys(
        (
            "breakpoint_missing",
            "breakpoint_on_volatile",
            "lookback_exceeded",
            "too_many_markers",
            "ttl_order",
        ),
        _MARKERS,
    ),
    "ttl_expired": _LIFETIME,
    "ttl_downgraded": _LIFETIME,
    "cached_content_changed": _none(
        "One explicit cache is kept for as long as it is used.", "Storage is paid by the hour."
    ),
    "cached_content_expired": _none(
        "An explicit cache is renewed before its end.", "Storage is paid by the hour."
    ),
    "below_minimum": _none(
        "A stable prefix filled up to the minimum (docs/providers.md tells from which length on).",
        "Every request is longer; it pays from the third request or so on.",
    ),
    "below_block_floor": _none(
        "Smaller blocks in the engine, or longer shared prefixes.", "More entries to keep in the engine."
    ),
    "envelope_order": _none("Top-level keys in one fixed order.", "None."),
    "concurrent_cold": _none(
        "One request is sent first, the others when its answer has begun.", "The others start later."
    ),
    "routing": _none(_OUTSIDE, "A conversation pinned to one upstream cannot flee from a slow one."),
    "engine_no_checkpoint": _none(_OUTSIDE, "Checkpoints take the engine's memory."),
    "template_history_drift": _none(
        _OUTSIDE, "The template of the model's maker is no longer used as it is."
    ),
    "provider_changed": _none(
        "A conversation stays where it began.",
        "No way out when that provider is slow or down: a fallback is worth one cold start.",
    ),
    "api_changed": _none("A conversation stays in the request format that it began in.", "None."),
    "provider_side": _none(_OUTSIDE, "None."),
    "unknown": _none("Not known.", "Not known."),
}
"""Causes that no text shows: where markers stand, how long entries live, what the provider does."""

WAYS: Mapping[str, Way] = MappingProxyType({**_TOOLS, **_SYSTEM, **_HISTORY, **_SETTINGS, **PLACEMENT})
"""Cause -> how it is mended."""

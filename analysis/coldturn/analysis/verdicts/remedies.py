"""One line of advice per cause that no prompt text shows; ``docs/causes.md`` says more."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from coldturn.reference.prefix.causes import REMEDIES

SETTINGS: Mapping[str, str] = {
    "model_changed": "Keep one model per conversation; give another model a conversation of its own.",
    "effort_changed": "Choose the effort when a conversation starts and keep it.",
    "thinking_changed": "Choose thinking when a conversation starts and keep its mode and budget.",
    "verbosity_changed": (
        "Choose the verbosity when a conversation starts; ask for length in the last message."
    ),
    "tool_choice_changed": (
        "Leave the tool choice alone between steps; say in the last message which tool to call."
    ),
    "parallel_tool_calls_changed": "Decide on parallel calls when a conversation starts.",
    "response_format_changed": (
        "Send one response format in all requests, or ask for the final form in a request of its own."
    ),
    "service_tier_changed": "Keep the service tier for a conversation; change it between two.",
    "betas_changed": "Send the same beta features with every request of a conversation.",
    "image_detail_changed": "Send an image again with the detail that it was first sent with.",
    "cache_key_changed": "Derive the cache key or session id from the conversation, not from the request.",
    "cached_content_changed": "Keep one explicit cache for a conversation; renew it, do not make it anew.",
    "scope_changed": "Send a conversation to one host, account and project, with one cache salt.",
}

NO_TEXT: Mapping[str, str] = {
    "below_minimum": "Nothing to mend in the prompt: it is shorter than what the provider keeps.",
    "below_block_floor": "Use a smaller block size where the engine has one, or share longer prefixes.",
    "breakpoint_missing": (
        "Set a marker behind the last block of every request, and one behind the system text."
    ),
    "breakpoint_on_volatile": "Move the marker to the last block that the next request repeats.",
    "lookback_exceeded": "Keep a second marker where the request before had its last one.",
    "too_many_markers": "Keep the latest markers, as many as the provider takes.",
    "ttl_order": "Put markers with the longer lifetime in front of those with the shorter one.",
    "envelope_order": "Write the body's top-level keys in one fixed order.",
    "ttl_expired": "Ask for the longer lifetime, or send a small request before the shorter one ends.",
    "cached_content_expired": (
        "Give the explicit cache a lifetime as long as the conversation, or renew it before its end."
    ),
    "ttl_downgraded": (
        "Ask for the long lifetime in every request, and check in the usage that it is granted."
    ),
    "concurrent_cold": "Send one request first and the others when its answer has begun.",
    "routing": "Pin the conversation to one upstream (a session id, a provider order).",
    "engine_no_checkpoint": (
        "Give the engine room for checkpoints, or a model without recurrent or sliding-window state."
    ),
    "template_history_drift": (
        "Use a chat template that renders earlier messages the same in every turn, reasoning included."
    ),
    "provider_changed": (
        "Stay with one provider within a conversation; a handoff costs one cold start, and so does each "
        "return after the cache's lifetime."
    ),
    "api_changed": "Stay with one request format within a conversation; move to another between two.",
    "provider_side": "Nothing to mend in the prompt: send it again; report it where it lasts.",
}

KEEP_WARM = (
    "No longer lifetime is on offer: send a small request before it ends, or accept what the pause costs."
)
DRIFT_BY_DESIGN = (
    "Nothing to mend in the prompt: the provider leaves out earlier reasoning at each new user message, "
    "by design; some newer models keep it."
)
SPREAD_KEYS = (
    "Spread the requests: one prompt_cache_key for each conversation or bucket of users, each below about "
    "15 a minute."
)
ASK_SERVERS = "See whether the MCP servers list other tools than before; else send it again, and report it."
NAME_RULES = (
    "Name the rules of this cache (--rules NAME) if you know them, and see whether the miss comes back."
)
OWN_BLOCK = "Append new words as a block or message of their own, so that the marked block stays as it was."
MARK_HISTORY = (
    "Set a second marker behind the last block of every request: the conversation is read from there."
)

ALL_REMEDIES: Mapping[str, str] = MappingProxyType({**REMEDIES, **SETTINGS, **NO_TEXT})
"""Every cause -> what to do, one line."""

"""One line of advice per cause; ``docs/causes.md`` says more under an anchor of the same name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from coldturn.reference.prefix.model import Zone

TOOLS: Mapping[str, str] = {
    "tool_order": "Sort tools by a fixed key once per conversation and keep that order.",
    "schema_key_order": (
        "Keep the bytes of each schema as first sent, or serialise schemas in one fixed key order."
    ),
    "tool_added": (
        "Fix the tools array for the conversation; make late tools reachable through a call-by-name tool."
    ),
    "tool_removed": "Keep a tool's definition until the conversation ends and refuse its calls instead.",
    "tool_promoted": (
        "Call discovered tools through a tool that never changes, or load them natively behind the history."
    ),
    "tool_edited": (
        "Keep paths, lists and other moving values out of tool definitions; take edits in between turns only."
    ),
    "random_id_in_tools": (
        "Take the random value out of the tool definition, or choose it once per conversation."
    ),
    "defer_mode_flip": "Decide once per conversation which tools are deferred.",
    "tier_changed": "Let a server keep its tier until the conversation ends (`tier_change = boundary`).",
    "facade_index_changed": (
        "Tell of a facade's new tools behind the history until the prefix breaks anyway, then fold them in."
    ),
}

SYSTEM: Mapping[str, str] = {
    "clock_in_prefix": (
        "Move the time into a message at the very end, or let the model ask for it with a tool."
    ),
    "date_rollover": "Put the date into a message at the end, or fix it when the conversation starts.",
    "random_id_in_system": (
        "Take the random value out of the system prompt, or choose it once per conversation."
    ),
    "attribution_nonce": "Turn the attribution line off, or send it as an HTTP header.",
    "env_state": (
        "Take directory, git and editor state once at the start, and tell changes at the end of the history."
    ),
    "catalog_growth": (
        "List the always-loaded tools only; tell of newly loaded ones in a reminder behind the history."
    ),
    "catalog_shrink": (
        "Keep the line of a tool that left and say at the end of the history that it is gone."
    ),
    "skills_roster": (
        "Fix the list of skills when the conversation starts; announce new ones behind the history."
    ),
    "subagent_roster": (
        "Fix the list of subagents when the conversation starts; announce new ones behind the history."
    ),
    "memory_injection": (
        "Put memories behind everything static (a last system block), or into the newest message."
    ),
    "section_toggle": "Send the section always or never; what comes and goes belongs behind the history.",
    "section_reorder": (
        "Assemble the system prompt in one fixed order; sort documents and examples by a fixed key."
    ),
    "system_replaced": (
        "Keep one system prompt per conversation; give another role a conversation of its own."
    ),
    "system_micro_drift": (
        "Find what renders this value and keep it constant, or move it behind the history."
    ),
    "system_edited": (
        "Keep the system prompt as it was until the conversation ends; put news behind the history."
    ),
}

HISTORY: Mapping[str, str] = {
    "elision_moving_boundary": (
        "Shorten old results once, at the start of a turn, and never again within it."
    ),
    "planned_elision": "Nothing to mend: old results were shortened once, between turns, as planned.",
    "elision_not_idempotent": "Shorten from the original and leave alone what is already shortened.",
    "compaction": (
        "Compact rarely and by a large step; each compaction pays for the whole new history once."
    ),
    "image_replaced": "Keep images as sent, or replace them all at once between turns.",
    "image_toggle": "Decide once whether images of older messages are sent, and keep to it.",
    "thinking_stripped": "Send reasoning blocks back exactly as they came.",
    "history_id_regenerated": "Store the ids that were sent or received and send the same ones again.",
    "content_shape": "Write a message's content in one shape, always a string or always a list of parts.",
    "whitespace_drift": (
        "Store texts as they were sent, and do not strip or normalise them when they are sent again."
    ),
    "json_format": (
        "Store tool arguments and results as text and send that text again; do not parse and dump."
    ),
    "empty_field": "Send an empty field always or never.",
    "message_block_reorder": "Keep the blocks of sent messages in the order in which they were sent.",
    "message_merge": "Keep message boundaries as they were sent.",
    "block_missing": "Repeat everything that was sent; append corrections instead of taking messages out.",
    "transient_tail_removed": (
        "Put reminders into a message of their own behind the history, never inside a user message."
    ),
    "transient_tail_changed": (
        "Freeze a reminder once something stands behind it, or send it as the very last message."
    ),
    "history_rewritten": "Treat the history as append-only: never rewrite what was sent.",
}

BY_KIND: Mapping[str, str] = {
    "url": (
        "Upload the file once and name it by its id, or sign its address once and send the same one again."
    ),
    "citations": "Decide on citations when a document is first sent, and keep to it.",
    "item_reference": (
        "Name stored items in one way, whole or by reference; as a rule the model reads the same."
    ),
}
"""Kind of a rewritten history -> what to do."""

AS_SENT = "Send a result or message again as it was first sent: what it says of the time was true then."
"""What to do about a time that was rendered anew in the history."""

FLAGS = "Set switches of tools, such as `strict`, once per conversation, and the same in every request."
"""What to do about tools that say the same with a switch turned."""

_TIMES = frozenset({"clock_in_prefix", "date_rollover"})

REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        **TOOLS,
        **SYSTEM,
        **HISTORY,
        "unknown": "Compare the two windows: the place is certain, the reason is not.",
    }
)
"""Cause -> what to do, one line."""


RENEWED_SUFFIX = "renewed_suffix"
"""Kind of a last message that each request sends anew, as `RENEWED` says."""
RENEWED = "Nothing to mend: what each request sends anew at its very end costs itself alone."


def remedy_of(cause: str, zone: Zone, kinds: tuple[str, ...] = ()) -> str | None:
    """What to do about a cause where it was found, one line; None for one that has no remedy here."""
    if zone is Zone.HISTORY and cause in _TIMES:
        return AS_SENT
    if cause == "tool_edited" and kinds == ("flag",):
        return FLAGS
    if RENEWED_SUFFIX in kinds:
        return RENEWED
    if cause == "history_rewritten" and len(kinds) == 1 and kinds[0] in BY_KIND:
        return BY_KIND[kinds[0]]
    return REMEDIES.get(cause)

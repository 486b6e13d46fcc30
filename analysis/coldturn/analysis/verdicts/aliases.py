"""What others call our causes: the words of Claude Code and of two providers' own diagnoses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from coldturn.analysis.breaks.findings import Finding
from coldturn.reference.prefix.model import Zone

CLAUDE_CODE = "claude_code"
ANTHROPIC = "anthropic"
OPENAI = "openai"

_SYSTEM = frozenset({Zone.SYSTEM, Zone.TAIL})
_TOOLS = frozenset({Zone.TOOLS})
_MESSAGES = frozenset({Zone.HISTORY, Zone.TRANSIENT})
_ANYWHERE = frozenset(Zone)


@dataclass(frozen=True, slots=True)
class Alias:
    """What one word of somebody else's covers.

    Attributes:
        zones: Findings with a place in these zones; empty when the word names a cause whatever its zone.
        causes: Causes of ours that it names; empty when it names a zone.
        generic: Causes of ours that say no more than the word does.
    """

    zones: frozenset[Zone] = frozenset()
    causes: frozenset[str] = frozenset()
    generic: frozenset[str] = frozenset()

    def covers(self, cause: str, zone: Zone) -> bool:
        """Whether a cause at a zone falls under the word."""
        return cause in self.causes if self.causes else zone in self.zones

    def equals(self, cause: str) -> bool:
        """Whether a cause that falls under the word says no more than it does."""
        return len(self.causes) == 1 or cause in self.generic


def _cause(*names: str) -> Alias:
    return Alias(causes=frozenset(names))


_SYSTEM_CHANGED = Alias(_SYSTEM, generic=frozenset({"system_edited", "unknown"}))
_TOOLS_CHANGED = Alias(_TOOLS, generic=frozenset({"unknown"}))
_MESSAGES_CHANGED = Alias(_MESSAGES, generic=frozenset({"history_rewritten", "unknown"}))

ALIASES: Mapping[str, Mapping[str, Alias]] = {
    CLAUDE_CODE: {
        "system_prompt_changed": _SYSTEM_CHANGED,
        "tools_changed": _TOOLS_CHANGED,
        "model_changed": _cause("model_changed"),
        "messages_rewritten": _MESSAGES_CHANGED,
        "ttl_expired_5m": _cause("ttl_expired", "ttl_downgraded"),
        "ttl_expired_1h": _cause("ttl_expired"),
        "likely_server_side": Alias(
            causes=frozenset({"provider_side", "routing"}), generic=frozenset({"provider_side"})
        ),
    },
    ANTHROPIC: {
        "model_changed": _cause("model_changed"),
        "system_changed": _SYSTEM_CHANGED,
        "tools_changed": _TOOLS_CHANGED,
        "messages_changed": _MESSAGES_CHANGED,
    },
    OPENAI: {
        "model_changed": _cause("model_changed"),
        "prompt_cache_key_changed": _cause("cache_key_changed"),
        "tools_changed": _TOOLS_CHANGED,
        "text_format_changed": _cause("response_format_changed"),
        "reasoning_effort_changed": _cause("effort_changed"),
        "verbosity_changed": _cause("verbosity_changed"),
        "context_compacted": _cause("compaction"),
        "input_changed": Alias(
            _SYSTEM | _MESSAGES, generic=frozenset({"system_edited", "history_rewritten", "unknown"})
        ),
        "service_tier_changed": _cause("service_tier_changed"),
    },
}
"""Source -> word -> what it covers."""

NO_VERDICT: Mapping[str, frozenset[str]] = {
    ANTHROPIC: frozenset({"previous_message_not_found", "unavailable"}),
}
"""Words that say that nothing was compared: accepted, and matching nothing."""

WORDS: frozenset[str] = frozenset(
    {word for table in ALIASES.values() for word in table}
    | {word for words in NO_VERDICT.values() for word in words}
)
"""Every word that is accepted where a cause is."""


def aliases_of(cause: str, zone: Zone) -> tuple[str, ...]:
    """What others call a cause at a zone: ``openai: input_changed``, one word of each that has one."""
    found: dict[str, str] = {}
    for source, table in ALIASES.items():
        for word, alias in table.items():
            # A word for the cause itself says more than one for its place.
            if alias.covers(cause, zone) and (source not in found or alias.causes):
                found[source] = word
    return tuple(f"{source}: {word}" for source, word in found.items())


def matches(word: str, found: Finding) -> bool:
    """Whether a finding, or a cause behind or beside its first one, falls under somebody else's word."""
    meanings = [table[word] for table in ALIASES.values() if word in table]
    return any(
        alias.covers(found.cause, found.zone)
        or any(alias.covers(later.cause, later.zone) for later in found.later)
        or any(beside.cause in alias.causes for beside in found.alongside)
        for alias in meanings
    )

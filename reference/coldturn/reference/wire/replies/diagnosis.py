"""What providers say themselves of a cache miss.

Anthropic answers a request that carries ``diagnostics`` with an object of that name (its guide to cache
diagnostics, 2026); OpenAI answers ``prompt_cache_options.comparison_response_id`` with
``prompt_cache_diagnostics`` (its guide to prompt cache diagnostics, September 2026, Responses API). Words
that are not known are kept; an object of another shape is no diagnosis, and never makes a reply unreadable.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from coldturn.reference.wire.model import CacheDiagnosis
from coldturn.reference.wire.replies.common import count_of

_NOT_A_MISS = {
    "previous_message_not_found": "comparison_response_not_found",
    "unavailable": "unavailable",
}
"""Reasons by which Anthropic says that nothing was compared."""

_ASKED = (("diagnostics", "previous_message_id"), ("prompt_cache_options", "comparison_response_id"))


def of_anthropic(diagnostics: object) -> CacheDiagnosis | None:
    """Read the ``diagnostics`` of a message.

    None stands for what null says there: it was not asked for, or nothing differed.
    """
    if not isinstance(diagnostics, dict) or "cache_miss_reason" not in diagnostics:
        return None
    found = diagnostics["cache_miss_reason"]
    if found is None:
        return CacheDiagnosis("anthropic", "pending")
    reason = _word(found, "type")
    if reason is None:
        return None
    missed = count_of(found, "cache_missed_input_tokens")
    return CacheDiagnosis("anthropic", _NOT_A_MISS.get(reason, "cache_miss"), reason, missed)


def of_openai(diagnostics: object, options: object = None) -> CacheDiagnosis | None:
    """Read ``prompt_cache_diagnostics``; `options` is the ``prompt_cache_options`` beside it."""
    kind = _word(diagnostics, "type")
    if kind is None:
        return None
    return CacheDiagnosis(
        "openai",
        kind,
        _word(diagnostics, "reason"),
        missed_tokens=count_of(diagnostics, "cache_missed_tokens"),
        reusable_tokens=count_of(diagnostics, "comparison_reusable_tokens"),
        comparison_id=_word(options, "comparison_response_id"),
    )


def comparison_asked(settings: Mapping[str, bytes]) -> str | None:
    """Id of the response that a request asks to be compared with; None when it asks for none.

    Args:
        settings: Compact JSON of its top-level keys, by key (`PromptRequest.settings`).
    """
    for key, inner in _ASKED:
        if key not in settings:
            continue
        try:
            return _word(msgspec.json.decode(settings[key]), inner)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    return None


def _word(holder: object, key: str) -> str | None:
    value = holder.get(key) if isinstance(holder, dict) else None
    return value if isinstance(value, str) else None

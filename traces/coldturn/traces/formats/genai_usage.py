"""Token counts on spans, under all the names that libraries have given them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coldturn.traces import names
from coldturn.traces.usage_reply import Counts, counts

_INPUT = (
    str(names.INPUT_TOKENS),
    *names.ALIASES[names.INPUT_TOKENS],
    "llm.usage.prompt_tokens",
    "ai.usage.inputTokens",
    "ai.usage.promptTokens",
)
_OUTPUT = (
    str(names.OUTPUT_TOKENS),
    *names.ALIASES[names.OUTPUT_TOKENS],
    "llm.usage.completion_tokens",
    "ai.usage.outputTokens",
    "ai.usage.completionTokens",
)
_READ = (
    str(names.CACHE_READ_TOKENS),
    *names.ALIASES[names.CACHE_READ_TOKENS],
    "gen_ai.usage.details.cache_read_input_tokens",
    "gen_ai.usage.details.cached_tokens",
    "gen_ai.usage.input_tokens.cached",
    "llm.usage.cache_read_input_tokens",
    "ai.usage.cachedInputTokens",
    "ai.usage.inputTokenDetails.cacheReadTokens",
)
_WRITTEN = (
    str(names.CACHE_WRITE_TOKENS),
    *names.ALIASES[names.CACHE_WRITE_TOKENS],
    "gen_ai.usage.details.cache_creation_input_tokens",
    "llm.usage.cache_creation_input_tokens",
    "ai.usage.inputTokenDetails.cacheWriteTokens",
)
_BARE = ("input_tokens", "cache_read_tokens", "cache_creation_tokens", "output_tokens")
"""Claude Code's own telemetry: Anthropic's fields, whose input leaves out what was read and written."""


def usage_of(attributes: Mapping[str, Any]) -> Counts:
    """The counts of a span; those that it does not have are None."""
    found = [_first(attributes, known) for known in (_INPUT, _READ, _WRITTEN, _OUTPUT)]
    if any(one is not None for one in found):
        return counts(*found)
    return counts(*(attributes.get(key) for key in _BARE), excludes_cache=True)


def _first(attributes: Mapping[str, Any], known: tuple[str, ...]) -> Any:  # noqa: ANN401 - any JSON value
    return next((attributes[key] for key in known if attributes.get(key) is not None), None)

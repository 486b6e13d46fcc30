"""Replies of which nothing but token counts was kept."""

from __future__ import annotations

import json
from dataclasses import dataclass

from coldturn.reference.prefix.model import Surface
from coldturn.reference.tokens import ReportedTokens
from coldturn.traces.slices import NotJsonError, object_parts

_COUNTS = frozenset({
    "prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "prompt_cache_hit_tokens",
    "promptTokenCount", "inputTokens",
})  # fmt: skip
"""Members of which one stands in every usage object, whoever's it is."""
_NO_ANSWER = frozenset({"usage", "usageMetadata", "id", "model", "object", "created"})
"""Members of a reply that say nothing of what was answered."""

_EMPTY = {
    Surface.MESSAGES: b'"content":[]',
    Surface.RESPONSES: b'"output":[]',
    Surface.CHAT_COMPLETIONS: b'"choices":[]',
    Surface.CONVERSE: b'"output":{}',
}
_LONGEST = 4096
_MOST_TOKENS = 1 << 53
"""Above this no count of tokens is one: JSON's numbers end there."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Tokens as a source reports them. `input` includes read and written ones; None means not reported."""

    input: ReportedTokens | None = None
    read: ReportedTokens | None = None
    written: ReportedTokens | None = None
    output: ReportedTokens | None = None

    @property
    def known(self) -> bool:
        """Whether anything was reported."""
        return any(one is not None for one in self._all)

    def agrees(self, other: Counts) -> bool:
        """Whether the input is the same in both, and no other count differs."""
        pairs = zip(self._all, other._all, strict=True)
        return self.input is not None and all(
            mine is None or theirs in (None, mine) for mine, theirs in pairs
        )

    @property
    def _all(self) -> tuple[ReportedTokens | None, ...]:
        return self.input, self.read, self.written, self.output


def counted(value: object) -> ReportedTokens | None:
    """A count of tokens, also as the text of a number; None when it is none."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 17:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST_TOKENS:
        return None
    return ReportedTokens(value)


def counts(
    whole: object, read: object, written: object, output: object, *, excludes_cache: bool = False
) -> Counts:
    """Counts as reported.

    Args:
        whole: The input.
        read: Read from a cache.
        written: Written to a cache.
        output: Of the answer.
        excludes_cache: The source's input leaves out what was read and written. This is also certain where
            these are more than the input.
    """
    total, cached, stored = counted(whole), counted(read), counted(written)
    beside = (cached or 0) + (stored or 0)
    if total is not None and (excludes_cache or beside > total):
        total = ReportedTokens(total + beside)
    return Counts(total, cached, stored, counted(output))


def usage_reply(surface: Surface, usage: Counts) -> bytes:
    """A reply of which nothing but its usage is known, in the fields of a surface."""
    told: dict[str, int | dict[str, int] | None]
    fresh = None
    if usage.input is not None:
        fresh = max(usage.input - (usage.read or 0) - (usage.written or 0), 0)
    match surface:
        case Surface.MESSAGES:
            told = {
                "input_tokens": fresh,
                "cache_creation_input_tokens": usage.written,
                "cache_read_input_tokens": usage.read,
                "output_tokens": usage.output,
            }
        case Surface.CONVERSE:
            told = {
                "inputTokens": fresh,
                "cacheReadInputTokens": usage.read,
                "cacheWriteInputTokens": usage.written,
                "outputTokens": usage.output,
            }
        case Surface.RESPONSES:
            told = {
                "input_tokens": usage.input,
                "input_tokens_details": _details(usage),
                "output_tokens": usage.output,
            }
        case Surface.GENERATE_CONTENT:
            told = {
                "promptTokenCount": usage.input,
                "cachedContentTokenCount": usage.read,
                "candidatesTokenCount": usage.output,
            }
        case _:
            told = {
                "prompt_tokens": usage.input,
                "prompt_tokens_details": _details(usage),
                "completion_tokens": usage.output,
            }
    known = {key: value for key, value in told.items() if value is not None}
    return bare_reply(surface, json.dumps(known, separators=(",", ":")).encode())


def bare_reply(surface: Surface, usage: bytes) -> bytes:
    """A reply that holds a usage object of a surface and nothing else."""
    if surface is Surface.GENERATE_CONTENT:
        return b'{"candidates":[],"usageMetadata":' + usage + b"}"
    return b"{" + _EMPTY[surface] + b',"usage":' + usage + b"}"


def _details(usage: Counts) -> dict[str, int] | None:
    known = {"cached_tokens": usage.read, "cache_write_tokens": usage.written}
    told: dict[str, int] = {key: value for key, value in known.items() if value is not None}
    return told or None


def bare_usage(response: bytes) -> bytes | None:
    """The usage object of a recorded response that holds nothing else; None for any other response.

    Args:
        response: As it stands in a recording: a reply, ``{"usage": {...}}`` or a usage object itself.
    """
    if len(response) > _LONGEST or response[:1] != b"{":
        return None
    try:
        parts = object_parts(response)
    except NotJsonError:
        return None
    usage = parts.get("usage", parts.get("usageMetadata"))
    if usage is not None:
        return usage if parts.keys() <= _NO_ANSWER else None
    return response if _COUNTS & parts.keys() else None

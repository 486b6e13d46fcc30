"""A provider's usage numbers in one form, and rates over many of them.

What counts as the whole input differs: Anthropic and Bedrock report read and written tokens beside the input,
OpenAI and Gemini inside it, DeepSeek as hits and misses. Surfaces that we decode come normalised already
(`coldturn.reference.wire`); this reads the raw objects of all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from coldturn.analysis.rates import rate
from coldturn.reference.tokens import ReportedTokens

_NOVA_READ, _NOVA_WRITTEN = "cacheReadInputTokenCount", "cacheWriteInputTokenCount"
_LONG = "1h"
_BEDROCK_HEADERS = {
    "input": "x-amzn-bedrock-input-token-count",
    "read": "x-amzn-bedrock-cache-read-input-token-count",
    "written": "x-amzn-bedrock-cache-write-input-token-count",
    "output": "x-amzn-bedrock-output-token-count",
}

_MOST = 10**15
"""Beyond it a count is none: floats do not hold all whole numbers there."""


@dataclass(frozen=True, slots=True)
class ProviderUsage:
    """What a provider reported of one request. None means not reported, zero reported as zero.

    Attributes:
        input: The whole input, read and written tokens included.
        written_long: The part of `written` with a long lifetime.
        negative: Whether a count was below zero, which is taken for not reported.
    """

    input: ReportedTokens | None = None
    read: ReportedTokens | None = None
    written: ReportedTokens | None = None
    written_long: ReportedTokens | None = None
    output: ReportedTokens | None = None
    negative: bool = False

    @property
    def exceeds_input(self) -> bool:
        """Whether more was read or written than was sent: such counts are no truth of anything."""
        return self.input is not None and (self.read or 0) + (self.written or 0) > self.input

    def trusted(self) -> ProviderUsage:
        """The same without counts that contradict each other."""
        return ProviderUsage(output=self.output, negative=self.negative) if self.exceeds_input else self

    @property
    def fresh(self) -> ReportedTokens | None:
        """Input that was neither read nor written; None when the input is not reported."""
        if self.input is None:
            return None
        return ReportedTokens(max(self.input - (self.read or 0) - (self.written or 0), 0))


def normalise(raw: Mapping[str, Any]) -> ProviderUsage | None:
    """Read a usage object of any provider that we know; None when it is none of them.

    Args:
        raw: The object as sent, decoded.
    """
    for known, read in _SHAPES:
        if known in raw:
            return replace(read(raw), negative=_any_negative(raw))
    return None


def _any_negative(raw: Mapping[str, Any]) -> bool:
    """Whether a count is below zero, in the object or in the details within it."""
    details = (value for value in raw.values() if isinstance(value, Mapping))
    counts = chain(raw.values(), *(one.values() for one in details))
    return any(isinstance(value, int | float) and value < 0 for value in counts)


def from_bedrock_headers(headers: Mapping[str, str]) -> ProviderUsage | None:
    """Read the counts that Bedrock puts into response headers (names in lower case); None without them."""
    counts = {name: _whole(headers.get(header)) for name, header in _BEDROCK_HEADERS.items()}
    if counts["input"] is None:
        return None
    return ProviderUsage(
        input=_sum(counts["input"], counts["read"], counts["written"]),
        read=counts["read"],
        written=counts["written"],
        output=counts["output"],
    )


def _anthropic(raw: Mapping[str, Any]) -> ProviderUsage:
    read, written = _count(raw, "cache_read_input_tokens"), _count(raw, "cache_creation_input_tokens")
    return ProviderUsage(
        input=_sum(_count(raw, "input_tokens"), read, written),
        read=read,
        written=written,
        written_long=_count(raw, "cache_creation", "ephemeral_1h_input_tokens"),
        output=_count(raw, "output_tokens"),
    )


def _converse(raw: Mapping[str, Any]) -> ProviderUsage:
    """Bedrock's Converse, and Nova under other names: the three are added, as on the Claude API."""
    read = _count(raw, "cacheReadInputTokens" if "cacheReadInputTokens" in raw else _NOVA_READ)
    written = _count(raw, "cacheWriteInputTokens" if "cacheWriteInputTokens" in raw else _NOVA_WRITTEN)
    return ProviderUsage(
        input=_sum(_count(raw, "inputTokens"), read, written),
        read=read,
        written=written,
        written_long=_long(raw.get("cacheDetails")),
        output=_count(raw, "outputTokens"),
    )


def _long(details: object) -> ReportedTokens | None:
    """What was written for an hour, of Converse's details by lifetime; None when none are told."""
    if not isinstance(details, list):
        return None
    hours = [one for one in details if isinstance(one, Mapping) and one.get("ttl") == _LONG]
    return ReportedTokens(sum(_count(one, "inputTokens") or 0 for one in hours))


def _responses(raw: Mapping[str, Any]) -> ProviderUsage:
    """OpenAI Responses, unless Anthropic's own keys stand beside `input_tokens`."""
    if "cache_read_input_tokens" in raw or "cache_creation_input_tokens" in raw:
        return _anthropic(raw)
    details = "input_tokens_details"
    return ProviderUsage(
        input=_count(raw, "input_tokens"),
        read=_count(raw, details, "cached_tokens"),
        written=_count(raw, details, "cache_write_tokens"),
        output=_count(raw, "output_tokens"),
    )


def _chat(raw: Mapping[str, Any]) -> ProviderUsage:
    """Chat Completions; DeepSeek names hits and misses besides, whose sum is the input."""
    hit, miss = _count(raw, "prompt_cache_hit_tokens"), _count(raw, "prompt_cache_miss_tokens")
    details = "prompt_tokens_details"
    read = _count(raw, details, "cached_tokens")
    whole = _count(raw, "prompt_tokens")
    if whole is None and hit is not None and miss is not None:
        whole = ReportedTokens(hit + miss)
    return ProviderUsage(
        input=whole,
        read=hit if read is None else read,
        written=_count(raw, details, "cache_write_tokens"),
        output=_count(raw, "completion_tokens"),
    )


def _gemini(raw: Mapping[str, Any]) -> ProviderUsage:
    """Gemini; an SDK writes underscores."""
    if "prompt_token_count" in raw:
        raw = {_camel(key): value for key, value in raw.items()}
    return ProviderUsage(
        input=_count(raw, "promptTokenCount"),
        read=_count(raw, "cachedContentTokenCount"),
        output=_sum(_count(raw, "candidatesTokenCount"), _count(raw, "thoughtsTokenCount")),
    )


def _camel(key: str) -> str:
    first, *more = key.split("_")
    return first + "".join(part.capitalize() for part in more)


_SHAPES = (
    ("promptTokenCount", _gemini),
    ("prompt_token_count", _gemini),
    ("inputTokens", _converse),
    ("input_tokens", _responses),
    ("prompt_tokens", _chat),
    ("prompt_cache_hit_tokens", _chat),
)


def _count(raw: object, *path: str) -> ReportedTokens | None:
    for key in path:
        raw = raw.get(key) if isinstance(raw, Mapping) else None
    if isinstance(raw, float) and raw.is_integer():
        raw = int(raw)
    whole = isinstance(raw, int) and not isinstance(raw, bool)
    return ReportedTokens(raw) if isinstance(raw, int) and whole and 0 <= raw < _MOST else None


def _whole(text: str | None) -> ReportedTokens | None:
    return ReportedTokens(int(text)) if text is not None and text.strip().isdecimal() else None


def _sum(first: ReportedTokens | None, *others: ReportedTokens | None) -> ReportedTokens | None:
    if first is None:
        return None
    return ReportedTokens(first + sum(other or 0 for other in others))


@dataclass(slots=True)
class UsageTotals:
    """Sums of one group (a model, a call class): rates are those of the sums, never means of rates.

    A request counts in the rate when both its input and its read tokens were reported.
    """

    requests: int = 0
    input: int = 0
    read: int = 0
    written: int = 0

    def add(self, usage: ProviderUsage) -> None:
        """Count one request; one that reports only half of it is left out."""
        if usage.input is None or usage.read is None:
            return
        self.requests += 1
        self.input += usage.input
        self.read += usage.read
        self.written += usage.written or 0

    @property
    def hit_rate(self) -> float | None:
        """Read over input as a fraction; None when nothing was reported."""
        return rate(self.read, self.input) if self.requests else None


@dataclass(slots=True)
class UsageByGroup:
    """Totals by model and call class, and over all."""

    total: UsageTotals = field(default_factory=UsageTotals)
    groups: dict[tuple[str | None, str | None], UsageTotals] = field(default_factory=dict)

    def add(self, usage: ProviderUsage, *, model: str | None, call_class: str | None = None) -> None:
        """Count one request; a call class is known only where a recording labels it."""
        self.total.add(usage)
        self.groups.setdefault((model, call_class), UsageTotals()).add(usage)

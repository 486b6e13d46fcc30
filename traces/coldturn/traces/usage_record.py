"""What a source that kept numbers, and no bytes of requests, tells of one call."""

from __future__ import annotations

from dataclasses import dataclass

from coldturn.reference.tokens import ReportedTokens


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """Reported token counts of one call. There are no bytes, so no place in a prompt can ever follow from it.

    None means not reported; zero is a reported zero.

    Attributes:
        source: Name of the input, as the user gave it.
        entry: Index in that input, from 0.
        conversation: What calls belong together by: a path, a session's id; empty when the source has none.
        call: Ordinal of the call in its conversation, from 0.
        model: As reported; empty when the source does not tell.
        provider: ``gen_ai.provider.name``; empty when the source does not tell.
        input_tokens: The whole input, read and written tokens included, whatever the provider's field counts.
        cached_tokens: The part of it that was read from a cache.
        written_tokens: The part of it that was written to a cache.
        written_long_tokens: The part of `written_tokens` with a long lifetime.
        output_tokens: Of the answer.
        started: Epoch seconds, or seconds from the source's own zero; None without times.
        raw: The provider's own object, where the source kept it.
    """

    source: str
    entry: int
    conversation: str
    call: int
    model: str = ""
    provider: str = ""
    input_tokens: ReportedTokens | None = None
    cached_tokens: ReportedTokens | None = None
    written_tokens: ReportedTokens | None = None
    written_long_tokens: ReportedTokens | None = None
    output_tokens: ReportedTokens | None = None
    started: float | None = None
    raw: bytes | None = None

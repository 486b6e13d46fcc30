"""Which headers a recording keeps: an allow-list, so that a new kind of secret is dropped by default."""

from __future__ import annotations

from collections.abc import Iterable

_NAMES = frozenset(
    {
        "content-type",
        "request-id",
        "x-request-id",
        "x-correlation-id",
        "cf-ray",
        "retry-after",
        "last-event-id",
        # What they say decides what is cached, and names no person.
        "anthropic-beta",
        "anthropic-version",
        "openai-beta",
    }
)
_PREFIXES = ("mcp-", "x-ratelimit-", "ratelimit", "anthropic-ratelimit-", "x-amzn-bedrock-")


def is_kept(name: str) -> bool:
    """Whether a header may be written: an allow-list, of what names a format, a limit, a beta or a count."""
    lower = name.lower()
    return lower in _NAMES or lower.startswith(_PREFIXES)


def kept_headers(items: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The allowed headers, names in lower case, repeated ones kept in order."""
    kept: dict[str, list[str]] = {}
    for name, value in items:
        if is_kept(name):
            kept.setdefault(name.lower(), []).append(value)
    return kept

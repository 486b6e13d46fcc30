"""Figures in words, for evidence and remedies."""

from __future__ import annotations

_MINUTE = 60
_HOUR = 3_600
_DAY = 86_400


def count_words(count: int, noun: str) -> str:
    """``1 token``, ``2,000 tokens``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def plain(text: str) -> str:
    """Somebody else's word without signs that would move a terminal's cursor."""
    return "".join(sign if sign.isprintable() else "·" for sign in text)


def seconds_words(seconds: float) -> str:
    """``45 s``, ``6 min``, ``22 min 32 s``, ``1 h 5 min``, ``2 days``."""
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{seconds:.1f} s" if seconds < 1 else f"{whole} s"
    if whole < _HOUR:
        return _two(whole // _MINUTE, "min", whole % _MINUTE, "s")
    if whole < 2 * _DAY:
        return _two(whole // _HOUR, "h", whole % _HOUR // _MINUTE, "min")
    return f"{whole // _DAY:,} days"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = f" {small} {small_unit}" if small else ""
    return f"{large} {large_unit}{rest}"

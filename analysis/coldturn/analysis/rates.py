"""Rates that stay honest when they are printed: never 0 or 100 % when they are not."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal


def rate(part: int | None, whole: int | None) -> float | None:
    """Return `part` / `whole` as a fraction; None when either is unknown or there is no whole."""
    if part is None or not whole:
        return None
    return part / whole


def format_rate(part: int | None, whole: int | None, *, digits: int = 1) -> str:
    """Return `part` of `whole` in per cent, such as ``96.0 %``; a dash when it is unknown.

    Only nothing prints as 0 and only everything as 100: with one digit 99.99 % becomes ``99.9 %`` and 0.001 %
    becomes ``0.1 %`` (as coverage.py does it).
    """
    if part is None or not whole:
        return "-"
    if part in {0, whole}:
        return "0 %" if part == 0 else "100 %"
    unit = Decimal(1).scaleb(-digits)
    percent = (Decimal(part) * 100 / Decimal(whole)).quantize(unit, ROUND_HALF_EVEN)
    return f"{min(max(percent, unit), 100 - unit)} %"

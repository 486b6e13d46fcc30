"""Providers' own diagnoses beside the three columns: what they say could have been read, and was missed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from coldturn.reference.tokens import EstimatedTokens, ReportedTokens
from coldturn.reference.wire.model import CacheDiagnosis


def vendor_json(diagnosis: CacheDiagnosis | None) -> dict[str, Any] | None:
    """The published shape of one request's diagnosis; every figure is the provider's."""
    if diagnosis is None:
        return None
    return {
        "source": diagnosis.source,
        "type": diagnosis.type,
        "reason": diagnosis.reason,
        "reusable_reported": diagnosis.reusable_tokens,
        "missed_reported": diagnosis.missed_tokens,
    }


@dataclass(slots=True)
class Reconciliation:
    """Sums over requests of which a provider says what could have been read, or what was missed.

    Attributes:
        n: Requests with a diagnosis.
        reusable_reported: What the provider says could have been read; `reusable_estimated` what the rules
            say of the same requests, and `compared` how many they are.
        agreeing: Of `compared`, those within a block.
        missed_reported: What the provider says was missed; `unread_estimated` what the rules say should have
            hit and was not reported as read, over the same requests.
    """

    n: int = 0
    compared: int = 0
    agreeing: int = 0
    reusable_reported: int = 0
    reusable_estimated: int = 0
    missed_reported: int | None = None
    unread_estimated: int | None = None

    def add(
        self,
        diagnosis: CacheDiagnosis | None,
        should_estimated: EstimatedTokens | None,
        read: ReportedTokens | None,
        block: int,
    ) -> None:
        """Count one request.

        Args:
            diagnosis: The provider's; a request without one is left out.
            should_estimated: What the rules say should have hit.
            read: What was reported as read.
            block: Tokens within which two figures agree.
        """
        if diagnosis is None:
            return
        self.n += 1
        if diagnosis.reusable_tokens is not None and should_estimated is not None:
            self.compared += 1
            self.agreeing += abs(diagnosis.reusable_tokens - should_estimated) <= block
            self.reusable_reported += diagnosis.reusable_tokens
            self.reusable_estimated += should_estimated
        if diagnosis.missed_tokens is not None:
            self.missed_reported = (self.missed_reported or 0) + diagnosis.missed_tokens
            if should_estimated is not None:
                self.unread_estimated = (self.unread_estimated or 0) + max(should_estimated - (read or 0), 0)

    def as_json(self) -> dict[str, Any] | None:
        """The published shape; None where no request has a diagnosis."""
        if not self.n:
            return None
        return {
            "n": self.n,
            "compared": self.compared,
            "within_block": self.agreeing,
            "reusable_reported": self.reusable_reported if self.compared else None,
            "reusable_estimated": self.reusable_estimated if self.compared else None,
            "missed_reported": self.missed_reported,
            "unread_estimated": self.unread_estimated,
        }

    def sentences(self) -> list[str]:
        """The same for people; empty where no request has a diagnosis."""
        found = []
        if self.compared:
            found.append(
                f"{_requests(self.compared)} with the provider's own diagnosis: {self.reusable_reported:,} "
                f"tokens could have been read by it, {self.reusable_estimated:,} by the rules (estimated); "
                f"{self.agreeing:,} within a block"
            )
        if self.missed_reported is not None:
            ours = "-" if self.unread_estimated is None else f"{self.unread_estimated:,}"
            found.append(
                f"missed by the provider's own count: {self.missed_reported:,} tokens; should have hit "
                f"and did not, by the rules: {ours} (estimated)"
            )
        return found


def _requests(count: int) -> str:
    return f"{count:,} request{'' if count == 1 else 's'}"

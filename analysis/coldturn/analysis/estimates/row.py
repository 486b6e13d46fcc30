"""One request in the three columns: ceiling, what the rules say, and what was reported."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from coldturn.analysis.estimates.misses import Outcome
from coldturn.analysis.estimates.prices import CostEstimate
from coldturn.analysis.estimates.registry import CannotEvaluateError
from coldturn.analysis.estimates.vendor import vendor_json
from coldturn.reference.tokens import EstimatedTokens, ReportedTokens
from coldturn.reference.wire.model import CacheDiagnosis

BLOCK = 128
"""Tokens within which an estimate counts as close, unless the rule's own steps are larger."""


class Flag(StrEnum):
    """What makes an estimate worth less, or a request odd. Counted over all requests."""

    NO_TIME = "no_time"
    TIME_GOES_BACK = "time_goes_back"
    NO_RULES = "no_rules"
    HOST_ASSUMED = "host_assumed"
    REFUSED = "refused_by_rules"
    CONTESTED = "contested"
    FAILED = "failed_request"
    LENGTH_MISMATCH = "length_mismatch"
    EARLIER_RESPONSE_MISSING = "earlier_response_missing"
    REASONING_INVALIDATED = "reasoning_invalidated"
    HIDDEN_INPUT = "hidden_input"
    PREFIX_UNKNOWN = "prefix_unknown"
    READ_EXCEEDS_INPUT = "read_exceeds_input"
    NEGATIVE_COUNT = "negative_count"
    CACHED_CONTENT_UNKNOWN = "cached_content_unknown"
    CACHED_CONTENT_GONE = "cached_content_gone"


class Difference(StrEnum):
    """Why a reported read is not the estimated one."""

    NONE = "equal"
    WITHIN_BLOCK = "within_block"
    WARM_BEFORE = "warm_before_recording"
    LAGGED = "provider_read_less"
    MORE = "provider_read_more"


@dataclass(frozen=True, slots=True)
class RequestEstimate:
    """One request in the three columns. Tokens; None means unknown.

    Attributes:
        request: Ordinal among the model requests of its source, from 0.
        entry: Index in the file.
        rules: Name of the rules; None when there are none for it.
        input_reported: The provider's, as are `read_reported` and `written_reported`.
        input_estimated: Fitted to what was reported of this request and of those it repeats.
        ceiling_estimated: What a cache without bounds could have served.
        read_estimated: What the rules say.
        written_estimated: The same of writes, where a provider counts them; else 0.
        block: Tokens within which an estimate counts as close.
        cost_estimated: From reported usage and dated prices; None without either.
        diagnosis: The provider's own, None when the recording holds none.
        miss: What the reported read is, where units are kept whole and counts of the calls before are known.
    """

    source: str
    request: int
    entry: int | None
    lineage: str | None
    model: str | None
    rules: str | None
    input_reported: ReportedTokens | None
    input_estimated: EstimatedTokens
    ceiling_estimated: EstimatedTokens
    read_estimated: EstimatedTokens | None
    written_estimated: EstimatedTokens | None
    read_reported: ReportedTokens | None
    written_reported: ReportedTokens | None = None
    block: int = BLOCK
    flags: tuple[Flag, ...] = ()
    cost_estimated: CostEstimate | None = None
    diagnosis: CacheDiagnosis | None = None
    miss: Outcome | None = None

    @property
    def difference(self) -> Difference | None:
        """How the reported read differs from the estimated one; None where one of the two is unknown."""
        if self.read_reported is None or self.read_estimated is None:
            return None
        gap = self.read_reported - self.read_estimated
        if gap == 0:
            return Difference.NONE
        if abs(gap) <= self.block:
            return Difference.WITHIN_BLOCK
        if gap < 0:
            return Difference.LAGGED
        return Difference.WARM_BEFORE if self.read_reported > self.ceiling_estimated else Difference.MORE

    def as_json(self) -> dict[str, Any]:
        """The published shape."""
        return {
            "source": self.source,
            "request": self.request,
            "entry": self.entry,
            "lineage": self.lineage,
            "model": self.model,
            "rules": self.rules,
            "input_tokens_reported": self.input_reported,
            "input_tokens_estimated": self.input_estimated,
            "ceiling_estimated": self.ceiling_estimated,
            "read_estimated": self.read_estimated,
            "written_estimated": self.written_estimated,
            "read_reported": self.read_reported,
            "written_reported": self.written_reported,
            "difference": self.difference,
            "miss": self.miss and self.miss.code,
            "flags": list(self.flags),
            "vendor": vendor_json(self.diagnosis),
        }


@dataclass(frozen=True, slots=True)
class Told:
    """One request's estimate.

    Attributes:
        reliability: Share of readable tokens that are read in practice, by its rules.
        problem: Why its scope cannot be evaluated, for the first request of that scope.
    """

    row: RequestEstimate
    reliability: float = 1.0
    problem: CannotEvaluateError | None = None

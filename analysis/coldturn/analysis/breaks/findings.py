"""What `explain` says, as values and as JSON (schema ``coldturn.explain/1``; keys are only ever added)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from coldturn.analysis.breaks.settings import SettingsChange
from coldturn.analysis.rates import rate
from coldturn.reference.prefix.model import Fidelity, Surface, Zone
from coldturn.reference.tokens import EstimatedTokens, ReportedTokens

SCHEMA = "coldturn.explain/1"


class Verdict(StrEnum):
    """What a request's difference from its parent, or the lack of one, means for the cache.

    `INTACT` and `COLD_START` are counted (`LineageReport.verdicts`) and no findings, save that of a
    conversation that began at another provider or in another request format.
    """

    INTACT = "intact"
    PLANNED = "planned"
    BROKEN = "broken"
    BROKEN_HARMLESS = "broken_harmless"
    PROVIDER_SIDE_SUSPECTED = "provider_side_suspected"
    TTL_SUSPECTED = "ttl_suspected"
    COLD_START = "cold_start"
    UNKNOWN = "unknown"

    @property
    def unplanned(self) -> bool:
        """Whether checks count it."""
        return self in (Verdict.BROKEN, Verdict.UNKNOWN)

    @property
    def costs(self) -> bool:
        """Whether tokens were lost that nobody meant to lose."""
        return self not in (Verdict.PLANNED, Verdict.BROKEN_HARMLESS, Verdict.INTACT, Verdict.COLD_START)


@dataclass(frozen=True, slots=True)
class Later:
    """A cause behind the first one."""

    cause: str
    zone: Zone
    path: str | None
    block_offset: int | None


@dataclass(frozen=True, slots=True)
class Beside:
    """A cause that fits as well, or that would have cost the same without the first one.

    Attributes:
        evidence: The figures that speak for it, in words and without prompt text; None where bytes do.
    """

    cause: str
    confidence: str
    evidence: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One break of a request against its parent, in the terms of the published output.

    Attributes:
        request: Ordinal among the model requests of its source, from 0; `parent` likewise. The parent of a
            `COLD_START` is the latest request of the conversation that it goes on with; nothing was compared.
        entry: Index in the file.
        offset: Content bytes in common; None where the recording does not support it, as with
            `block_offset`, `wire_offset` and `path`.
        lost_tokens_estimated: By the provider's entry model where `rules` names one: back to the last entry
            that can still be read. Else from `lost_bytes`.
        vendor: A provider's own diagnosis (`source`, `reason`, `score`), None when the recording holds none.
        alongside: Causes named beside the first one, at the same place or in time.
        evidence: Figures behind cause and verdict, in words and without prompt text.
        rules: Rules that judged the cost; None where bytes alone did.
        tiers_lost: Of `tools`, `system`, `messages`, those that a changed setting takes out of the cache.
        readable_estimated: Tokens that the request could have read, had nothing come between.
        read_estimated: Tokens that the rules say it still read; `read_reported` is the provider's figure.
        reasoning_invalidated: Reasoning that is sent back stands behind a prefix that has changed.
        aliases: What Claude Code, Anthropic or OpenAI call it, ``openai: input_changed``.
        anchor: Where the documentation explains the cause.
        was_changed: Characters from and to of `was` that the newer request lacks; `now_changed`: of `now`
            that are new. Keys and passwords are asterisks, so `was` and `now` may look the same there.
        cost_amount_estimated: What the lost tokens cost at dated prices, in `currency`; None without them.
    """

    source: str
    request: int
    entry: int
    parent: int
    turn: int | None
    zone: Zone
    segment: str | None
    path: str | None
    side: str
    section: str | None
    offset: int | None
    block_offset: int | None
    wire_offset: int | None
    cause: str
    confidence: str
    planned: bool
    verdict: Verdict
    lost_bytes: int
    lost_tokens_estimated: EstimatedTokens
    delta_bytes: int
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    before: str | None
    was: str | None
    now: str | None
    later: tuple[Later, ...]
    remedy: str | None
    vendor: Mapping[str, str] | None = None
    alongside: tuple[Beside, ...] = ()
    evidence: str | None = None
    rules: str | None = None
    tiers_lost: tuple[str, ...] = ()
    readable_estimated: EstimatedTokens | None = None
    read_estimated: EstimatedTokens | None = None
    read_reported: ReportedTokens | None = None
    reasoning_invalidated: bool = False
    cost_amount_estimated: float | None = None
    currency: str | None = None
    anchor: str | None = None
    aliases: tuple[str, ...] = ()
    was_changed: tuple[tuple[int, int], ...] = ()
    now_changed: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True)
class Tokens:
    """Sums over a lineage; None means that nothing was reported, or that it was not estimated."""

    input_reported: int | None = None
    read_reported: int | None = None
    input_estimated: int = 0
    read_estimated: int | None = None
    ceiling_estimated: int | None = None

    def add(
        self,
        *,
        reported: int | None,
        read: int | None,
        estimated: EstimatedTokens,
        ceiling_estimated: EstimatedTokens | None = None,
        read_estimated: EstimatedTokens | None = None,
    ) -> None:
        """Count one request."""
        self.input_reported = _sum(self.input_reported, reported)
        self.read_reported = _sum(self.read_reported, read)
        self.input_estimated += estimated
        self.ceiling_estimated = _sum(self.ceiling_estimated, ceiling_estimated)
        self.read_estimated = _sum(self.read_estimated, read_estimated)


@dataclass(frozen=True, slots=True)
class VendorWord:
    """A miss that a provider diagnosed where nothing was compared: a first request, another conversation.

    Attributes:
        request: Ordinal among the model requests of its source, from 0.
        source: Whose word it is.
        reason: The word.
    """

    request: int
    source: str
    reason: str


@dataclass(slots=True)
class LineageReport:
    """A conversation: requests that grew out of one another, with every break between them.

    Attributes:
        provider: None, like `surface`, when two plain texts were compared.
        model: The first request's.
        fidelity: The lowest of its requests.
        settings_changed: Requests whose settings differ from their parent's, also where that costs nothing.
        verdicts: How many requests have which verdict; the first of a lineage is a `cold_start`.
        vendor_only: Misses that a provider diagnosed and no finding is held against.
        older: Name of the older one of two inputs that were compared; None in a recording.
        rules: Cache rules that judged its latest request; None where bytes alone did.
        rules_elsewhere: Of models without rules at their host: names of those for the same format elsewhere.
    """

    id: str
    source: str
    provider: str | None
    surface: Surface | None
    model: str | None
    fidelity: Fidelity
    requests: int = 0
    breaks: list[Finding] = field(default_factory=list)
    tokens: Tokens = field(default_factory=Tokens)
    settings_changed: list[SettingsChange] = field(default_factory=list)
    verdicts: dict[Verdict, int] = field(default_factory=dict)
    rules: str | None = None
    rules_elsewhere: dict[str, tuple[str, ...]] = field(default_factory=dict)
    older: str | None = None
    vendor_only: list[VendorWord] = field(default_factory=list)

    def count(self, verdict: Verdict) -> None:
        """Count a request's verdict."""
        self.verdicts[verdict] = self.verdicts.get(verdict, 0) + 1


@dataclass(frozen=True, slots=True)
class ReadError:
    """Something that could not be read.

    Attributes:
        entry: None when it concerns the whole input.
        slug: Where ``docs/errors.md`` explains it; not part of the published shape.
    """

    source: str
    entry: int | None
    message: str
    slug: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The published shape."""
        return {"source": self.source, "entry": self.entry, "message": self.message}


@dataclass(frozen=True, slots=True)
class CauseRow:
    """All findings of one cause and verdict.

    Attributes:
        share: Of all tokens lost to findings that cost (estimated); None for planned and harmless ones.
    """

    cause: str
    verdict: Verdict
    breaks: int
    lost_tokens_estimated: int
    share: float | None


@dataclass(slots=True)
class Report:
    """Everything `explain` found."""

    lineages: list[LineageReport] = field(default_factory=list)
    errors: list[ReadError] = field(default_factory=list)

    @property
    def requests(self) -> int:
        """Model requests that were compared or began a lineage."""
        return sum(lineage.requests for lineage in self.lineages)

    @property
    def breaks(self) -> list[Finding]:
        """All findings, lineage by lineage."""
        return [found for lineage in self.lineages for found in lineage.breaks]

    @property
    def causes(self) -> list[CauseRow]:
        """Findings by cause and verdict, what costs most first; planned and harmless ones last."""
        counts: dict[tuple[Verdict, str], list[int]] = {}
        for found in self.breaks:
            counted = counts.setdefault((found.verdict, found.cause), [0, 0])
            counted[0] += 1
            counted[1] += found.lost_tokens_estimated
        lost = sum(tokens for (verdict, _), (_, tokens) in counts.items() if verdict.costs)
        rows = [
            CauseRow(cause, verdict, breaks, tokens, rate(tokens, lost) if verdict.costs else None)
            for (verdict, cause), (breaks, tokens) in counts.items()
        ]
        return sorted(rows, key=lambda row: (not row.verdict.costs, -row.lost_tokens_estimated, -row.breaks))

    def as_json(self) -> dict[str, Any]:
        """The published shape, all keys present."""
        return {
            "schema": SCHEMA,
            "lineages": [asdict(lineage) for lineage in self.lineages],
            "causes": [asdict(row) for row in self.causes],
            "errors": [error.as_json() for error in self.errors],
        }


def _sum(total: int | None, value: int | None) -> int | None:
    return total if value is None else (total or 0) + value

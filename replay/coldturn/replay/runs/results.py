"""What replays found, as values and as JSON (schema ``coldturn.replay/1``; keys are only ever added)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from coldturn.analysis.breaks.findings import Finding, ReadError, Verdict
from coldturn.analysis.rates import rate
from coldturn.reference.prefix.model import Zone
from coldturn.replay.playback.transport import PlaybackReport

SCHEMA = "coldturn.replay/1"


@dataclass(frozen=True, slots=True)
class StepResult:
    """One request of a replay.

    Attributes:
        input_bytes: Its content bytes, as `common_bytes`: those in common with the request before it.
        read_estimated: Estimated cache reads by rule; `uncached_estimated` what is left of the input.
        ceiling_estimated: Estimated tokens of the common prefix, however short.
    """

    turn: int
    step: int
    input_bytes: int
    input_tokens_estimated: int
    common_bytes: int
    finding: Finding | None
    read_estimated: dict[str, int]
    uncached_estimated: dict[str, int]
    ceiling_estimated: int

    def as_json(self) -> dict[str, Any]:
        """The published shape."""
        return {
            "turn": self.turn,
            "step": self.step,
            "input_bytes": self.input_bytes,
            "input_tokens_estimated": self.input_tokens_estimated,
            "common_bytes": self.common_bytes,
            "break": None if self.finding is None else asdict(self.finding),
            "read_estimated": self.read_estimated,
        }


@dataclass(frozen=True, slots=True)
class BreakCounts:
    """Breaks of a replay. Harmless ones count nowhere.

    Attributes:
        by_cause: First causes, planned and unplanned.
        later_by_cause: Causes behind the first ones.
        in_system_text: Requests whose system text (zone 1) changed, whether first or behind another cause.
    """

    planned: int = 0
    unplanned: int = 0
    by_cause: dict[str, int] = field(default_factory=dict)
    later_by_cause: dict[str, int] = field(default_factory=dict)
    in_system_text: int = 0


def count_breaks(findings: Sequence[Finding]) -> BreakCounts:
    """Count `findings`."""
    counted = [found for found in findings if found.verdict is not Verdict.BROKEN_HARMLESS]
    planned = sum(found.verdict is Verdict.PLANNED for found in counted)
    later = Counter(cause.cause for found in counted for cause in found.later)
    return BreakCounts(
        planned=planned,
        unplanned=len(counted) - planned,
        by_cause=_sorted(Counter(found.cause for found in counted)),
        later_by_cause=_sorted(later),
        in_system_text=sum(_in_system(found) for found in counted),
    )


def _in_system(found: Finding) -> bool:
    return Zone.SYSTEM in (found.zone, *(cause.zone for cause in found.later))


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """A recording under one policy.

    Attributes:
        extra_steps: Requests that only the policy asked for.
        trace: Where the spans were written, or None.
        notes: What a person should know of this replay, in words.
    """

    policy: str
    turns: int
    steps: tuple[StepResult, ...]
    extra_steps: int
    trace: str | None
    playback: PlaybackReport
    notes: tuple[str, ...] = ()

    @property
    def input_bytes(self) -> int:
        """Content bytes of all requests."""
        return sum(step.input_bytes for step in self.steps)

    @property
    def input_tokens_estimated(self) -> int:
        """Estimated tokens of all requests."""
        return sum(step.input_tokens_estimated for step in self.steps)

    @property
    def ceiling_estimated(self) -> int:
        """Estimated tokens that a perfect prefix cache could have served."""
        return sum(step.ceiling_estimated for step in self.steps)

    @property
    def read_estimated(self) -> dict[str, int]:
        """Estimated cache reads by rule."""
        return _summed([step.read_estimated for step in self.steps])

    @property
    def uncached_tokens_estimated(self) -> dict[str, int]:
        """Estimated input tokens that no cache served, by rule."""
        return _summed([step.uncached_estimated for step in self.steps])

    def hit_rate_estimated(self, rule: str) -> float | None:
        """Estimated share of the input that a cache served by `rule`; None without input."""
        return rate(self.read_estimated.get(rule), self.input_tokens_estimated)

    @property
    def breaks(self) -> BreakCounts:
        """How often the prefix broke, and why."""
        return count_breaks([step.finding for step in self.steps if step.finding is not None])

    def as_json(self) -> dict[str, Any]:
        """The published shape, all keys present."""
        whole = self.input_tokens_estimated
        return {
            "policy": self.policy,
            "turns": self.turns,
            "steps": [step.as_json() for step in self.steps],
            "extra_steps": self.extra_steps,
            "input_bytes": self.input_bytes,
            "input_tokens_estimated": whole,
            "breaks": asdict(self.breaks),
            "hit_rate_ceiling_estimated": rate(self.ceiling_estimated, whole),
            "hit_rate_estimated": {rule: self.hit_rate_estimated(rule) for rule in self.read_estimated},
            "uncached_tokens_estimated": self.uncached_tokens_estimated,
            # Prices belong to rule sets that know a provider; the first rule knows none.
            "cost_estimated": dict.fromkeys(self.read_estimated),
            "trace": self.trace,
            "playback": {
                "played": self.playback.played,
                "unplayed": self.playback.unplayed,
                "repeated": self.playback.repeated,
                "reordered": self.playback.reordered,
            },
        }


def _summed(parts: Sequence[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)


@dataclass(frozen=True, slots=True)
class ConnectionSummary:
    """What a recording holds of one MCP server: conversations, calls of tools, requests for the list."""

    server: str
    sessions: int
    calls: int
    lists: int


@dataclass(frozen=True, slots=True)
class Flip:
    """One choice of a policy made otherwise, and what that did to a replay.

    Attributes:
        field: The policy's field.
        value: What it was set to.
        uncached_tokens_delta_estimated: Estimated uncached input tokens with it, minus those without: what
            the choice as it was saves.
        hit_rate_delta_estimated: Likewise of the estimated hit rate, a fraction; None without input.
        rules: The rule set by which both are estimated.
    """

    field: str
    value: str
    uncached_tokens_delta_estimated: int
    hit_rate_delta_estimated: float | None
    rules: str


@dataclass(frozen=True, slots=True)
class RecordingResult:
    """A recording under every policy that was asked for.

    Attributes:
        unmapped_calls: Calls of the recorded model that belong to no recorded MCP server.
        notes: What was left out or taken for something, in words.
        ablation: What each choice of the first policy is worth, the dearest first; None when not asked for.
        errors: Entries that could not be read; the rest was replayed.
        session_file: Where the script was read; None when the recording alone implies it.
    """

    source: str
    connections: tuple[ConnectionSummary, ...]
    unmapped_calls: int
    policies: tuple[PolicyResult, ...]
    notes: tuple[str, ...] = ()
    ablation: tuple[Flip, ...] | None = None
    errors: tuple[ReadError, ...] = ()
    session_file: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The published shape, all keys present."""
        return {
            "source": self.source,
            "connections": [asdict(connection) for connection in self.connections],
            "unmapped_calls": self.unmapped_calls,
            "policies": [policy.as_json() for policy in self.policies],
            "ablation": None if self.ablation is None else [asdict(flip) for flip in self.ablation],
        }


@dataclass(slots=True)
class ReplayReport:
    """Everything a replay of one or many recordings found."""

    recordings: list[RecordingResult] = field(default_factory=list)
    errors: list[ReadError] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The published shape, all keys present."""
        return {
            "schema": SCHEMA,
            "recordings": [recording.as_json() for recording in self.recordings],
            "errors": [error.as_json() for error in self.errors],
        }

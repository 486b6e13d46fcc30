"""Which decision is worth how much: a policy with one choice at a time made otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from coldturn.reference.policy import Policy
from coldturn.replay.runs.policies import with_settings
from coldturn.replay.runs.results import Flip, PolicyResult, RecordingResult

FLIPS: Mapping[str, str] = {
    "disclosure": "all",
    "promotion": "append",
    "catalogue": "system",
    "reminders": "system",
    "suffix_placement": "last_user",
    "clock": "system",
    "memory": "system",
    "elision_boundary": "step",
    "resolution": "run",
    "tool_order": "server",
    "midrun_preload": "append",
    "removal": "run",
    "tier_change": "turn",
}
"""Each choice of a policy -> the value that is tried in its place. Thresholds are no choices."""


def flips_of(policy: Policy) -> tuple[tuple[str, str], ...]:
    """The choices of `policy` that are tried otherwise; one that stands at the other value already is not."""
    return tuple((field, value) for field, value in FLIPS.items() if getattr(policy, field) != value)


def ablation_policies(policy: Policy) -> list[Policy]:
    """What to replay for an ablation: `policy`, and a variant of it for each of `flips_of`, in that order."""
    variants = [with_settings(policy, [f"{field}={value}"]) for field, value in flips_of(policy)]
    return [policy, *variants]


def with_ablation(recording: RecordingResult, policy: Policy) -> RecordingResult:
    """A recording that was replayed under `ablation_policies`, with what each choice is worth.

    Choices are ranked by estimated uncached tokens, the one that saves most first.
    """
    base, *variants = recording.policies
    flips = [
        _flip(base, variant, field, value)
        for (field, value), variant in zip(flips_of(policy), variants, strict=True)
    ]
    flips.sort(key=lambda flip: -flip.uncached_tokens_delta_estimated)
    return replace(recording, ablation=tuple(flips))


def _flip(base: PolicyResult, variant: PolicyResult, field: str, value: str) -> Flip:
    rules = next(iter(base.uncached_tokens_estimated), "")
    uncached = [one.uncached_tokens_estimated.get(rules, 0) for one in (base, variant)]
    rates = [one.hit_rate_estimated(rules) for one in (base, variant)]
    return Flip(
        field=field,
        value=value,
        uncached_tokens_delta_estimated=uncached[1] - uncached[0],
        hit_rate_delta_estimated=_difference(rates),
        rules=rules,
    )


def _difference(rates: Sequence[float | None]) -> float | None:
    before, after = rates
    return None if before is None or after is None else after - before

"""The main job on the recording that ships with the package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from importlib import resources
from pathlib import Path

from coldturn.analysis.breaks.findings import Finding, Verdict
from coldturn.analysis.rates import format_rate
from coldturn.reference.policy import POLICIES
from coldturn.reference.prefix.model import Zone
from coldturn.replay.runs.ablation import ablation_policies, with_ablation
from coldturn.replay.runs.results import PolicyResult, RecordingResult
from coldturn.replay.runs.runner import ReplayOptions, replay_recording

BEFORE, AFTER, BEST = "catalog-in-system", "catalog-in-suffix", "stable"
"""One agent before and after it moved its catalogue of discovered tools, and the policy that we recommend."""
KEPT = "naive"
"""The policy whose requests are kept as they were sent: the one with the most kinds of breaks to look at."""
DEMO_POLICIES = (KEPT, BEFORE, AFTER, BEST)
LABEL = "demo"
PROMOTED = "tool_promoted"


def recordings_folder() -> AbstractContextManager[Path]:
    """The folder of the recordings that are installed with the package."""
    return resources.as_file(resources.files("coldturn.replay").joinpath("recordings"))


def replay_demo(out: Path) -> RecordingResult:
    """Replay the shipped recording under the demo's policies.

    Args:
        out: Folder for a trace per policy, and for the requests of `KEPT`.

    Raises:
        TraceFileError: A trace cannot be written.
    """
    with recordings_folder() as folder:
        policies = [POLICIES[name] for name in DEMO_POLICIES]
        options = ReplayOptions(out=out, requests=frozenset({KEPT}))
        return replay_recording(folder / f"{LABEL}.jsonl", policies, options)


def ablate_demo(out: Path) -> RecordingResult:
    """Replay the shipped recording under the recommended policy, and with each of its choices made otherwise.

    Args:
        out: Folder for a trace per variant.

    Raises:
        TraceFileError: A trace cannot be written.
    """
    policy = POLICIES[BEST]
    with recordings_folder() as folder:
        options = ReplayOptions(out=out)
        result = replay_recording(folder / f"{LABEL}.jsonl", ablation_policies(policy), options)
    return with_ablation(result, policy)


def told(result: RecordingResult) -> Iterator[str]:
    """What the run showed, in sentences; every number and name comes from `result`."""
    by_name = {policy.policy: policy for policy in result.policies}
    yield _mended(by_name[BEFORE], by_name[AFTER])
    yield _left(by_name[BEFORE], by_name[AFTER])
    yield _best(by_name[BEST])
    yield _rates(result.policies)


def _mended(before: PolicyResult, after: PolicyResult) -> str:
    example = next((place for found in _findings(before) for place in _in_system(found)), None)
    first = f" The first was {example}." if example else ""
    return (
        f"What moving the catalogue of discovered tools mended ({BEFORE} -> {AFTER}): requests whose system "
        f"text changed went from {before.breaks.in_system_text} to {after.breaks.in_system_text}.{first}"
    )


def _in_system(found: Finding) -> Iterator[str]:
    """Why and where the system text changed in this request."""
    places = [(found.cause, found.zone, found.block_offset)]
    places += [(later.cause, later.zone, later.block_offset) for later in found.later]
    for cause, zone, offset in places:
        if zone is Zone.SYSTEM and offset is not None:
            yield f"{cause} at byte {offset:,} of it, in request {found.request}"


def _left(before: PolicyResult, after: PolicyResult) -> str:
    promoted = [found for found in _findings(after) if found.cause == PROMOTED]
    if not promoted:
        return f"Under {AFTER} no discovered tool entered the tools array."
    lost = sum(found.lost_tokens_estimated for found in promoted)
    return (
        f"What it left: {PROMOTED}, {len(promoted)} x. The tools array is rendered before the system text, "
        f"and each discovered tool is appended to it (first {', '.join(promoted[0].names)}, in request "
        f"{promoted[0].request}). That turned {lost:,} tokens cold, estimated, and uncached tokens went from "
        f"{_uncached(before):,} to {_uncached(after):,}."
    )


def _best(best: PolicyResult) -> str:
    unplanned = Counter(found.cause for found in _findings(best) if found.verdict.unplanned)
    planned = Counter(found.cause for found in _findings(best) if found.verdict is Verdict.PLANNED)
    return (
        f"What is left under {BEST}: {_uncached(best):,} uncached tokens, estimated. Breaks: unplanned "
        f"{_counted(unplanned)}; planned {_counted(planned)}. {best.extra_steps} of its {len(best.steps)} "
        "requests only list or describe deferred tools."
    )


def _rates(results: Iterable[PolicyResult]) -> str:
    rates = [
        f"{result.policy} {format_rate(_read(result), result.input_tokens_estimated)} of "
        f"{result.input_tokens_estimated:,}"
        for result in results
    ]
    return f"A hit rate alone flatters a big prefix that is sent each time. Input tokens: {', '.join(rates)}."


def _findings(result: PolicyResult) -> Iterator[Finding]:
    return (step.finding for step in result.steps if step.finding is not None)


def _uncached(result: PolicyResult) -> int:
    return next(iter(result.uncached_tokens_estimated.values()))


def _read(result: PolicyResult) -> int:
    return next(iter(result.read_estimated.values()))


def _counted(causes: Counter[str]) -> str:
    return ", ".join(f"{count} x {cause}" for cause, count in causes.items()) or "none"

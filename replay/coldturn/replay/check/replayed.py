"""Recorded sessions under a policy, measured."""

from __future__ import annotations

from coldturn.analysis.breaks.pair import PairOptions
from coldturn.reference.observer import StepInfo
from coldturn.reference.policy import Policy
from coldturn.reference.prefix.request import PromptRequest
from coldturn.replay.check.measured import Measured
from coldturn.replay.check.measuring import Measure
from coldturn.replay.check.places import Places
from coldturn.replay.runs.runner import replay_recording
from coldturn.replay.runs.single import ReplayOptions


def measure_replay(
    source: str,
    policy: Policy,
    places: Places,
    *,
    name: str | None = None,
    content: bool = True,
    lint: bool = True,
) -> Measured:
    """Replay a recording under a policy and measure the requests that come of it.

    Args:
        source: A cassette or a session file.
        policy: What to replay it under.
        places: Names it for the baseline.
        name: What reports call it; `source` when not given.
        content: Whether messages may repeat prompt text.
        lint: Whether the stable part of prompts is looked through.

    Raises:
        ColdturnError: It cannot be read, or the replay failed.
    """
    measure = Measure(content=content, lint=lint)

    def watch(request: PromptRequest, info: StepInfo) -> None:
        measure.request(
            request,
            number=measure.requests,
            first=info.comparison is None,
            common_bytes=0 if info.comparison is None else info.comparison.common_bytes,
            scope=info.scope,
        )

    options = ReplayOptions(findings=PairOptions(content=content), watch=watch)
    (result,) = replay_recording(source, [policy], options).policies
    for step in result.steps:
        if step.finding is not None:
            measure.broke(step.finding)
    return measure.measured(name or source, places.key(source), policy.name)

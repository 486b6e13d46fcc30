"""What a replay reports of each step, noted as the runtime sends it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TypeAlias

from coldturn.analysis.breaks.pair import PairOptions, finding_of
from coldturn.analysis.estimates.longest_prefix import LongestPrefix
from coldturn.reference.observer import (
    Observer,
    RefreshInfo,
    RefreshScope,
    StepInfo,
    StepScope,
    ToolCallInfo,
    ToolScope,
    TurnInfo,
    TurnScope,
)
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.run import Run
from coldturn.replay.runs.results import StepResult

Watch: TypeAlias = Callable[[PromptRequest, StepInfo], object]
"""Takes a request as it is about to be sent, with what the runtime tells of its step."""


class StepLog:
    """An observer that notes what a replay reports of each step, and passes everything on."""

    def __init__(
        self,
        inner: Observer,
        source: str,
        options: PairOptions,
        keep: Callable[[bytes], object] | None = None,
        watch: Watch | None = None,
    ) -> None:
        """Note steps.

        Args:
            inner: Is told everything.
            source: Name of the recording.
            options: What a step's break carries.
            keep: Called with the body of each request.
            watch: Called with each request and with what the runtime tells of its step.
        """
        self._inner = inner
        self._watch = watch
        self._keep = keep
        self._source = source
        self._options = options
        self._rule = LongestPrefix()
        self._before: PromptRequest | None = None
        self._run: Run | None = None
        self.steps: list[StepResult] = []

    def bind(self, run: Run) -> None:
        """Say whose steps they are: the run holds the request that it is about to send."""
        self._run = run

    def turn(self, info: TurnInfo) -> AbstractContextManager[TurnScope]:
        """A turn: passed on."""
        return self._inner.turn(info)

    def step(self, info: StepInfo) -> AbstractContextManager[StepScope]:
        """A model call: noted with its break and its estimate."""
        if self._run is None or self._run.sent is None:
            raise RuntimeError("bind the log to its run first")
        request = self._run.sent.request
        if self._keep is not None:
            self._keep(info.body)
        if self._watch is not None:
            self._watch(request, info)
        comparison = info.comparison
        common = comparison.common_bytes if comparison is not None else 0
        estimate = self._rule.step(info.ledger, common, info.scope)
        found = None
        if self._before is not None and comparison is not None:
            found = finding_of(self._before, request, comparison, self._options)
        if found is not None:
            number = len(self.steps)
            found = replace(found, source=self._source, request=number, entry=number, parent=number - 1)
        self._before = request
        self.steps.append(
            StepResult(
                turn=info.turn,
                step=info.step,
                input_bytes=info.ledger.content_bytes,
                input_tokens_estimated=estimate.input_tokens_estimated,
                common_bytes=common,
                finding=found,
                read_estimated={self._rule.name: estimate.read_estimated},
                uncached_estimated={self._rule.name: estimate.uncached_estimated},
                ceiling_estimated=estimate.ceiling_estimated,
            )
        )
        return self._inner.step(info)

    def tool(self, info: ToolCallInfo) -> AbstractContextManager[ToolScope]:
        """A tool call: passed on."""
        return self._inner.tool(info)

    def refresh(self, info: RefreshInfo) -> AbstractContextManager[RefreshScope]:
        """A catalogue refresh: passed on."""
        return self._inner.refresh(info)

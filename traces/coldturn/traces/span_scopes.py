"""What the runtime holds while a span is open, and how each report reaches the span."""

from __future__ import annotations

import re

from opentelemetry.trace import Span, Status, StatusCode

from coldturn.reference.observer import (
    RefreshOutcome,
    ServerState,
    StepInfo,
    ToolCallInfo,
    ToolOutcomeInfo,
    TurnInfo,
)
from coldturn.reference.wire.model import Reply
from coldturn.traces import names
from coldturn.traces import span_attributes as attributes
from coldturn.traces.otlp import clean_text

_ONE_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


def fail(span: Span, kind: str, description: str | None = None) -> None:
    """Mark `span` as failed: `kind` is a word from a small set, `description` free text."""
    span.set_attribute(names.ERROR_TYPE, clean_text(kind))
    span.set_status(Status(StatusCode.ERROR, None if description is None else clean_text(description)))


def _fail_with(span: Span, error: str) -> None:
    # The conventions' word for "no word for it" is _OTHER: sentences would make error.type unbounded.
    fail(span, error if _ONE_WORD.fullmatch(error) else "_OTHER", error)


class TurnSpan:
    """A turn: sums up its steps until it ends."""

    def __init__(self, info: TurnInfo, span: Span) -> None:
        self.info = info
        self.span = span
        self._steps = 0
        self._first: list[str] = []
        self._last: list[str] = []
        self._planned = 0
        self._unplanned = 0

    @property
    def key(self) -> tuple[str, ...]:
        """What ids of the spans below derive from: its own id, so a turn told twice differs below too."""
        return (f"{self.span.get_span_context().span_id:016x}",)

    def count(self, info: StepInfo) -> None:
        """Take a step in: it counts as broken by its first break, and not at all by a harmless one."""
        self._last = [zone.prefix_hash for zone in info.ledger.zones]
        self._first = self._first or self._last
        self._steps += 1
        first = info.comparison.first if info.comparison else None
        if first is not None and not first.harmless:
            self._planned += first.planned
            self._unplanned += not first.planned

    def finish(self, servers: tuple[ServerState, ...], *, error: str | None = None) -> None:
        """Say how the turn ended."""
        self.span.set_attributes(attributes.server_attributes(servers))
        if error is not None:
            _fail_with(self.span, error)

    def end(self) -> None:
        """Write the sums."""
        self.span.set_attributes(
            attributes.compact(
                {
                    names.TURN_STEP_COUNT: self._steps,
                    names.TURN_FIRST_HASHES: self._first or None,
                    names.TURN_LAST_HASHES: self._last or None,
                    names.TURN_BREAKS_PLANNED: self._planned,
                    names.TURN_BREAKS_UNPLANNED: self._unplanned,
                }
            )
        )


class StepSpan:
    """A model call."""

    def __init__(self, span: Span, *, compat_names: bool) -> None:
        self._span = span
        self._compat_names = compat_names

    def reply(self, reply: Reply) -> None:
        """Write the answer's ids and the reported usage."""
        self._span.set_attributes(attributes.reply_attributes(reply, compat_names=self._compat_names))


class ToolSpan:
    """A tool call."""

    def __init__(self, info: ToolCallInfo, span: Span) -> None:
        self._info = info
        self._span = span

    def finish(self, outcome: ToolOutcomeInfo) -> None:
        """Write the outcome."""
        self._span.set_attributes(attributes.outcome_attributes(self._info, outcome))
        if outcome.is_error:
            fail(self._span, outcome.refusal or "tool_error")


class RefreshSpan:
    """A catalogue refresh."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def finish(self, outcome: RefreshOutcome) -> None:
        """Write what was committed; with an error, nothing was."""
        self._span.set_attributes(attributes.refresh_attributes(outcome))
        if outcome.error is not None:
            _fail_with(self._span, outcome.error)

"""The runtime's reports as OpenTelemetry spans: an `Observer` for turns, steps, calls and refreshes."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Self

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Link, NoOpTracer, Span, SpanContext, SpanKind

from coldturn.reference.clock import Clock
from coldturn.reference.observer import (
    RefreshInfo,
    RefreshScope,
    StepInfo,
    StepScope,
    ToolCallInfo,
    ToolScope,
    TurnInfo,
    TurnScope,
)
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.traces import names
from coldturn.traces import span_attributes as attributes
from coldturn.traces.otlp import clean_text
from coldturn.traces.span_attributes import Attributes
from coldturn.traces.span_ids import DerivedIds
from coldturn.traces.span_scopes import RefreshSpan, StepSpan, ToolSpan, TurnSpan, fail

_REMEMBERED_CHATS = 1_000
_REMEMBERED_SEGMENTS = 200_000

_NO_LIMITS = SpanLimits(
    max_attributes=SpanLimits.UNSET,
    max_events=SpanLimits.UNSET,
    max_links=SpanLimits.UNSET,
    max_span_attributes=SpanLimits.UNSET,
    max_event_attributes=SpanLimits.UNSET,
    max_link_attributes=SpanLimits.UNSET,
    max_attribute_length=SpanLimits.UNSET,
    max_span_attribute_length=SpanLimits.UNSET,
)
"""Over a limit the SDK drops the OLDEST attributes, and the environment can lower it: so there is none."""


class TracingDisabledError(ColdturnError):
    """Spans were asked for while the SDK is switched off."""

    slug = "tracing-disabled"

    def __init__(self) -> None:
        super().__init__(
            "OTEL_SDK_DISABLED is set, so OpenTelemetry makes no spans and the trace would be empty: unset it"
        )


_current: ContextVar[TurnSpan | None] = ContextVar("coldturn_turn", default=None)


class SpanObserver:
    """Writes what the runtime reports as spans, through a TracerProvider of its own.

    While a scope is open its span is OpenTelemetry's current one, so spans of the MCP SDK nest below ours;
    they go to whatever provider the host has set up and never into `writer`.
    """

    def __init__(
        self,
        writer: SpanProcessor,
        *,
        clock: Clock,
        recording: str = "",
        policy: str = "",
        seed: str | None = None,
        compat_names: bool = False,
    ) -> None:
        """Start observing.

        Args:
            writer: Where spans go when they end, such as a `SpanFile`.
            clock: Gives every span its start and end.
            recording: Name of the recording that is replayed; empty for a live Run.
            policy: Name of the policy; without it, that of each turn.
            seed: What ids are derived from. Left out: recording and policy, or for a live Run randomness.
            compat_names: Also write cache writes under the conventions' former name.

        Raises:
            TracingDisabledError: The environment switches the SDK off.
        """
        if seed is None:
            seed = f"{recording}\0{policy}" if recording else secrets.token_hex(16)
        self._ids = DerivedIds(seed)
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource({names.SERVICE_NAME: "coldturn"}),
            shutdown_on_exit=False,
            id_generator=self._ids,
            span_limits=_NO_LIMITS,
        )
        self._provider.add_span_processor(writer)
        self._tracer = self._provider.get_tracer(names.SCOPE)
        if isinstance(self._tracer, NoOpTracer):
            raise TracingDisabledError
        self._clock = clock
        self._replay = bool(recording)
        self._recording = recording
        self._policy = policy
        self._compat_names = compat_names
        self._lock = threading.Lock()
        self._open: list[TurnSpan] = []
        self._chats: OrderedDict[tuple[str, int, int], tuple[SpanContext, int]] = OrderedDict()
        self._defined: set[bytes] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Shut the writer down. Spans that are still open are not written."""
        self._provider.shutdown()

    @contextmanager
    def turn(self, info: TurnInfo) -> Iterator[TurnScope]:
        """A turn is the root of its trace (below the host's span when a live host has one open)."""
        found = {
            names.OPERATION: "invoke_agent",
            names.AGENT_NAME: info.agent,
            **self._labels(info),
            **_identity(info.run_id, info.turn),
        }
        subject = ("turn", info.run_id, str(info.turn))
        context = Context() if self._replay else None
        with self._span(f"invoke_agent {info.agent}", subject, found, context) as span:
            turn = TurnSpan(info, span)
            token = _current.set(turn)
            self._open.append(turn)
            try:
                yield turn
            finally:
                self._open.remove(turn)
                _current.reset(token)
                turn.end()
                self._ids.forget(*turn.key)

    @contextmanager
    def step(self, info: StepInfo) -> Iterator[StepScope]:
        """A model call; its link runs to the call that it was compared with."""
        started = self._clock.time_ns()
        turn = self._turn()
        if turn is not None:
            turn.count(info)
        base = self._chats.get((info.run_id, *info.base)) if info.base else None
        found = {
            **attributes.request_attributes(info),
            **(self._labels(turn.info) if turn else {}),
            **_identity(info.run_id, info.turn),
            **attributes.ledger_attributes(info.ledger, self._definitions()),
            **_base(info.base, base, started),
            **(attributes.comparison_attributes(info.comparison) if info.comparison else {}),
            **attributes.marker_attributes(info.markers, info.ledger),
            **attributes.elision_attributes(info.elision),
        }
        opening = self._span(
            f"chat {info.model}",
            (*_key(turn), "chat", str(info.step)),
            found,
            _below(turn),
            kind=SpanKind.CLIENT,
            base=base[0] if base else None,
            started=started,
        )
        with opening as span:
            self._chats[info.run_id, info.turn, info.step] = (span.get_span_context(), started)
            if len(self._chats) > _REMEMBERED_CHATS:
                self._chats.popitem(last=False)
            yield StepSpan(span, compat_names=self._compat_names)

    @contextmanager
    def tool(self, info: ToolCallInfo) -> Iterator[ToolScope]:
        """A tool call, below its turn."""
        turn = self._turn()
        found = {**attributes.call_attributes(info), **_turn_identity(turn)}
        subject = (*_key(turn), "tool", info.call_id)
        with self._span(f"execute_tool {info.exposed_name}", subject, found, _below(turn)) as span:
            yield ToolSpan(info, span)

    @contextmanager
    def refresh(self, info: RefreshInfo) -> Iterator[RefreshScope]:
        """A catalogue refresh: below the open turn, else a trace of its own."""
        turn = self._turn()
        found = {
            names.MCP_METHOD: "tools/list",
            names.SERVER_NAME: info.server,
            names.CATALOG_TRIGGER: info.trigger,
            **_turn_identity(turn),
        }
        subject = (*_key(turn), "refresh", info.server)
        with self._span("tools/list", subject, found, _below(turn)) as span:
            yield RefreshSpan(span)

    @contextmanager
    def _span(
        self,
        name: str,
        subject: tuple[str, ...],
        found: Attributes,
        context: Context | None,
        *,
        kind: SpanKind = SpanKind.INTERNAL,
        base: SpanContext | None = None,
        started: int | None = None,
    ) -> Iterator[Span]:
        with self._lock:
            self._ids.about(*subject)
            span = self._tracer.start_span(
                clean_text(name),
                context=context,
                kind=kind,
                links=[Link(base)] if base else [],
                start_time=self._clock.time_ns() if started is None else started,
            )
        span.set_attributes(attributes.compact({names.SCHEMA: names.SCHEMA_VERSION, **found}))
        try:
            with trace.use_span(span, record_exception=False, set_status_on_exception=False):
                yield span
        except BaseException as error:
            fail(span, type(error).__name__)
            raise
        finally:
            span.end(end_time=self._clock.time_ns())

    def _turn(self) -> TurnSpan | None:
        """The turn that a report belongs to.

        A connection's task keeps the context in which it was started, maybe that of a turn which has ended:
        then the open turn is meant, if there is exactly one.
        """
        turn = _current.get()
        if turn in self._open:
            return turn
        return self._open[0] if len(self._open) == 1 else None

    def _labels(self, info: TurnInfo) -> Attributes:
        return attributes.compact(
            {
                names.REPLAY_CASSETTE: self._recording or None,
                names.REPLAY_POLICY: self._policy or info.policy or None,
            }
        )

    def _definitions(self) -> set[bytes]:
        # Defining a hash twice is harmless; growing without end in a process that lives for weeks is not.
        if len(self._defined) > _REMEMBERED_SEGMENTS:
            self._defined.clear()
        return self._defined


def _below(turn: TurnSpan | None) -> Context:
    return trace.set_span_in_context(turn.span, Context()) if turn else Context()


def _key(turn: TurnSpan | None) -> tuple[str, ...]:
    return turn.key if turn else ("outside",)


def _identity(run_id: str, turn: int) -> Attributes:
    return attributes.compact({names.RUN_ID: run_id, names.CONVERSATION_ID: run_id, names.TURN_INDEX: turn})


def _turn_identity(turn: TurnSpan | None) -> Attributes:
    return {} if turn is None else {names.RUN_ID: turn.info.run_id, names.TURN_INDEX: turn.info.turn}


def _base(place: tuple[int, int] | None, base: tuple[SpanContext, int] | None, started: int) -> Attributes:
    """Where the request that this one was compared with is found, when it is still remembered."""
    if place is None:
        return {}
    if base is None:
        return {names.BASE_TURN_INDEX: place[0]}
    context, began = base
    return {
        names.BASE_SPAN_ID: f"{context.span_id:016x}",
        names.BASE_TRACE_ID: f"{context.trace_id:032x}",
        names.BASE_TURN_INDEX: place[0],
        names.BASE_AGE_MS: (started - began) // 1_000_000,
    }

"""Which span stands below which, and what the surroundings may not do to spans."""

from __future__ import annotations

import contextvars
from dataclasses import replace
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from coldturn.reference.observer import RefreshInfo, RefreshOutcome, ToolCallInfo
from coldturn.traces.otlp import SpanFile
from coldturn.traces.span_reader import read_spans
from coldturn.traces.spans import SpanObserver, TracingDisabledError
from fake_run import REMINDER_GONE, FakeClock, FakeRun, body, turn_info


def test_lone_surrogates_reach_no_exporter(clock: FakeClock) -> None:
    memory = InMemorySpanExporter()
    observer = SpanObserver(SimpleSpanProcessor(memory), clock=clock, recording="r\udcff")
    broken = replace(REMINDER_GONE, harmless=False, path="$.\ud800", section="# \udfff")
    with observer.turn(turn_info(0, "run\ud800")) as turn:
        run = FakeRun(observer, clock)
        run.step(0, 0, body("10:00", ["a"]))
        run.step(0, 1, body("10:00", ["a"]), first=broken)
        turn.finish((), error="no \ud800 luck")
    told = [(s.name, s.status.description, dict(s.attributes or {})) for s in memory.get_finished_spans()]
    assert len(told) == 3
    assert "\\ud" not in repr(told)


@pytest.mark.requirement("SPAN-1", "REP-7")
def test_spans_of_other_libraries_nest_below_ours_and_stay_out_of_the_file(
    observer: SpanObserver, clock: FakeClock, trace_path: Path
) -> None:
    memory = InMemorySpanExporter()
    host = TracerProvider(shutdown_on_exit=False)
    host.add_span_processor(SimpleSpanProcessor(memory))
    sdk = host.get_tracer("mcp-python-sdk")
    with (
        observer.turn(turn_info(0)),
        observer.tool(ToolCallInfo("c", "t", "direct", "s", "t", 1)),
        sdk.start_as_current_span("tools/call t"),
    ):
        pass
    ours = {span.name: span for span in read_spans(trace_path)}
    assert set(ours) == {"execute_tool t", "invoke_agent reviewer"}
    (theirs,) = memory.get_finished_spans()
    assert theirs.parent is not None
    assert f"{theirs.parent.span_id:016x}" == ours["execute_tool t"].span_id


def test_a_live_turn_stands_below_the_hosts_span_and_a_replay_never_does(
    tmp_path: Path, clock: FakeClock
) -> None:
    host = TracerProvider(shutdown_on_exit=False).get_tracer("host")
    for recording, nested in (("", True), ("r", False)):
        file = tmp_path / f"{recording}.jsonl"
        observer = SpanObserver(SpanFile(file), clock=clock, recording=recording)
        with host.start_as_current_span("web request") as web, observer.turn(turn_info(0)):
            pass
        (turn,) = read_spans(file)
        assert (turn.parent_id == f"{web.get_span_context().span_id:016x}") is nested


def test_a_refresh_in_a_task_that_outlived_its_turn_belongs_to_the_open_turn(
    observer: SpanObserver, clock: FakeClock, trace_path: Path
) -> None:
    def refresh() -> None:
        with observer.refresh(RefreshInfo("files", "sweep")):
            pass

    with observer.turn(turn_info(0)):
        task = contextvars.copy_context()
    task.run(refresh)
    with observer.turn(turn_info(1)):
        task.run(refresh)
    _, alone, inside, second = read_spans(trace_path)
    assert alone.parent_id == ""
    assert inside.parent_id == second.span_id


def test_with_two_turns_open_nobody_guesses_whose_refresh_it_is(
    observer: SpanObserver, trace_path: Path
) -> None:
    def refresh() -> None:
        with observer.refresh(RefreshInfo("files", "sweep")):
            pass

    outside = contextvars.copy_context()
    with observer.turn(turn_info(0, "a")), observer.turn(turn_info(0, "b")):
        outside.run(refresh)
    assert next(read_spans(trace_path)).parent_id == ""


def test_what_fails_is_marked_and_the_error_goes_on(observer: SpanObserver, trace_path: Path) -> None:
    with observer.refresh(RefreshInfo("files", "sweep")) as scope:
        scope.finish(RefreshOutcome(1, 1, "0" * 32, 0, (), (), (), error="the server hung up"))
    with observer.turn(turn_info(9)) as other:
        other.finish((), error="invalid_deferred_handle")
    with pytest.raises(KeyError), observer.turn(turn_info(0)):
        raise KeyError("x")
    refresh, other_turn, turn = read_spans(trace_path)
    assert (refresh.error, refresh.attributes["error.type"]) == ("the server hung up", "_OTHER")
    assert other_turn.attributes["error.type"] == "invalid_deferred_handle"
    assert (turn.error, turn.attributes["error.type"]) == ("", "KeyError")


def test_no_limit_of_the_sdk_drops_or_cuts_an_attribute(
    trace_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "3")
    monkeypatch.setenv("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "4")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    observer = SpanObserver(SpanFile(trace_path), clock=clock, recording="r")
    FakeRun(observer, clock).step(0, 0, body("10:00", ["hi"]))
    (span,) = read_spans(trace_path)
    assert span.attributes["gen_ai.operation.name"] == "chat"
    assert len(str(span.attributes["coldturn.segment.hashes"])) > 7 * 16


def test_a_disabled_sdk_is_an_error_and_no_empty_file(
    trace_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    with pytest.raises(TracingDisabledError, match="OTEL_SDK_DISABLED is set"):
        SpanObserver(SpanFile(trace_path), clock=clock)

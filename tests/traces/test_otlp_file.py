"""The lossless trace file: its shape, and what it survives."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Link, SpanKind, Status, StatusCode, Tracer

from coldturn.traces.otlp import SpanFile, TraceFileError
from coldturn.traces.span_reader import read_spans


def tracer_of(writer: SpanFile) -> Tracer:
    provider = TracerProvider(
        sampler=ALWAYS_ON, resource=Resource({"service.name": "t"}), shutdown_on_exit=False
    )
    provider.add_span_processor(writer)
    return provider.get_tracer("scope")


def write_one(path: Path, name: str = "one", **attributes: object) -> None:
    writer = SpanFile(path)
    span = tracer_of(writer).start_span(name, start_time=1)
    for key, value in attributes.items():
        span.set_attribute(key, value)  # type: ignore[arg-type] # what a careless caller passes
    span.end(2)
    writer.shutdown()


def test_a_line_has_the_shape_of_the_collectors_file_exporter(tmp_path: Path) -> None:
    writer = SpanFile(tmp_path / "deep" / "t.jsonl")
    tracer = tracer_of(writer)
    parent = tracer.start_span("up", start_time=1_000)
    with_link = [Link(parent.get_span_context(), {"why": "compared"})]
    from opentelemetry.trace import set_span_in_context

    span = tracer.start_span(
        "chat m", context=set_span_in_context(parent), kind=SpanKind.CLIENT, links=with_link, start_time=2_000
    )
    span.set_attributes({"s": "x", "b": True, "i": 2**53 + 1, "d": 0.5, "l": ["a", "b"], "n": [1, 2]})
    span.set_status(Status(StatusCode.ERROR, "broke"))
    span.end(3_000)

    (line,) = (tmp_path / "deep" / "t.jsonl").read_bytes().splitlines()
    (resource,) = json.loads(line)["resourceSpans"]
    assert resource["resource"] == {"attributes": [{"key": "service.name", "value": {"stringValue": "t"}}]}
    (scope,) = resource["scopeSpans"]
    assert scope["scope"] == {"name": "scope"}
    (written,) = scope["spans"]
    up, own = parent.get_span_context(), span.get_span_context()
    assert written == {
        "traceId": f"{own.trace_id:032x}",
        "spanId": f"{own.span_id:016x}",
        "flags": own.trace_flags | 0x100,
        "parentSpanId": f"{up.span_id:016x}",
        "name": "chat m",
        "kind": 3,
        "startTimeUnixNano": "2000",
        "endTimeUnixNano": "3000",
        "attributes": [
            {"key": "s", "value": {"stringValue": "x"}},
            {"key": "b", "value": {"boolValue": True}},
            {"key": "i", "value": {"intValue": "9007199254740993"}},
            {"key": "d", "value": {"doubleValue": 0.5}},
            {"key": "l", "value": {"arrayValue": {"values": [{"stringValue": "a"}, {"stringValue": "b"}]}}},
            {"key": "n", "value": {"arrayValue": {"values": [{"intValue": "1"}, {"intValue": "2"}]}}},
        ],
        "links": [
            {
                "traceId": f"{up.trace_id:032x}",
                "spanId": f"{up.span_id:016x}",
                "flags": up.trace_flags | 0x100,
                "attributes": [{"key": "why", "value": {"stringValue": "compared"}}],
            }
        ],
        "status": {"code": 2, "message": "broke"},
    }


def test_a_span_is_in_the_file_as_soon_as_it_has_ended(tmp_path: Path) -> None:
    writer = SpanFile(tmp_path / "t.jsonl")
    tracer = tracer_of(writer)
    for count in range(1, 4):
        tracer.start_span("s").end()
        assert len((tmp_path / "t.jsonl").read_bytes().splitlines()) == count


_BURST = """
import os, signal, sys
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from coldturn.traces.otlp import SpanFile
provider = TracerProvider(resource=Resource({}))
provider.add_span_processor(SpanFile(sys.argv[1]))
tracer = provider.get_tracer("t")
open_span = tracer.start_span("still open")
for i in range(2_000):
    tracer.start_span(f"s{i}").end()
"""


@pytest.mark.parametrize(
    ("ending", "code"),
    [("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL), ("os._exit(3)", 3)],
)
def test_a_killed_process_loses_no_span_that_has_ended(tmp_path: Path, ending: str, code: int) -> None:
    path = tmp_path / "t.jsonl"
    done = subprocess.run([sys.executable, "-c", _BURST + ending, str(path)], check=False)  # noqa: S603 # ours
    assert done.returncode == code
    reader = read_spans(path)
    assert [span.name for span in reader] == [f"s{i}" for i in range(2_000)]
    assert reader.dropped == 0


def test_a_forked_child_adds_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    program = (
        _BURST
        + "child = os.fork()\nfor i in range(500): tracer.start_span('x' * 3000).end()\n"
        + ("os._exit(0) if child == 0 else os.waitpid(child, 0)")
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program, str(path)], check=True)  # noqa: S603 # ours
    reader = read_spans(path)
    assert sum(1 for _ in reader) == 3_000
    assert reader.dropped == 0


def test_a_failing_disk_is_reported_once_and_harms_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "t.jsonl"
    writer = SpanFile(path)
    tracer = tracer_of(writer)
    tracer.start_span("before").end()
    real, full = os.write, True

    def write(file: int, data: bytes) -> int:
        # A disk that takes ten more bytes and then no more, until it is emptied.
        if not full:
            return real(file, data)
        if bytes(data).startswith(b'{"resource'):
            return real(file, bytes(data)[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", write)
    with caplog.at_level(logging.WARNING):
        tracer.start_span("lost").end()
        tracer.start_span("lost too").end()
        full = False
        tracer.start_span("after").end()

    assert [record.getMessage() for record in caplog.records] == [
        f"the trace file {path} cannot be written (No space left on device): spans are missing from it"
    ]
    assert writer.lost == 2
    reader = read_spans(path)
    assert [span.name for span in reader] == ["before", "after"]
    assert reader.dropped == 1


def test_a_full_device_does_not_stop_the_agent(caplog: pytest.LogCaptureFixture) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    writer = SpanFile("/dev/full")
    tracer_of(writer).start_span("lost").end()
    assert writer.lost == 1
    assert "/dev/full cannot be written" in caplog.text


def test_a_short_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, bytes(data)[:7]))
    write_one(tmp_path / "t.jsonl", text="x" * 100)
    assert [span.attributes["text"] for span in read_spans(tmp_path / "t.jsonl")] == ["x" * 100]


def test_append_closes_a_torn_line_and_replace_starts_anew(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    write_one(path, "first")
    with path.open("ab") as file:
        file.write(b'{"resourceSpans":[{"resou')
    write_one(path, "second")
    assert [span.name for span in read_spans(path)] == ["first", "second"]
    SpanFile(path, mode="replace").shutdown()
    assert path.read_bytes() == b""


def test_what_json_cannot_say_is_mended_or_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    write_one(path, "a\ud800b", lone=["x\udfff"], nan=float("nan"), inf=float("inf"), nothing=None, raw=b"\0")
    (span,) = read_spans(path)
    assert span.name == "a\ufffdb"
    assert span.attributes == {"lone": ("x\ufffd",)}


def test_a_file_that_cannot_be_opened_is_one_clear_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TraceFileError, match=r"t\.jsonl cannot be written \(.+\): choose another folder"):
        SpanFile(tmp_path / "file" / "t.jsonl")


def test_spans_that_end_after_shutdown_are_ignored(tmp_path: Path) -> None:
    writer = SpanFile(tmp_path / "t.jsonl")
    span = tracer_of(writer).start_span("late")
    writer.shutdown()
    writer.shutdown()
    span.end()
    assert (tmp_path / "t.jsonl").read_bytes() == b""

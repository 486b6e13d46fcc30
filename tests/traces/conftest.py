"""A Run told by hand, and the file that it is written to."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldturn.traces.otlp import SpanFile
from coldturn.traces.span_reader import SpanRow, read_spans
from coldturn.traces.spans import SpanObserver
from fake_run import FakeClock, tell


@pytest.fixture
def trace_path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def observer(trace_path: Path, clock: FakeClock) -> SpanObserver:
    return SpanObserver(SpanFile(trace_path), clock=clock, recording="fake.yaml", policy="stable")


@pytest.fixture
def told(observer: SpanObserver, clock: FakeClock, trace_path: Path) -> list[SpanRow]:
    tell(observer, clock)
    observer.close()
    return list(read_spans(trace_path))

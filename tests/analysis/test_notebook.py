"""The notebook runs headless on trace files, and needs nothing of the replay room."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from coldturn.traces.otlp import SpanFile
from coldturn.traces.spans import SpanObserver
from fake_run import FakeClock, tell

marimo = pytest.importorskip("marimo", reason="the extra `notebooks` is not installed")


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    for policy in ("naive", "stable"):
        clock = FakeClock()
        writer = SpanFile(tmp_path / "traces" / f"{policy}.jsonl")
        with SpanObserver(writer, clock=clock, recording="demo", policy=policy) as observer:
            tell(observer, clock)
    return tmp_path / "traces"


def test_it_shows_frames_and_the_chart(traces: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from coldturn.analysis.notebooks.demo import app

    monkeypatch.setenv("COLDTURN_TRACES", str(traces))
    outputs, defined = app.run()
    assert defined["steps"].height == 10
    assert defined["turns"].height == 6
    assert defined["segments"].height > 50
    assert defined["breaks"]["break_cause"].to_list() == ["clock_in_prefix", "planned_elision"] * 2
    row = defined["policies"].row(0, named=True)
    assert (row["breaks_unplanned"], row["breaks_planned"], row["hit_rate_estimated"]) == (1, 1, "55.7 %")
    assert any(isinstance(output, Figure) for output in outputs)


def test_without_traces_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from coldturn.analysis.notebooks.demo import app

    monkeypatch.setenv("COLDTURN_TRACES", str(tmp_path / "none"))
    outputs, defined = app.run()
    assert "steps" not in defined
    assert any("No trace files in" in getattr(output, "text", "") for output in outputs)


def test_it_reads_the_demos_folder_unless_told_otherwise(
    traces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from coldturn.analysis.notebooks.demo import app

    monkeypatch.delenv("COLDTURN_TRACES", raising=False)
    monkeypatch.chdir(traces.parent)
    traces.rename(traces.parent / "coldturn-demo")
    _, defined = app.run()
    assert defined["steps"].height == 10


def test_it_does_not_import_the_replay_room(traces: Path) -> None:
    program = (
        "import sys; from coldturn.analysis.notebooks.demo import app; app.run();"
        "sys.exit(any(name.startswith(('coldturn.replay', 'vcr', 'mcp.')) for name in sys.modules))"
    )
    env = {"COLDTURN_TRACES": str(traces), "HOME": str(traces)}
    subprocess.run([sys.executable, "-c", program], check=True, env=env)  # noqa: S603 # ours

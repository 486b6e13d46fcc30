"""The notebooks run headless on any input, from Parquet, and need nothing of the replay room."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from matplotlib.figure import Figure

from coldturn.analysis.frames.conversion import CacheFolderError, ConversionFailedError
from coldturn.analysis.frames.further import FURTHER, SpanFacts
from coldturn.analysis.notebooks import data
from coldturn.traces.errors import MissingInputError
from coldturn.traces.otlp import SpanFile
from coldturn.traces.parquet_files import written_tables
from coldturn.traces.span_reader import read_spans
from coldturn.traces.spans import SpanObserver
from fake_run import FakeClock, tell

pytest.importorskip("marimo", reason="the extra `notebooks` is not installed")

FOLDER = Path(data.__file__).parent
NAMES = ("session", "hit_rate", "breaks", "policy", "catalogue")
EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "requests.jsonl"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two policies on one recording, as Parquet."""
    folder = tmp_path_factory.mktemp("traces")
    with written_tables(folder / "tables", types=FURTHER) as written:
        for policy in ("naive", "stable"):
            clock, path = FakeClock(), folder / f"{policy}.jsonl"
            with SpanObserver(SpanFile(path), clock=clock, recording="demo", policy=policy) as observer:
                tell(observer, clock)
            facts = SpanFacts(policy)
            for span in read_spans(path):
                written.add(span, facts.of(span))
    return folder / "tables"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def opened(name: str) -> tuple[list[object], Mapping[str, Any]]:
    outputs, defined = importlib.import_module(f"coldturn.analysis.notebooks.{name}").app.run()
    return list(outputs), defined


def test_these_are_all_that_are_shipped() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == {*NAMES, "data"}


@pytest.mark.parametrize("name", NAMES)
def test_each_shows_its_pictures_and_tables(tables: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(data.PATH_VARIABLE, str(tables))
    outputs, defined = opened(name)
    figures = [output for output in outputs if isinstance(output, Figure)]
    shown = [output for output in outputs if isinstance(output, pl.DataFrame)]
    assert len(figures) == {"session": 3}.get(name, 1)
    assert shown
    sentences = [output for output in outputs if isinstance(output, str)]
    assert all(sentence.startswith("nothing to draw: no policy has variants") for sentence in sentences)
    assert len(sentences) == (name == "policy")
    if name == "policy":
        row = defined["policies"].row(0, named=True)
        assert (row["steps"], row["breaks_unplanned"], row["breaks_planned"]) == (5, 1, 1)
        assert row["hit_rate_estimated"] == row["read_estimated"] / row["input_tokens_estimated"]
    if name == "breaks":
        assert defined["by_cause"]["cause"].to_list()[0] == "clock_in_prefix"
        assert defined["later"].rows() == [("clock_in_prefix", "history_rewritten", 2)]
    if name == "session":
        assert defined["choice"].value == "demo · naive"
        assert defined["steps"].collect()["policy"].unique().to_list() == ["naive"]
    if name == "hit_rate":
        assert defined["by_agent"]["agent"].to_list() == ["reviewer"]
        assert defined["by_model"]["requests"].to_list() == [10]
    if name == "catalogue":
        assert defined["versions"].height == 4
        assert defined["idle"]["tool"].unique().sort().to_list() == ["tool_0", "tool_1", "tool_2"]


@pytest.mark.parametrize("name", ["session", "catalogue"])
def test_a_recording_of_requests_will_do(monkeypatch: pytest.MonkeyPatch, cache: Path, name: str) -> None:
    monkeypatch.setenv(data.PATH_VARIABLE, str(EXAMPLE))
    outputs, _ = opened(name)
    assert [output for output in outputs if isinstance(output, pl.DataFrame)]
    (folder,) = (cache / "coldturn").iterdir()
    assert folder.name.startswith("requests-")


def test_an_input_is_converted_once_and_again_when_it_changed(cache: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    lines = EXAMPLE.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:2]))
    assert data.frames_of(log).steps().collect().height == 2
    (first,) = (cache / "coldturn").iterdir()
    made = (first / "spans.parquet").stat().st_mtime_ns
    data.frames_of(log)
    assert (first / "spans.parquet").stat().st_mtime_ns == made
    log.write_text("".join(lines))
    assert data.frames_of(log).steps().collect().height == len(lines)


def test_without_a_path_the_demo_is_shown(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(data.PATH_VARIABLE, raising=False)
    _, defined = opened("policy")
    assert set(defined["policies"]["policy"]) == {"naive", "catalog-in-system", "catalog-in-suffix", "stable"}
    (folder,) = (cache / "coldturn").iterdir()
    assert data.demo_tables() == folder


def test_what_cannot_be_shown_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingInputError, match="no such file"):
        data.frames_of(tmp_path / "none.jsonl")
    (tmp_path / "x.json").write_text('{"a": 1}')
    with pytest.raises(ConversionFailedError, match=r"x\.json: cannot be shown: not recognised: .*\]$"):
        data.frames_of(tmp_path / "x.json")
    monkeypatch.setenv(data.PATH_VARIABLE, str(tmp_path / "none.jsonl"))
    outputs, defined = opened("breaks")
    assert "frames" not in defined
    assert any("no such file" in getattr(output, "text", "") for output in outputs)


def test_a_cache_that_cannot_be_written_says_how_to_have_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    for path in (EXAMPLE, None):
        with pytest.raises(CacheFolderError, match=r"\(not a directory\): .* with XDG_CACHE_HOME$"):
            data.frames_of(path)


def test_as_a_script_it_takes_a_path_and_needs_no_replay_room(tables: Path, tmp_path: Path) -> None:
    program = (
        "import runpy, sys; sys.argv = ['session.py', '--path', sys.argv[1]];"
        f"runpy.run_path({str(FOLDER / 'session.py')!r}, run_name='__main__');"
        "sys.exit(any(name.startswith(('coldturn.replay', 'vcr', 'mcp.')) for name in sys.modules))"
    )
    env = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-c", program, str(tables)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)  # noqa: S603 # ours
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "cache" / "coldturn").exists(), (
        "Parquet is read where it lies, and the demo is not made"
    )


def test_marimo_finds_nothing_to_complain_of() -> None:
    command = [sys.executable, "-m", "marimo", "check", "--strict", *(str(FOLDER / f"{n}.py") for n in NAMES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 # ours
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_tables_are_polars_and_nothing_else(name: str) -> None:
    tree = ast.parse((FOLDER / f"{name}.py").read_text())
    imported = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert {one.partition(".")[0] for one in imported} <= {"marimo", "polars", "coldturn"}


def test_a_recording_whose_name_is_no_utf_8_is_converted_too(tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"bad\xff.jsonl")
    try:
        odd.write_bytes(EXAMPLE.read_bytes())
    except OSError:
        pytest.skip("the file system takes UTF-8 alone")
    assert data.frames_of(odd).steps().collect()["recording"].unique().to_list() == ["bad\ufffd"]

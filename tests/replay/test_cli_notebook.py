"""`coldturn notebook`: opens, exports, and says what is missing in one sentence."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli_runs import Run, runner
from coldturn.analysis.frames.conversion import ConversionFailedError
from coldturn.analysis.notebooks import data
from coldturn.replay.cli.notebook import NOTEBOOKS, is_page

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "requests.jsonl"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, str]]]:
    """Commands that would have been started, with what they see of the environment."""
    found: list[tuple[list[str], dict[str, str]]] = []

    def started(command: list[str], *, env: dict[str, str], check: bool) -> subprocess.CompletedProcess[str]:
        assert not check
        found.append((command[1:], {name: env[name] for name in env if name.startswith("COLDTURN_NOTEBOOK")}))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", started)
    return found


Called = list[tuple[list[str], dict[str, str]]]


def test_it_opens_a_copy_that_may_be_edited_on_this_machine_alone(
    run: Run, called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("marimo", reason="the extra `notebooks` is not installed")
    monkeypatch.chdir(tmp_path)
    assert run("notebook", "session", str(EXAMPLE)).code == 0
    ((command, env),) = called
    assert command == ["-m", "marimo", "--quiet", "edit", "session.py", "--host", "127.0.0.1"]
    assert env == {"COLDTURN_NOTEBOOK_PATH": str(EXAMPLE)}
    (tmp_path / "session.py").write_text("# mine")
    assert run("notebook", "session").code == 0
    assert (tmp_path / "session.py").read_text() == "# mine", "your copy is yours"
    assert called[1][1] == {}
    assert run("notebook", "hit-rate", "--run").code == 0
    assert called[2][0][2:4] == ["--quiet", "run"]
    assert "site-packages" in called[2][0][4] or called[2][0][4].endswith("notebooks/hit_rate.py")


def test_a_page_is_written_for_machines_without_a_browser(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("marimo", reason="the extra `notebooks` is not installed")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    out = tmp_path / "out.html"
    done = run("notebook", "breaks", str(EXAMPLE), "--export", str(out))
    assert done.code == 0, done.err
    page = out.read_text()
    assert is_page(out), "another export may replace it"
    assert "What turned the cache cold?" in page
    assert "data:image/png;base64" in page


def test_an_export_replaces_no_page_of_others_and_no_input(run: Run, called: Called, tmp_path: Path) -> None:
    pytest.importorskip("marimo", reason="the extra `notebooks` is not installed")
    theirs = tmp_path / "page.html"
    theirs.write_text("<html><head></head>mine</html>")
    (tmp_path / "file").touch()
    (tmp_path / "folder.html").mkdir()
    empty = tmp_path / "empty.html"
    empty.touch()
    for source, out, sentence in (
        (EXAMPLE, theirs, "no page of a notebook of coldturn, so it stays"),
        (EXAMPLE, tmp_path / "file" / "x.html", "is no folder"),
        (EXAMPLE, tmp_path / "folder.html", "is a folder"),
        (empty, empty, "is one of the inputs"),
    ):
        done = run("notebook", "session", str(source), "--export", str(out))
        assert done.code == 2
        assert sentence in done.err
        assert len(done.err.splitlines()) == 1
    assert not called
    assert theirs.read_text() == "<html><head></head>mine</html>"
    assert empty.read_bytes() == b""


def test_an_input_that_cannot_be_read_exports_nothing(
    run: Run, called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("marimo", reason="the extra `notebooks` is not installed")

    def failed(path: Path) -> None:
        raise ConversionFailedError(str(path), "coldturn: it is nothing [x]")

    monkeypatch.setattr(data, "frames_of", failed)
    bad = tmp_path / "bad.json"
    bad.write_text('{"a": 1}')
    done = run("notebook", "session", str(bad), "--export", str(tmp_path / "new" / "n.html"))
    assert done.code == 2
    assert "cannot be shown" in done.err
    assert not called
    assert [path.name for path in tmp_path.iterdir()] == ["bad.json"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nosuch",), "take session, hit_rate, breaks, policy, catalogue"),
        (("session", "none.jsonl"), "no such file"),
        (("session", "--export", "x.pdf"), "name a .html file"),
        (("session", "--run", "--export", "x.html"), "without --run"),
    ],
)
def test_wrong_arguments_are_one_sentence(
    run: Run, called: Called, arguments: tuple[str, ...], sentence: str
) -> None:
    done = run("notebook", *arguments)
    assert done.code == 2
    assert sentence in done.err
    assert len(done.err.splitlines()) == 1
    assert not called


def test_without_marimo_the_extra_is_named(run: Run, called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    find: Callable[..., Any] = importlib.util.find_spec

    def none(name: str, *rest: object) -> object:
        return None if name == "marimo" else find(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", none)
    done = run("notebook", "session")
    assert done.code == 2
    assert "pip install 'coldturn[notebooks]'" in done.err
    assert not called


def test_a_notebook_that_fails_is_told(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("marimo", reason="the extra `notebooks` is not installed")
    monkeypatch.setattr(data, "frames_of", lambda _: None)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 3))
    done = run("notebook", "session", "--export", str(tmp_path / "x.html"))
    assert done.code == 2
    assert "with code 3" in done.err


def test_every_name_is_a_notebook_that_is_shipped() -> None:
    folder = os.listdir(Path(data.__file__).parent)  # noqa: PTH208 - names alone
    assert {f"{name}.py" for name in NOTEBOOKS} <= set(folder)

"""What a user installs: the built wheel holds all four rooms and their data, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from coldturn.replay.manual.pages import EXAMPLES, PAGES

ROOT = Path(__file__).parents[2]
ROOMS = ("reference", "traces", "analysis", "replay")


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names in a wheel that was built from the tree, with the build backend that pip would use."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(  # noqa: S603 - our own interpreter with fixed arguments
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_every_room_is_there_and_typed(contents: set[str]) -> None:
    for room in ROOMS:
        assert f"coldturn/{room}/__init__.py" in contents
        assert f"coldturn/{room}/py.typed" in contents


def test_every_module_of_the_tree_is_there(contents: set[str]) -> None:
    modules = {
        path.relative_to(ROOT / room).as_posix() for room in ROOMS for path in (ROOT / room).rglob("*.py")
    }
    assert modules
    assert modules <= contents


def test_the_namespace_has_no_module_of_its_own(contents: set[str]) -> None:
    assert "coldturn/__init__.py" not in contents


def test_only_our_namespace_is_installed(contents: set[str]) -> None:
    assert {name.split("/")[0] for name in contents if ".dist-info/" not in name} == {"coldturn"}


def test_recording_and_its_script_are_there(contents: set[str]) -> None:
    assert {
        "coldturn/replay/recordings/demo.jsonl",
        "coldturn/replay/recordings/demo.session.toml",
        "coldturn/replay/demo_recording/workspace.toml",
    } <= contents


def test_every_notebook_is_there(contents: set[str]) -> None:
    names = ("session", "hit_rate", "breaks", "policy", "catalogue")
    assert {f"coldturn/analysis/notebooks/{name}.py" for name in names} <= contents


def test_every_page_and_example_that_is_printed_is_there(contents: set[str]) -> None:
    folder = "coldturn/replay/manual/docs"
    pages = {f"{folder}/{name}.md" for name in PAGES} | {f"{folder}/examples/{name}" for name in EXAMPLES}
    assert {name for name in contents if name.startswith(folder)} == pages


def test_licence_and_command_are_declared(contents: set[str]) -> None:
    information = {name.split("/", 1)[1] for name in contents if ".dist-info/" in name}
    assert {"licenses/LICENSE", "entry_points.txt", "METADATA"} <= information


def test_every_file_of_cache_rules_is_there(contents: set[str]) -> None:
    room = ROOT / "analysis"
    rules = {path.relative_to(room).as_posix() for path in room.rglob("coldturn/analysis/rules/*.toml")}
    assert rules
    assert rules <= contents

"""docs/frames.md, docs/chart.md and docs/notebook.md show what their commands and functions give."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from matplotlib.testing.compare import compare_images

from coldturn.analysis.frames import columns
from coldturn.replay.cli.chart import Kind
from coldturn.replay.cli.notebook import NOTEBOOKS

DOCS = Path(__file__).resolve().parents[2] / "docs"
TOLERANCE = 6.0


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["frames", "chart", "notebook"])
def test_pages_show_what_their_commands_print(name: str) -> None:
    pages = loaded("update_pages")
    assert f"docs/{name}.md" in pages.PAGES
    if name == "notebook":
        pytest.importorskip("marimo", reason="the extra `notebooks` is not installed")
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert page.count("<!-- run") == page.count("<!-- /run -->") > 2
    assert pages.with_outputs(page) == page, "run `make readme`"


def test_every_column_of_every_frame_is_explained() -> None:
    page = (DOCS / "frames.md").read_text(encoding="utf-8")
    assert loaded("update_frames").with_columns(page) == page, "run `make readme`"
    for name, frame in columns.FRAMES.items():
        assert f"### `{name}`" in page
        assert all(f"| `{column}` |" in page for column in frame)
    assert page.count("\n### ") == len(columns.FRAMES) + 5, "and five worked queries"


def test_pictures_are_those_of_the_demo(tmp_path: Path) -> None:
    drawn = loaded("update_frames").draw(tmp_path)
    for path in drawn:
        problem = compare_images(str(DOCS / "images" / path.name), str(path), TOLERANCE)
        assert problem is None, f"{problem}; run `make readme`"
    shown = set(re.findall(r"images/(chart-[a-z-]+\.png)", (DOCS / "chart.md").read_text(encoding="utf-8")))
    assert shown == {path.name for path in drawn}


def test_every_kind_and_every_notebook_is_listed() -> None:
    chart = (DOCS / "chart.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([a-z-]+)` \|", chart, re.MULTILINE)) == set(Kind)
    notebook = (DOCS / "notebook.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([a-z_]+)` \|", notebook, re.MULTILINE)) == set(NOTEBOOKS)

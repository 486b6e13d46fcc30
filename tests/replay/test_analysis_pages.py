"""docs/frames.md, docs/chart.md and docs/notebook.md show what functions give; commands: test_pages.py."""

from __future__ import annotations

import re
from pathlib import Path

from docs import update_frames
from matplotlib.testing.compare import compare_images

from coldturn.analysis.frames import columns
from coldturn.replay.cli.chart import Kind
from coldturn.replay.cli.notebook import NOTEBOOKS

DOCS = Path(__file__).resolve().parents[2] / "docs"
TOLERANCE = 6.0


def test_every_column_of_every_frame_is_explained() -> None:
    page = (DOCS / "frames.md").read_text(encoding="utf-8")
    assert update_frames.with_columns(page) == page, "run `make readme`"
    for name, frame in columns.FRAMES.items():
        assert f"### `{name}`" in page
        assert all(f"| `{column}` |" in page for column in frame)
    assert page.count("\n### ") == len(columns.FRAMES) + 5, "and five worked queries"


def test_pictures_are_those_of_the_demo(tmp_path: Path) -> None:
    drawn = update_frames.draw(tmp_path)
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

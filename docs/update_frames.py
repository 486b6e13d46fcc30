"""Write what each column of the frames says into docs/frames.md, and draw the pictures of docs/chart.md.

Run it as ``make readme``; tests fail when the page or a picture is another.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure
from PIL import Image

from coldturn.analysis import charts
from coldturn.analysis.frames.columns import columns_page
from coldturn.analysis.frames.frames import Frames
from coldturn.replay.runs.demo import ablate_demo, replay_demo
from coldturn.traces.span_reader import read_spans

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "frames.md"
IMAGES = DOCS / "images"
_HEADING = "## Columns\n"
_COLOURS = 64
_DPI = 75
_DRAWN: Mapping[str, tuple[str, Callable[[pl.DataFrame], Figure]]] = {
    "hit-rate": ("turns", charts.hit_rate_chart),
    "prefix-map": ("steps", charts.prefix_map_chart),
    "breaks": ("breaks", charts.breaks_chart),
    "zones": ("steps", charts.zones_chart),
    "catalogue": ("servers", charts.catalogue_chart),
}


def with_columns(page: str) -> str:
    """`page` with its last section as the frames are now."""
    return page[: page.index(_HEADING)] + columns_page()


def draw(folder: Path) -> list[Path]:
    """Draw the pictures of the demo into `folder`."""
    with tempfile.TemporaryDirectory() as traces:
        replay_demo(Path(traces) / "compared")
        ablate_demo(Path(traces) / "ablated")
        compared, ablated = (_frames(Path(traces) / name) for name in ("compared", "ablated"))
    drawn = [_draw(folder, kind, make, getattr(compared, frame)()) for kind, (frame, make) in _DRAWN.items()]
    return [*drawn, _draw(folder, "ablation", charts.ablation_chart, ablated.steps())]


def _frames(folder: Path) -> Frames:
    return Frames.of_spans(span for path in sorted(folder.glob("*.jsonl")) for span in read_spans(path))


def _draw(folder: Path, kind: str, make: Callable[[pl.DataFrame], Figure], frame: pl.LazyFrame) -> Path:
    path = folder / f"chart-{kind}.png"
    charts.save(make(frame.collect()), path, dpi=_DPI)
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(_COLOURS)
    small.save(path, optimize=True)
    return path


def main() -> None:
    """Bring page and pictures up to date."""
    PAGE.write_text(with_columns(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    for path in draw(IMAGES):
        sys.stdout.write(f"{path.name} drawn\n")


if __name__ == "__main__":
    main()

"""Pictures as files, each marked as drawn by coldturn: a command replaces those that are, and no others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure

from coldturn.analysis.charts.style import styled
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.traces.otlp import TraceFileError
from coldturn.traces.whole_file import need_place, written_whole

_DRAWN_BY: Final = "coldturn"
_METADATA: Final[Mapping[str, dict[str, Any]]] = {
    ".png": {"Software": _DRAWN_BY},
    ".svg": {"Creator": _DRAWN_BY, "Date": None},
    ".pdf": {"Creator": _DRAWN_BY, "CreationDate": None},
}
"""Without a date, so the same figures give the same file."""
_MARKS: Final = {
    b"\x89PNG": b"tEXtSoftware\x00coldturn",
    b"<?xml": b"<dc:title>coldturn</dc:title>",
    b"%PDF": b"/Creator (coldturn)",
}
"""How a kind of picture begins -> what stands in one of ours."""
_LOOKED_AT: Final = 65_536

ENDINGS: Final = tuple(_METADATA)
"""Of the pictures that can be written."""


class ChartFileError(ColdturnError):
    """A picture that cannot be written."""

    slug = "chart-file"

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        super().__init__(
            f"{path}: the picture cannot be written ({reason}): "
            "name a .png, .svg or .pdf, and a folder that is there"
        )


def save(figure: Figure, path: str | Path, *, dpi: int = 150) -> None:
    """Write a picture, by the ending of its name, over whatever stands there.

    Raises:
        ChartFileError: It cannot be written, or its ending is none of `ENDINGS`.
    """
    path = Path(path)
    _write(figure, path, path, dpi)


def need_picture_place(path: Path) -> None:
    """Refuse at once what `replace_picture` would refuse when the figure is drawn.

    Raises:
        ChartFileError: The folder is not there, or cannot be written.
        ForeignFileError: Something else stands there.
    """
    if not path.parent.is_dir():
        raise ChartFileError(path, f"there is no folder {path.parent}")
    try:
        need_place(path, "picture", is_picture)
    except TraceFileError as error:
        raise ChartFileError(path, error.reason) from error


def replace_picture(figure: Figure, path: Path, *, dpi: int = 150) -> None:
    """Write a picture whole or not at all. It replaces an earlier picture of ours, and nothing else.

    Raises:
        ChartFileError: It cannot be written, or its ending is none of `ENDINGS`.
        ForeignFileError: Something else stands there.
    """
    need_picture_place(path)
    try:
        with written_whole(path, "picture", is_picture) as partial:
            _write(figure, partial, path, dpi)
    except TraceFileError as error:
        raise ChartFileError(path, error.reason) from error


def _write(figure: Figure, path: Path, named: Path, dpi: int) -> None:
    suffix = named.suffix.lower()
    if suffix not in ENDINGS:
        raise ChartFileError(named, "it is none of the three formats")
    try:
        with styled():
            figure.savefig(path, dpi=dpi, format=suffix[1:], metadata=_METADATA[suffix])
    except OSError as error:
        raise ChartFileError(named, (error.strerror or str(error)).lower()) from error


def is_picture(path: Path) -> bool:
    """Whether a file is a picture that coldturn drew: it says so near its beginning or its end."""
    with path.open("rb") as file:
        head = file.read(_LOOKED_AT)
        file.seek(max(0, path.stat().st_size - _LOOKED_AT))
        tail = file.read()
    return any(head.startswith(begin) and mark in head + tail for begin, mark in _MARKS.items())

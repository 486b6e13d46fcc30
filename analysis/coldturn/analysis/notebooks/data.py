"""What the notebooks read: Parquet of any recording or trace, or of the demo that ships with coldturn."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Final

import polars as pl
import xxhash
from matplotlib.figure import Figure

from coldturn.analysis.charts import EmptyChartError
from coldturn.analysis.frames.conversion import CacheFolderError, ConversionFailedError, parquet_of
from coldturn.analysis.frames.frames import Frames
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.traces.errors import MissingInputError

PATH_VARIABLE: Final = "COLDTURN_NOTEBOOK_PATH"
"""Names the input where a notebook is given no ``--path``."""


def cache_folder() -> Path:
    """Where converted inputs are kept: below ``XDG_CACHE_HOME``, or ``~/.cache``."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "coldturn"


def frames_of(path: str | Path | None = None) -> Frames:
    """The frames of what a path names; of the demo's traces without one.

    Parquet is read where it lies. Anything else that ``coldturn explain`` reads, and traces, are converted
    once into the cache folder, and again when they have changed. No network is used.

    Raises:
        MissingInputError: There is nothing at `path`.
        CacheFolderError: What is converted has no place to go.
        ConversionFailedError: Nothing in it can be shown.
    """
    given = path or os.environ.get(PATH_VARIABLE)
    if not given:
        return Frames.read(demo_tables())
    found = Path(given)
    if not found.exists():
        raise MissingInputError(str(given))
    table = parquet_of(found)
    if table is not None:
        return Frames.read(table.parent if found.is_file() else found)
    return Frames.read(_converted(found))


def frames_or_stop(mo: ModuleType) -> Frames:
    """The frames that a notebook was opened on; what is wrong with them ends the cell with one sentence.

    Args:
        mo: The module `marimo`, which only notebooks import.
    """
    try:
        return frames_of(mo.cli_args().get("path"))
    except ColdturnError as error:
        raise mo.MarimoStopError(mo.md(f"**{error}**")) from error


def demo_tables() -> Path:
    """The demo's traces as Parquet, made on first use: its recording is replayed under four policies."""
    folder = cache_folder() / f"demo-{version('coldturn')}"
    if parquet_of(folder) is None:
        _need_cache()
        with tempfile.TemporaryDirectory(prefix="coldturn-") as traces:
            said = _coldturn("demo", "--out", traces)
            said += _coldturn("convert", f"{traces}/*.jsonl", "-o", str(folder), "--to", "parquet")
        _need(folder, "the demo", said)
    return folder


def _converted(path: Path) -> Path:
    told = xxhash.xxh3_64(version("coldturn").encode())
    for part in _parts(path.resolve()):
        told.update(part.encode("utf-8", "surrogateescape"))
    stem = os.fsencode(path.stem).decode("utf-8", "replace")
    folder = cache_folder() / f"{stem or 'input'}-{told.hexdigest()}"
    if parquet_of(folder) is None:
        _need_cache()
        said = _coldturn("convert", str(path), "-o", str(folder), "--to", "parquet")
        _need(folder, str(path), said)
    return folder


def _need_cache() -> None:
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CacheFolderError(folder, (error.strerror or str(error)).lower()) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CacheFolderError(folder, "permission denied")


def _parts(path: Path) -> Iterator[str]:
    """What tells that an input has changed: names, sizes and times of its files."""
    for one in sorted(path.rglob("*")) if path.is_dir() else [path]:
        state = one.stat()
        yield f"{one}\0{state.st_size}\0{state.st_mtime_ns}\0"


def _need(folder: Path, shown: str, said: str) -> None:
    if parquet_of(folder) is None:
        raise ConversionFailedError(shown, said)


def _coldturn(*arguments: str) -> str:
    """Run the program: reading what a user names is its job, in a room that this one may not import.

    Returns:
        What it said on standard error.
    """
    command = [sys.executable, "-m", "coldturn.replay.cli.app", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr  # noqa: S603 # ours, no shell


def picture(draw: Callable[[pl.DataFrame], Figure], frame: pl.LazyFrame) -> Figure | str:
    """A picture of a frame, or the sentence that says why there is none."""
    try:
        return draw(frame.collect())
    except EmptyChartError as error:
        return str(error)

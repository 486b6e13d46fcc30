"""Inputs as frames: Parquet is read where it lies, all else is converted first."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from coldturn.analysis.frames.frames import Frames
from coldturn.analysis.frames.further import FURTHER
from coldturn.replay.cli.convert_traces import NothingConvertedError, Told, TraceOptions, read_traces
from coldturn.replay.cli.exit_codes import ExitCode
from coldturn.traces.parquet_files import written_tables


@contextmanager
def frames_of_inputs(inputs: Sequence[str], options: TraceOptions) -> Iterator[tuple[Frames, ExitCode]]:
    """The frames of everything that was named but segments and tools, and the code that reading leads to.

    They are read lazily, from a folder of Parquet or from a temporary one: use them inside.

    Raises:
        NothingConvertedError: No input holds anything that could be shown.
        ForeignParquetError: An input is Parquet, and none of ours.
    """
    if len(inputs) == 1 and inputs[0] != "-" and (Path(inputs[0]) / "spans.parquet").exists():
        yield Frames.read(inputs[0]), ExitCode.FINE
        return
    told = Told()
    with tempfile.TemporaryDirectory(prefix="coldturn-") as folder:
        with written_tables(Path(folder), types=FURTHER, tell=told, segments=False) as tables:
            code, count = read_traces(tables.add, told, inputs, options)
            if not count:
                raise NothingConvertedError
        yield Frames.read(folder), code

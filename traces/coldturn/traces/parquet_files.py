"""Writing and reading the two Parquet files of a trace: `spans.parquet` and `segments.parquet`.

Rows are written in parts of a bounded size, which are then streamed into one file (or one per day or model),
so memory does not grow with the trace. A folder gets its files only once both are whole.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import polars as pl
from polars.exceptions import ComputeError, PolarsError

from coldturn.reference.prefix.errors import ColdturnError
from coldturn.traces import names
from coldturn.traces.packed import Definition
from coldturn.traces.parquet import SEGMENTS, SPANS, Types, has_moments, row_of, spans_of, table
from coldturn.traces.segment_rows import Tell, defined_by, fail, rows_of
from coldturn.traces.span_reader import SpanRow
from coldturn.traces.whole_file import lives, made_folders

SPANS_FILE: Final = "spans.parquet"
SEGMENTS_FILE: Final = "segments.parquet"
_VERSION_KEY: Final = "coldturn.schema.version"
_VERSION: Final = str(names.SCHEMA_VERSION)
_PART_ROWS, _PART_CHARACTERS = 4_096, 32_000_000
_SEGMENT_ROWS = 500_000
_ROW_GROUP = 65_536
_READ_ROWS = 2_048
_LEAST_FREE = 65_536
_KEY = "partition"


class Partition(StrEnum):
    """By what a trace is cut into several files."""

    DAY = "day"
    MODEL = "model"


class ParquetError(ColdturnError):
    """Parquet that cannot be written, or that is none of ours."""

    slug = "parquet"

    def __init__(self, path: Path, sentence: str) -> None:
        self.path = path
        super().__init__(f"{path}: {sentence}")


class ForeignParquetError(ParquetError):
    """A Parquet file without the columns of a trace."""

    slug = "foreign-parquet"

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            path,
            f"no trace of coldturn ({reason}): write one with `coldturn convert INPUT --to parquet -o DIR`",
        )


@dataclass(slots=True)
class TraceTables:
    """Takes spans one by one; `written_tables` gives one.

    Attributes:
        spans: How many there were. `segments`: rows of the other table.
    """

    folder: Path
    types: Types
    partition: Partition | None
    tell: Tell
    with_segments: bool = True
    spans: int = 0
    segments: int = 0
    _rows: list[dict[str, Any]] = field(default_factory=list)
    _characters: int = 0
    _parts: int = 0

    def add(self, span: SpanRow, further: Mapping[str, Any] | None = None) -> None:
        """Take the next span, with what an analysis has to say of it."""
        row = row_of(span) | dict(further or {})
        if self.partition is not None:
            row[_KEY] = _key(span, self.partition)
        self._rows.append(row)
        self._characters += sum(len(value) for value in row.values() if isinstance(value, str))
        self.spans += 1
        if len(self._rows) >= _PART_ROWS or self._characters >= _PART_CHARACTERS:
            self._flush()

    def finish(self) -> None:
        """Write both tables."""
        if self._rows or not self._parts:
            self._flush()
        key = {_KEY: pl.String} if self.partition else {}
        parts = pl.scan_parquet(self.folder / "spans-*.part")
        self._sink(parts, SPANS_FILE)
        for number, frame in enumerate(self._segment_tables({**SEGMENTS, **key})):
            self.segments += frame.height
            frame.write_parquet(self.folder / f"segments-{number:06}.part")
        self._sink(pl.scan_parquet(self.folder / "segments-*.part"), SEGMENTS_FILE)
        for part in self.folder.glob("*.part"):
            part.unlink()

    def _flush(self) -> None:
        key = {_KEY: pl.String} if self.partition else {}
        part = self.folder / f"spans-{self._parts:06}.part"
        table(self._rows, {**SPANS, **self.types, **key}).write_parquet(part)
        self._rows, self._characters, self._parts = [], 0, self._parts + 1

    def _sink(self, frame: pl.LazyFrame, name: str) -> None:
        target: Path | pl.PartitionBy = self.folder / name
        if self.partition is not None:
            frame = frame.rename({_KEY: self.partition.value})
            target = pl.PartitionBy(self.folder / name, key=self.partition.value, include_key=False)
        frame.sink_parquet(
            target,
            row_group_size=_ROW_GROUP,
            metadata={_VERSION_KEY: _VERSION},
            mkdir=True,
            engine="streaming",
        )

    def _segment_tables(self, types: Types) -> Iterator[pl.DataFrame]:
        """The segments of all spans, in tables of a bounded size: at least one, maybe empty."""
        known = self._known() if self.with_segments else {}
        rows: list[dict[str, Any]] = []
        for span, key in self._packed() if self.with_segments else ():
            rows += ({**row, _KEY: key} for row in rows_of(span, known, self.tell))
            if len(rows) >= _SEGMENT_ROWS:
                yield table(rows, types)
                rows = []
        yield table(rows, types)

    def _known(self) -> dict[str, Definition]:
        """What all spans define, the first of each hash: a span may end before the one it relies on."""
        known: dict[str, Definition] = {}
        for span, _ in self._packed():
            for digest, definition in defined_by(span, self.tell).items():
                known.setdefault(digest, definition)
        return known

    def _packed(self) -> Iterator[tuple[SpanRow, str | None]]:
        for part in sorted(self.folder.glob("spans-*.part")):
            frame = pl.read_parquet(part).filter(pl.col(names.SEGMENT_COUNT).is_not_null())
            keys = frame[_KEY] if _KEY in frame.columns else [None] * frame.height
            yield from zip(spans_of(frame), keys, strict=True)


def _key(span: SpanRow, partition: Partition) -> str:
    if partition is Partition.MODEL:
        model = span.attributes.get(names.REQUEST_MODEL)
        return model if isinstance(model, str) else "none"
    start = span.start if has_moments(span) else 0
    return str(pl.Series([start]).cast(pl.Datetime("ns")).dt.strftime("%Y-%m-%d")[0])


@contextmanager
def written_tables(
    folder: Path,
    *,
    types: Types | None = None,
    partition: Partition | None = None,
    tell: Tell | None = None,
    segments: bool = True,
) -> Iterator[TraceTables]:
    """Write `spans.parquet` and `segments.parquet` into `folder`, where both appear whole or not at all.

    Args:
        folder: Is made. Tables of ours that stand there are replaced.
        types: Further columns of `spans.parquet`.
        partition: Makes a folder of each table, with a file per day (UTC) or per model; spans that ask no
            model stand under ``model=none``.
        tell: Is told of spans whose segments disagree: they have no rows in `segments.parquet`. When None,
            that is an error.
        segments: Whether `segments.parquet` gets its rows, which cost most of the time.

    Raises:
        ParquetError: The folder cannot be written, or holds something else under these names.
        PackedSegmentsError: Segments disagree, and `tell` is None.
    """
    _need_plain_name(folder)
    partial = folder / f".{SPANS_FILE}.{os.getpid()}.part"
    with made_folders(folder):
        try:
            _remove_leftovers(folder)
            partial.mkdir(parents=True)
            _refuse_others(folder)
            tables = TraceTables(partial, types or {}, partition, tell or fail, segments)
            yield tables
            tables.finish()
            _put(partial, folder)
        except (OSError, ComputeError) as error:
            reason = _full_disk(partial) or _reason(error)
            raise ParquetError(folder, f"cannot be written ({reason}): choose another folder") from error
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _full_disk(folder: Path) -> str | None:
    """That there is no room left, which Polars may notice only in what it cannot read back."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return None
    return os.strerror(errno.ENOSPC).lower() if free < _LEAST_FREE else None


def _need_plain_name(folder: Path) -> None:
    try:
        str(folder).encode()
    except UnicodeEncodeError as error:
        raise ParquetError(
            folder, "its name is no UTF-8, which Parquet needs: choose another folder"
        ) from error


def _remove_leftovers(folder: Path) -> None:
    """Remove what processes began to write there and were killed over."""
    for leftover in folder.glob(f".{SPANS_FILE}.*.part"):
        pid = leftover.name.removesuffix(".part").rpartition(".")[2]
        if pid.isdecimal() and not lives(int(pid)):
            shutil.rmtree(leftover, ignore_errors=True)


def _reason(error: Exception) -> str:
    return ((error.strerror if isinstance(error, OSError) else None) or str(error).partition("\n")[0]).lower()


def _refuse_others(folder: Path) -> None:
    for name in (SPANS_FILE, SEGMENTS_FILE):
        path = folder / name
        if path.exists() and not is_table(path):
            raise ParquetError(
                path, "it is there and is no table of coldturn, so it stays: choose another folder"
            )


def _put(partial: Path, folder: Path) -> None:
    """Put both tables in place of older ones, which go first: one of each would not belong together."""
    for name in (SPANS_FILE, SEGMENTS_FILE):
        target = folder / name
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)
    for name in (SEGMENTS_FILE, SPANS_FILE):
        (partial / name).replace(folder / name)


def is_table(path: Path) -> bool:
    """Whether `path` is one of our Parquet tables: a file, or a folder of partitions."""
    found = next(iter(sorted(path.rglob("*.parquet"))), None) if path.is_dir() else path
    if found is None:
        return False
    try:
        return _VERSION_KEY in pl.read_parquet_metadata(found)
    except (PolarsError, OSError):
        return False


def scan_table(path: Path, types: Types) -> pl.LazyFrame:
    """A table, read lazily. A column that an older version did not write is null.

    Args:
        path: A file, or a folder of partitions.
        types: The columns.

    Raises:
        ForeignParquetError: It is missing, none of ours, or its columns have other types.
    """
    if not path.exists():
        raise ForeignParquetError(path, "no such file")
    if not is_table(path):
        raise ForeignParquetError(path, "its columns are others")
    try:
        frame = pl.scan_parquet(path / "**/*.parquet" if path.is_dir() else path, hive_partitioning=False)
        found = frame.collect_schema()
    except (PolarsError, OSError) as error:
        raise ForeignParquetError(path, _reason(error)) from error
    odd = [name for name, dtype in types.items() if name in found and found[name] != dtype]
    if odd:
        raise ForeignParquetError(path, f"the column {odd[0]} is of another type")
    absent = {name: pl.lit(None, dtype) for name, dtype in types.items() if name not in found}
    return frame.with_columns(**absent).select(list(types))


def read_table_spans(path: Path) -> Iterator[SpanRow]:
    """The spans of a `spans.parquet`, some thousand at a time, in file order.

    Raises:
        ForeignParquetError: It is no table of ours.
    """
    for frame in scan_table(path, SPANS).collect_batches(chunk_size=_READ_ROWS):
        yield from spans_of(frame)

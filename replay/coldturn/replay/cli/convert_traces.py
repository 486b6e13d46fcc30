"""The part of `coldturn convert` that writes traces: Parquet, or spans as OTLP-JSON lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coldturn.analysis.frames.conversion import Conversion, parquet_of
from coldturn.analysis.frames.further import FURTHER
from coldturn.analysis.frames.recorded import Take
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.replay.cli.common import exit_code, read_all, say, stdout, tell_errors
from coldturn.replay.cli.exit_codes import ExitCode
from coldturn.replay.cli.inputs import Input
from coldturn.replay.cli.options import usage_error
from coldturn.replay.errors import RecordingExistsError
from coldturn.traces.errors import NumbersOnlyError, UnsupportedFormatError
from coldturn.traces.kinds import InputKind
from coldturn.traces.parquet import has_moments, without_moments
from coldturn.traces.parquet_files import SEGMENTS_FILE, SPANS_FILE, Partition, written_tables
from coldturn.traces.span_lines import span_line
from coldturn.traces.span_reader import SpanRow
from coldturn.traces.whole_file import is_trace, written_whole

DUMP_SUFFIX = ".requests.ndjson"
"""Of the requests that a replay writes on wish."""


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """How inputs are read and what is written."""

    kind: InputKind | None = None
    partition: str | None = None
    overwrite: bool = False
    strict: bool = False
    content: bool = True

    @property
    def cut(self) -> Partition | None:
        """By what tables are cut."""
        return None if self.partition is None else Partition(self.partition)


def to_parquet(inputs: Sequence[str], out: Path, options: TraceOptions) -> ExitCode:
    """Write `spans.parquet` and `segments.parquet` into the folder `out`.

    Raises:
        UsageError: `out` is named like a file.
        RecordingExistsError: Tables stand there, and they are not to be replaced.
        ParquetError: They cannot be written.
    """
    if out.suffix == ".parquet" or out.is_file():
        raise usage_error(f"-o {out}: Parquet is two files, {SPANS_FILE} and {SEGMENTS_FILE}: name a folder")
    if (out / SPANS_FILE).exists() and not options.overwrite:
        raise RecordingExistsError(str(out / SPANS_FILE))
    told = Told()
    with written_tables(out, types=FURTHER, partition=options.cut, tell=told) as tables:
        code, count = read_traces(tables.add, told, inputs, options)
        _need(count)
    stdout().print(f"{out / SPANS_FILE}: {tables.spans:,} spans")
    stdout().print(f"{out / SEGMENTS_FILE}: {tables.segments:,} segments")
    return code


def to_spans(inputs: Sequence[str], out: Path, options: TraceOptions) -> ExitCode:
    """Write a trace file.

    Raises:
        UsageError: `out` is a folder.
        RecordingExistsError: It stands there, and is not to be replaced.
        TraceFileError: It cannot be written.
    """
    if out.is_dir() or out.suffix == ".parquet":
        raise usage_error(f"-o {out}: spans go into one file: name it, such as {out.stem or 'trace'}.jsonl")
    if out.exists() and not options.overwrite:
        raise RecordingExistsError(str(out))
    told = Told()
    with written_whole(out, "trace", is_trace) as partial, partial.open("wb") as file:
        code, count = read_traces(lambda span, _: file.write(span_line(span)), told, inputs, options)
        _need(count)
    stdout().print(f"{out}: {count:,} spans")
    return code


class NothingConvertedError(ColdturnError):
    """No input held anything that a trace could say."""

    slug = "nothing-converted"

    def __init__(self) -> None:
        super().__init__(
            "nothing was written: no input holds a model request or a span; what was wrong stands above"
        )


@dataclass(slots=True)
class Told:
    """Says each thing once."""

    seen: set[str] = field(default_factory=set)

    def __call__(self, error: ColdturnError) -> None:
        """Say it, unless it was said."""
        sentence = f"{error} [{error.slug}]"
        if sentence not in self.seen:
            self.seen.add(sentence)
            say(sentence)


def _need(count: int) -> None:
    if not count:
        raise NothingConvertedError


def read_traces(take: Take, told: Told, inputs: Sequence[str], options: TraceOptions) -> tuple[ExitCode, int]:
    """Read every input as spans. Tables go first: in a folder of them `expand` would find no file.

    Args:
        take: Gets the spans.
        told: Is told what is wrong.
        inputs: What the user typed.
        options: How they are read.

    Returns:
        The code that reading leads to, and the number of spans.
    """
    dated = _Dated(take)
    conversion = Conversion(dated, told, content=options.content)
    code = _read(conversion, inputs, options)
    if dated.unknown:
        count = "1 span has" if dated.unknown == 1 else f"{dated.unknown:,} spans have"
        say(f"{count} a time before 1970 or after 2262, which counts as unknown")
    return code, conversion.spans


@dataclass(slots=True)
class _Dated:
    """Passes spans on; times that no trace can hold become unknown, and are counted."""

    take: Take
    unknown: int = 0

    def __call__(self, span: SpanRow, further: Mapping[str, Any]) -> None:
        if not has_moments(span):
            span = without_moments(span)
            self.unknown += 1
        self.take(span, further)


def _read(conversion: Conversion, inputs: Sequence[str], options: TraceOptions) -> ExitCode:
    failed = False
    others: list[str] = []
    for one in inputs:
        if one != "-" and parquet_of(Path(one)) is not None:
            failed |= not _whole(conversion, Input(one, Path(one)))
        else:
            others.append(one)
    explainer = conversion.explainer
    code = ExitCode.FINE
    if others:
        code = read_all(
            explainer,
            others,
            options.kind,
            numbers=lambda one: _numbers(conversion, one),
            first=lambda one: (
                _left_out(one) or (options.kind is None and conversion.whole(one.source, one.name))
            ),
        )
    conversion.finish()
    tell_errors(explainer.report)
    if failed:
        return ExitCode.UNUSABLE
    if code is ExitCode.FINE and explainer.report.requests:
        return exit_code(explainer.report, code, strict=options.strict)
    return code


def _numbers(conversion: Conversion, one: Input) -> bool:
    try:
        return conversion.numbers(one.source, one.name)
    except (NumbersOnlyError, UnsupportedFormatError):
        return False


def _left_out(one: Input) -> bool:
    """Whether a file is what a replay wrote beside its trace, which says the same."""
    left = one.found and one.name.endswith(DUMP_SUFFIX)
    if left:
        say(f"{one.name}: the requests of a trace that stands beside it, left out; name the file to read it")
    return left


def _whole(conversion: Conversion, one: Input) -> bool:
    try:
        return conversion.whole(one.source, one.name)
    except ColdturnError as error:
        say(f"{error} [{error.slug}]")
        return False

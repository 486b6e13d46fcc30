"""The part of `coldturn convert` that writes traces: Parquet, or spans as OTLP-JSON lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from coldturn.analysis.frames.conversion import Conversion, parquet_of
from coldturn.analysis.frames.further import FURTHER
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.replay.cli.common import exit_code, read_all, say, stdout, tell_errors
from coldturn.replay.cli.exit_codes import ExitCode
from coldturn.replay.cli.inputs import Input
from coldturn.replay.cli.options import usage_error
from coldturn.replay.errors import RecordingExistsError
from coldturn.traces.errors import UnsupportedFormatError
from coldturn.traces.kinds import InputKind
from coldturn.traces.parquet_files import SEGMENTS_FILE, SPANS_FILE, Partition, written_tables
from coldturn.traces.span_lines import span_line
from coldturn.traces.whole_file import is_trace, written_whole


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
    told = _Told()
    with written_tables(out, types=FURTHER, partition=options.cut, tell=told) as tables:
        conversion = Conversion(tables.add, told, content=options.content)
        code = _read(conversion, inputs, options)
        _need_spans(conversion)
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
    told = _Told()
    with written_whole(out, "trace", is_trace) as partial, partial.open("wb") as file:
        conversion = Conversion(lambda span, _: file.write(span_line(span)), told, content=options.content)
        code = _read(conversion, inputs, options)
        _need_spans(conversion)
    stdout().print(f"{out}: {conversion.spans:,} spans")
    return code


class NothingConvertedError(ColdturnError):
    """No input held anything that a trace could say."""

    slug = "nothing-converted"

    def __init__(self) -> None:
        super().__init__(
            "nothing was written: no input holds a model request or a span; what was wrong stands above"
        )


@dataclass(slots=True)
class _Told:
    """Says each thing once."""

    seen: set[str] = field(default_factory=set)

    def __call__(self, error: ColdturnError) -> None:
        sentence = f"{error} [{error.slug}]"
        if sentence not in self.seen:
            self.seen.add(sentence)
            say(sentence)


def _need_spans(conversion: Conversion) -> None:
    if not conversion.spans:
        raise NothingConvertedError


def _read(conversion: Conversion, inputs: Sequence[str], options: TraceOptions) -> ExitCode:
    """Read every input. Tables go first: a folder of them holds no file that `expand` would look for."""
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
            first=lambda one: options.kind is None and conversion.whole(one.source, one.name),
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
    except UnsupportedFormatError:
        return False


def _whole(conversion: Conversion, one: Input) -> bool:
    try:
        return conversion.whole(one.source, one.name)
    except ColdturnError as error:
        say(f"{error} [{error.slug}]")
        return False

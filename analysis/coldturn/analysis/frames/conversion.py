"""Any input as spans: traces as they stand, recordings as what `explain` finds in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePath
from typing import Any, Final

from coldturn.analysis.breaks.explain import Explainer
from coldturn.analysis.breaks.pair import PairOptions
from coldturn.analysis.estimates.estimator import RequestEstimator
from coldturn.analysis.frames.further import SpanFacts
from coldturn.analysis.frames.numbers import usage_span
from coldturn.analysis.frames.recorded import RecordedSpans, Take
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.traces import names
from coldturn.traces.opening import Source
from coldturn.traces.parquet_files import SPANS_FILE, is_table, read_table_spans
from coldturn.traces.readers import read_records
from coldturn.traces.span_reader import SpanReader, SpanRow, UnreadableTraceError, read_spans
from coldturn.traces.usage_record import UsageRecord

_LOOKED_AT: Final = 200
_ENDINGS: Final = (".gz", ".yaml", ".yml", ".jsonl", ".ndjson", ".json", ".parquet")
_UNPAIRED: Final = re.compile("[\ud800-\udfff]")
"""What stands for the bytes of a file's name that are no UTF-8, which neither Parquet nor JSON can hold."""


@dataclass(slots=True)
class Labels:
    """Short names of sources: a file's name, with folders in front where two would have the same."""

    _given: dict[str, str] = field(default_factory=dict)

    def of(self, source: str) -> str:
        """The label of a source, the same each time."""
        if source not in self._given:
            self._given[source] = next(name for name in _names(source) if name not in self._given.values())
        return self._given[source]


def _names(source: str) -> Iterator[str]:
    source = _UNPAIRED.sub("\N{REPLACEMENT CHARACTER}", source)
    name = PurePath(source).name
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    parts = [*PurePath(source).parts[:-1], name or "recording"]
    yield from ("/".join(parts[start:]) for start in range(len(parts) - 1, -1, -1))
    yield from (f"{name}-{number}" for number in range(2, 1_000_000))


@dataclass(slots=True)
class Conversion:
    """Feed its `explainer` exchanges, or give it whole inputs; every span goes to `take`.

    Args:
        take: Gets spans as they end, with the columns of `FURTHER`.
        tell: Is told of what is wrong with an input or a span and stops nothing.
        content: Whether messages may quote what stood in an input.
    """

    take: Take
    tell: Callable[[ColdturnError], object]
    content: bool = True
    spans: int = 0
    labels: Labels = field(default_factory=Labels)
    explainer: Explainer = field(init=False)
    _recorded: RecordedSpans = field(init=False)

    def __post_init__(self) -> None:
        self._recorded = RecordedSpans(self._take, self.labels.of)
        self.explainer = Explainer(
            PairOptions(content=self.content), RequestEstimator(), compared=self._recorded.compared
        )

    def whole(self, source: Source, name: str) -> bool:
        """Take an input that is a trace already; False when it is something else.

        Raises:
            ForeignParquetError: It is Parquet, and none of ours.
            UnreadableTraceError: It begins as a trace and goes on as something else.
        """
        if not isinstance(source, str | Path):
            return False
        found = parquet_of(Path(source))
        if found is not None:
            self._trace(read_table_spans(found), name)
            return True
        if not _is_our_trace(Path(source)):
            return False
        self.trace(Path(source), name)
        return True

    def trace(self, path: Path, name: str) -> None:
        """Take the spans of a file as they stand.

        Raises:
            UnreadableTraceError: It is no trace.
        """
        reader = read_spans(path)
        self._trace(reader, name)
        if reader.dropped:
            self.tell(TornTraceError(path, reader.dropped))

    def numbers(self, source: Source, name: str) -> bool:
        """Take an input of usage without bytes; False when it holds nothing that could be shown.

        Raises:
            InputError: It cannot be read.
        """
        label, taken = self.labels.of(name), 0
        for record in read_records(source, name=name):
            if isinstance(record, UsageRecord):
                self._take(*usage_span(record, label))
                taken += 1
        return bool(taken)

    def finish(self) -> None:
        """End what is open."""
        self._recorded.finish()

    def _trace(self, spans: Iterator[SpanRow], name: str) -> None:
        facts = SpanFacts(self.labels.of(name), tell=self.tell)
        for span in spans:
            self._take(span, facts.of(span))

    def _take(self, span: SpanRow, further: Any) -> None:  # noqa: ANN401 - passed on as it is
        self.spans += 1
        self.take(span, further)


class TornTraceError(ColdturnError):
    """Lines of a trace that were left out."""

    slug = "torn-trace"

    def __init__(self, path: Path, lines: int) -> None:
        self.path = path
        self.lines = lines
        count = "1 line is" if lines == 1 else f"{lines} lines are"
        super().__init__(
            f"{path}: {count} torn, as a killed writer leaves them, and left out; the others are all there"
        )


class ConversionFailedError(ColdturnError):
    """An input that could not be made into Parquet."""

    slug = "notebook-input"

    def __init__(self, path: str, said: str) -> None:
        self.path = path
        lines = [line.removeprefix("coldturn: ") for line in said.splitlines()]
        reason = next((line for line in lines if line.endswith("]")), "coldturn convert said nothing")
        super().__init__(f"{path}: cannot be shown: {reason.removeprefix(f'{path}: ')}")


class CacheFolderError(ColdturnError):
    """A cache folder that converted inputs cannot go into."""

    slug = "notebook-cache"

    def __init__(self, folder: Path, reason: str) -> None:
        self.folder = folder
        super().__init__(
            f"the cache folder {folder} cannot be written ({reason}): name another place with XDG_CACHE_HOME"
        )


def parquet_of(path: Path) -> Path | None:
    """The table of spans that a path names: itself, or the one in a folder; None when it is no Parquet."""
    if path.is_dir() and (path / SPANS_FILE).exists():
        return path / SPANS_FILE
    if path.suffix == ".parquet" or (path.is_dir() and _holds_partitions(path) and is_table(path)):
        return path
    return None


def _holds_partitions(folder: Path) -> bool:
    """Whether Parquet, or folders named ``column=value``, stand in a folder itself and not further down."""
    return any(one.suffix == ".parquet" or "=" in one.name for one in folder.iterdir())


def _is_our_trace(path: Path) -> bool:
    """Whether a file holds spans of ours among its first: spans of others are read for what they say."""
    try:
        return any(names.SCHEMA in span.attributes for span in islice(read_spans(path), _LOOKED_AT))
    except UnreadableTraceError:
        return False


def _reader(path: Path) -> SpanReader:
    return read_spans(path)

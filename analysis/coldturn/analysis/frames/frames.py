"""A trace as frames: turns, steps, segments, tools, servers, catalogue versions, breaks.

`columns` says what each column holds. Frames are lazy: what nobody looks at is not read from Parquet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import polars as pl

from coldturn.analysis.frames import columns
from coldturn.analysis.frames.catalogues import catalog_versions_of, servers_of, tools_of
from coldturn.analysis.frames.further import FURTHER, SpanFacts, sent_order
from coldturn.analysis.frames.steps import breaks_of, segments_of, steps_of, turns_of
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.traces.parquet import SEGMENTS, SPANS, row_of, table
from coldturn.traces.parquet_files import SEGMENTS_FILE, SPANS_FILE, scan_table
from coldturn.traces.segment_rows import segment_rows
from coldturn.traces.span_reader import SpanRow


@dataclass(frozen=True, slots=True)
class Frames:
    """The frames of one or many traces.

    Attributes:
        spans: The columns of `spans.parquet`. `segment_rows`: those of `segments.parquet`.
    """

    spans: pl.LazyFrame
    segment_rows: pl.LazyFrame

    @classmethod
    def read(cls, folder: str | Path) -> Self:
        """Open what ``coldturn convert --to parquet`` wrote; nothing is read yet.

        Raises:
            ForeignParquetError: There is no trace in `folder`.
        """
        return cls(
            scan_table(Path(folder) / SPANS_FILE, {**SPANS, **FURTHER}),
            scan_table(Path(folder) / SEGMENTS_FILE, SEGMENTS),
        )

    @classmethod
    def of_spans(cls, spans: Iterable[SpanRow], *, errors: list[ColdturnError] | None = None) -> Self:
        """Make frames of spans that are held in memory.

        Args:
            spans: In any order; estimates take them in the order of sending.
            errors: Gets what is wrong with spans whose segments disagree; these have no segments and no
                estimates. When None, the first such span is an error.

        Raises:
            PackedSegmentsError: The segments of a span disagree, and `errors` is None.
        """
        held = sorted(spans, key=sent_order)
        facts = SpanFacts(tell=None if errors is None else errors.append)
        rows = [row_of(span) | facts.of(span) for span in held]
        told = None if errors is None else (lambda _: None)
        segments = segment_rows(held, told)
        return cls(table(rows, {**SPANS, **FURTHER}).lazy(), table(segments, SEGMENTS).lazy())

    def steps(self) -> pl.LazyFrame:
        """One row per step, in the order in which requests were sent."""
        return columns.shaped(steps_of(self.spans), columns.STEPS)

    def turns(self) -> pl.LazyFrame:
        """One row per turn, in the order in which turns began.

        A turn whose own span is missing (it was open when its process died) is made from its steps.
        """
        return columns.shaped(turns_of(self.spans), columns.TURNS)

    def segments(self) -> pl.LazyFrame:
        """One row per segment of each step, in render order.

        `key` and `kind` tell where the hash was FIRST met; `zone` is exact for the request. A hash whose
        definition is missing (its span was lost) has null `key` and `kind`.
        """
        return columns.shaped(segments_of(self.spans, self.segment_rows), columns.SEGMENTS)

    def breaks(self) -> pl.LazyFrame:
        """One row per step that did not go on where an earlier one ended: planned and harmless ones too."""
        return columns.shaped(breaks_of(self.spans), columns.BREAKS)

    def tools(self) -> pl.LazyFrame:
        """One row per tool that was shown or called, the most bytes sent first."""
        return columns.shaped(tools_of(self.spans, self.segment_rows), columns.TOOLS)

    def servers(self) -> pl.LazyFrame:
        """One row per turn and MCP server, as it stood at the end of the turn."""
        return columns.shaped(servers_of(self.spans), columns.SERVERS)

    def catalog_versions(self) -> pl.LazyFrame:
        """One row per refresh of a catalogue, in the order of time."""
        return columns.shaped(catalog_versions_of(self.spans), columns.CATALOG_VERSIONS)


def steps(spans: Iterable[SpanRow]) -> pl.DataFrame:
    """`Frames.steps` of spans in memory.

    Raises:
        PackedSegmentsError: A span's packed segments contradict each other.
    """
    return Frames.of_spans(spans).steps().collect()


def turns(spans: Iterable[SpanRow]) -> pl.DataFrame:
    """`Frames.turns` of spans in memory.

    Raises:
        PackedSegmentsError: A span's packed segments contradict each other.
    """
    return Frames.of_spans(spans).turns().collect()


def segments(spans: Iterable[SpanRow]) -> pl.DataFrame:
    """`Frames.segments` of spans in memory.

    Raises:
        PackedSegmentsError: A span's packed segments contradict each other.
    """
    return Frames.of_spans(spans).segments().collect()

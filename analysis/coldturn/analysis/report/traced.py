"""Trace files of ours into views, one for each recording and policy in them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from coldturn.analysis.breaks.pair import SAID
from coldturn.analysis.estimates.longest_prefix import LONGEST_PREFIX
from coldturn.analysis.frames import frames
from coldturn.analysis.report.model import Columns, Conversation, ReportData, Row, View, ViewKind, packed
from coldturn.analysis.report.parts import PartTable, Piece
from coldturn.analysis.report.tools import ToolCounts
from coldturn.analysis.report.traced_servers import servers_of
from coldturn.reference.prefix.causes import REMEDIES
from coldturn.reference.prefix.secrets import blotted_text
from coldturn.traces import names
from coldturn.traces.packed import Definition, PackedSegments, definitions, unpack
from coldturn.traces.span_reader import SpanRow, read_spans

Findings: TypeAlias = Mapping[tuple[int, int], Mapping[str, Any]]
"""What a replay found, by turn and step, in the published keys: traces hold no texts."""

_TOOL = "tool"
_HEADING = re.compile(" (?=[#<])")
_NOWHERE = ("", "")


def add_trace(
    report: ReportData, path: Path, *, source: str | None = None, findings: Findings | None = None
) -> list[View]:
    """Read a trace file into the report.

    Args:
        report: Gets a view for each recording and policy.
        path: The file.
        source: What rows call it; the path when not given.
        findings: What else is known of its breaks.

    Returns:
        The views that were added.

    Raises:
        UnreadableTraceError: It is no trace.
        PackedSegmentsError: A span contradicts itself.
    """
    reader = read_spans(path)
    spans = list(reader)
    grouped: dict[tuple[str, str], list[SpanRow]] = defaultdict(list)
    runs = {_text(span, names.RUN_ID): _place(span) for span in spans if _place(span) != _NOWHERE}
    alone = next(iter(runs.values())) if len(set(runs.values())) == 1 else _NOWHERE
    for span in spans:
        # Spans of servers and tools name only their Run, and those before the first turn not even that.
        place = _place(span)
        grouped[place if place != _NOWHERE else runs.get(_text(span, names.RUN_ID), alone)].append(span)
    known = _definitions(spans)
    views = []
    for (_, policy), ours in grouped.items():
        made = _TraceView(report.parts, source or str(path), policy, known, findings or {})
        made.content = report.content
        view = made.read(ours)
        if reader.dropped:
            view.notes.append(f"{path}: lines of the trace that were torn and left out: {reader.dropped}")
        if view.rows:
            views.append(view)
    report.views += views
    return views


def _place(span: SpanRow) -> tuple[str, str]:
    return _text(span, names.REPLAY_CASSETTE), _text(span, names.REPLAY_POLICY)


def _text(span: SpanRow, name: str) -> str:
    value = span.attributes.get(name)
    return value if isinstance(value, str) else ""


def _definitions(spans: Iterable[SpanRow]) -> dict[str, Definition]:
    known: dict[str, Definition] = {}
    for span in spans:
        for digest, definition in definitions(span).items():
            if digest not in known:
                known[digest] = replace(definition, key=blotted_text(definition.key))
    return known


def _heads(known: Mapping[str, Definition]) -> frozenset[str]:
    """The first segment of each tool: the first that was met under its name."""
    first: dict[str, str] = {}
    for digest, definition in known.items():
        if definition.kind == _TOOL:
            first.setdefault(definition.key, digest)
    return frozenset(first.values())


class _TraceView:
    """The spans of one recording under one policy."""

    def __init__(
        self,
        table: PartTable,
        source: str,
        policy: str,
        known: Mapping[str, Definition],
        findings: Findings,
    ) -> None:
        self.content = True
        self._table = table
        self._source = source
        self._known = known
        self._heads = _heads(known)
        self._findings = findings
        self._rows: dict[str, int] = {}
        self._conversations: dict[str, int] = {}
        self._tools = ToolCounts()
        self.view = View(policy or "live run", ViewKind.REPLAYED if policy else ViewKind.TRACED)

    def read(self, spans: list[SpanRow]) -> View:
        """Make the view."""
        by_id = {span.span_id: span for span in spans}
        for span in spans:
            tool = _text(span, names.TOOL_NAME)
            if tool:
                self._tools.call(tool, span.span_id)
        for step in frames.steps(spans).iter_rows(named=True):
            self._add(step, by_id[step["span_id"]])
        self.view.servers = servers_of(spans)
        self.view.tools = self._tools.uses()
        return self.view

    def _add(self, step: Mapping[str, Any], span: SpanRow) -> None:
        number = self._rows[step["span_id"]] = len(self._rows)
        pieces = unpack(span)
        ids = list(self._table.ids(self._pieces(pieces))) if pieces is not None else []
        parent = self._rows.get(step["base_span_id"] or "")
        self._define(ids)
        self.view.rows.append(
            Row(
                source=self._source,
                number=number,
                entry=None,
                conversation=self._conversation(step),
                parent=parent,
                turn=step["turn"],
                step=step["step"],
                started=step["started"].timestamp() if step["started"] is not None else None,
                bytes=step["content_bytes"] or self._table.bytes_of(ids),
                common=None if parent is None else step["common_bytes"],
                exact=True,
                tokens=Columns(
                    step["input_tokens_reported"],
                    step["read_tokens_reported"],
                    step["written_tokens_reported"],
                    step["input_tokens_estimated"],
                    step["ceiling_estimated"],
                    step["read_estimated"],
                ),
                parts=packed(ids),
                finding=self._finding(step),
                rules=LONGEST_PREFIX if step["read_estimated"] is not None else None,
            )
        )

    def _pieces(self, found: PackedSegments) -> Iterator[Piece]:
        tool = ""
        for digest, size, zone in zip(found.hashes, found.sizes, found.zones, strict=True):
            about = self._known.get(digest)
            key, kind = (about.key, about.kind) if about is not None else (f"{zone} (not named)", "other")
            if not self.content and zone in SAID:
                key = _HEADING.split(key, maxsplit=1)[0]
            if kind == _TOOL:
                # What two long definitions have in common is named after the first; only their heads differ.
                tool = key if digest in self._heads or not tool else tool
                key = tool
            yield Piece(digest.encode(), size, zone, key, kind)

    def _define(self, ids: Iterable[int]) -> None:
        for one in ids:
            part = self._table.parts[one]
            if part.zone == "tools" and part.kind == _TOOL:
                self._tools.defined(part.key.partition(" ")[2] or part.key, part.bytes)

    def _conversation(self, step: Mapping[str, Any]) -> int:
        run = step["run_id"]
        known = self._conversations.setdefault(run, len(self._conversations))
        if known == len(self.view.conversations):
            self.view.conversations.append(
                Conversation(run, self._source, step["provider"], step["surface"], step["model"])
            )
        self.view.conversations[known].requests += 1
        return known

    def _finding(self, step: Mapping[str, Any]) -> Mapping[str, Any] | None:
        told = self._findings.get((step["turn"], step["step"]))
        return told if told is not None else _finding_of_span(step)


def _finding_of_span(step: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A break as a span tells it: no texts, and of later causes only the names."""
    if step["harmless_cause"] is not None:
        return {**_NOTHING, "cause": step["harmless_cause"], "verdict": "broken_harmless"}
    cause = step["break_cause"]
    if cause is None:
        return None
    planned, lost = bool(step["break_planned"]), step["break_lost_bytes"] or 0
    broken = "unknown" if cause == "unknown" else "broken"
    return {
        **_NOTHING,
        "zone": step["break_zone"],
        "segment": step["break_segment"],
        "path": step["break_path"],
        "section": step["break_section"],
        "offset": step["break_offset"],
        "block_offset": step["break_block_offset"],
        "cause": cause,
        "confidence": step["break_confidence"],
        "planned": planned,
        "verdict": "planned" if planned else broken,
        "lost_bytes": lost,
        "lost_tokens_estimated": -(-lost // 4),
        "delta_bytes": step["break_delta_bytes"],
        "later": [{"cause": one} for one in step["later_causes"] or ()],
        "remedy": REMEDIES.get(cause),
    }


_NOTHING: Mapping[str, Any] = {
    "zone": None,
    "segment": None,
    "path": None,
    "side": "child",
    "section": None,
    "offset": None,
    "block_offset": None,
    "wire_offset": None,
    "confidence": None,
    "planned": False,
    "lost_bytes": 0,
    "lost_tokens_estimated": 0,
    "delta_bytes": None,
    "names": [],
    "kinds": [],
    "before": None,
    "was": None,
    "now": None,
    "later": [],
    "remedy": None,
    "vendor": None,
}

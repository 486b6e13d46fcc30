"""Recorded requests into a view, as they are compared; servers from the MCP traffic between them."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from coldturn.analysis.breaks.explain import Compared, Explainer
from coldturn.analysis.breaks.findings import Finding, LineageReport
from coldturn.analysis.breaks.pair import SAID, PairOptions
from coldturn.analysis.breaks.settings import changed_settings
from coldturn.analysis.estimates.estimator import RequestEstimator
from coldturn.analysis.estimates.report import RequestEstimate
from coldturn.analysis.report.catalogues import Catalogues
from coldturn.analysis.report.model import Columns, Conversation, ReportData, Row, View, ViewKind, packed
from coldturn.analysis.report.parts import PartTable, Piece
from coldturn.analysis.report.tools import ToolCounts
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.prefix.model import Block, Zone
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.prefix.secrets import blotted_text
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind

NAME = "recorded requests"
_NO_TEXT = frozenset({Zone.NONE, Zone.SETTINGS})
"""Zones of findings behind which the text is the same."""
_ELSEWHERE = frozenset({"source", "request", "entry", "parent", "turn"})
"""Keys of a finding that its row holds already."""


@dataclass(frozen=True, slots=True)
class _Held:
    """What later requests need of an earlier one: its row, its parts, and where each element's parts end."""

    row: int
    parts: array[int]
    ends: array[int]


class RecordedView:
    """Takes the exchanges of all inputs, as `explain` does, and makes one view of them.

    Args:
        report: Gets the parts, and the view once it holds a request.
        options: What findings carry.
        estimator: Estimates of caches; the shipped rules when None.
    """

    def __init__(
        self, report: ReportData, options: PairOptions, estimator: RequestEstimator | None = None
    ) -> None:
        self.explainer = Explainer(options, estimator or RequestEstimator(), compared=self._take)
        self.view = View(NAME, ViewKind.RECORDED)
        self._report = report
        self._cutter = _Cutter(report.parts, content=options.content)
        self._catalogues = Catalogues(content=options.content)
        self._held: dict[tuple[str, int], _Held] = {}
        self._conversations: dict[int, int] = {}
        self._tools = ToolCounts()

    def add(self, item: Exchange | EntryError) -> None:
        """Take the next exchange of its source."""
        if isinstance(item, Exchange) and item.kind is ExchangeKind.MCP:
            self._catalogues.add(item)
        self.explainer.add(item)

    def fail(self, source: str, error: ColdturnError) -> None:
        """Note that an input could not be read, or not to its end."""
        self.explainer.fail(source, error)

    def finish(self, source: str) -> None:
        """Say that an input is at its end."""
        self.explainer.finish(source)

    def close(self) -> None:
        """Add the view to the report."""
        self._report.errors += self.explainer.report.errors
        for lineage, conversation in zip(self._lineages(), self.view.conversations, strict=True):
            conversation.requests, conversation.fidelity = lineage.requests, lineage.fidelity.value
        self.view.servers = self._catalogues.servers()
        self.view.tools = self._tools.uses()
        sources = {row.source for row in self.view.rows}
        if len(sources) == 1:
            self.view.name = Path(sources.pop()).name
        if self.view.rows:
            self._report.views.insert(0, self.view)

    def _lineages(self) -> Iterator[LineageReport]:
        return (one for one in self.explainer.report.lineages if id(one) in self._conversations)

    def _take(self, seen: Compared) -> None:
        exchange, request = seen.exchange, seen.request
        source = exchange.source
        parent = None if seen.parent is None else self._held.get((source, seen.parent))
        kept = 0 if seen.parent_request is None or parent is None else _shared(seen.parent_request, request)
        row = len(self.view.rows)
        held = self._hold(row, request, parent if kept else None, kept)
        self._held[source, seen.number] = held
        common, exact = _common(seen, kept)
        self.view.rows.append(
            Row(
                source=source,
                number=seen.number,
                entry=exchange.entry,
                conversation=self._conversation(seen.lineage),
                parent=None if parent is None or seen.parent_request is None else parent.row,
                turn=request.labels.turn,
                step=request.labels.step,
                started=exchange.started,
                bytes=request.content_bytes,
                common=common,
                exact=exact,
                tokens=_columns(seen.estimate),
                parts=held.parts,
                finding=None if seen.found is None else finding_json(seen.found),
                settings=()
                if seen.parent_request is None
                else changed_settings(seen.parent_request, request),
                flags=() if seen.estimate is None else tuple(map(str, seen.estimate.flags)),
                rules=None if seen.estimate is None else seen.estimate.rules,
                unseen=tuple(zone.value for zone in Zone if zone in exchange.parts_missing),
            )
        )

    def _hold(self, row: int, request: PromptRequest, parent: _Held | None, kept: int) -> _Held:
        """Cut what is new; the elements in front are the parent's."""
        ends = array("L") if parent is None else parent.ends[:kept]
        parts = array("L") if parent is None else parent.parts[: ends[-1] if ends else 0]
        blocks = request.lazy_blocks
        for element in range(kept if parent is not None else 0, len(request.contents)):
            for block in blocks.of_elements(element, element + 1):
                parts.extend(self._cutter.cut(block))
                self._tools.called(block)
            ends.append(len(parts))
        self._tools.shown(request)
        return _Held(row, packed(parts), ends)

    def _conversation(self, lineage: LineageReport) -> int:
        known = self._conversations.get(id(lineage))
        if known is None:
            known = self._conversations[id(lineage)] = len(self.view.conversations)
            self.view.conversations.append(
                Conversation(
                    id=lineage.id,
                    source=lineage.source,
                    provider=lineage.provider,
                    surface=lineage.surface.value if lineage.surface else None,
                    model=lineage.model,
                )
            )
        return known


def finding_json(found: Finding) -> Mapping[str, Any]:
    """A finding in its published keys, without those that its row holds."""
    return {key: value for key, value in asdict(found).items() if key not in _ELSEWHERE}


class _Cutter:
    """Blocks into parts; a block that stands at the same place again is not cut again."""

    def __init__(self, table: PartTable, *, content: bool) -> None:
        self._table = table
        self._content = content
        self._known: dict[tuple[bytes, str, str], tuple[int, ...]] = {}

    def cut(self, block: Block) -> tuple[int, ...]:
        place = block.facts.digest, block.label, block.zone.value
        known = self._known.get(place)
        if known is None:
            known = self._known[place] = tuple(self._table.ids(_pieces(block, content=self._content)))
        return known


def _pieces(block: Block, *, content: bool) -> Iterator[Piece]:
    zone, kind, facts = block.zone.value, block.kind.value, block.facts
    label = blotted_text(block.label)
    sections = content or block.zone not in SAID
    if not facts.segments:
        yield Piece(facts.digest, 0, zone, label, kind)
    for index, one in enumerate(facts.segments):
        key = f"{label} {one.section}" if one.section and sections else label
        digest = one.digest if index else facts.header + one.digest
        yield Piece(digest, one.end - one.start, zone, key, kind)


def _shared(parent: PromptRequest, child: PromptRequest) -> int:
    """Elements at the start that both hold; equal ones are identical objects."""
    pairs = zip(parent.contents, child.contents, strict=False)
    same = next((at for at, (older, newer) in enumerate(pairs) if older is not newer), None)
    return min(len(parent.contents), len(child.contents)) if same is None else same


def _common(seen: Compared, kept: int) -> tuple[int | None, bool]:
    """Content bytes in common with the parent, and whether that is to the byte."""
    if seen.parent_request is None:
        return None, True
    if seen.found is not None and seen.found.offset is not None:
        return seen.found.offset, True
    parent, request = seen.parent_request, seen.request
    same_text = seen.found is None or (seen.found.zone in _NO_TEXT and not seen.found.kinds)
    if same_text and not request.by_reference and kept == len(parent.contents) - 1:
        # A last text that goes on is no break: the parent is held to its end.
        return min(parent.content_bytes, request.content_bytes), True
    whole = kept == len(parent.contents) or request.by_reference
    return request.totals.bytes[kept], whole


def _columns(row: RequestEstimate | None) -> Columns:
    if row is None:
        return Columns()
    return Columns(
        input_reported=row.input_reported,
        read_reported=row.read_reported,
        written_reported=row.written_reported,
        input_estimated=row.input_estimated,
        ceiling_estimated=row.ceiling_estimated,
        read_estimated=row.read_estimated,
    )

"""The report as the JSON that its page reads: rows as arrays, parts once, texts that repeat once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from coldturn.analysis.report.model import Columns, ReportData, Row, View
from coldturn.analysis.report.parts import PartTable, encoded

SCHEMA = "coldturn.report/1"
CHAIN = 64
"""A row's parts are told by its parent's, and so on for at most as many rows."""

ROW_KEYS = (
    "source", "number", "entry", "conversation", "parent", "turn", "step", "started", "bytes", "common",
    "exact", "rules", "input_reported", "read_reported", "written_reported", "input_estimated",
    "ceiling_estimated", "read_estimated", "flags", "settings", "unseen",
)  # fmt: skip


class Words:
    """Texts that repeat, each by its place in a list."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._places: dict[str, int] = {}

    def place(self, word: str | None) -> int | None:
        """The place of `word`; None of None."""
        if word is None:
            return None
        if word not in self._places:
            self._places[word] = len(self.all)
            self.all.append(word)
        return self._places[word]


def payload(report: ReportData, title: str, version: str) -> dict[str, Any]:
    """Everything the page needs, as plain JSON values."""
    words = Words()
    return {
        "schema": SCHEMA,
        "version": version,
        "title": title,
        "content": report.content,
        "row_keys": ROW_KEYS,
        "views": [_view(view, words) for view in report.views],
        "parts": _parts(report.parts, words),
        "tables": [asdict(table) for table in report.tables],
        "errors": [error.as_json() for error in report.errors],
        "words": words.all,
    }


def _parts(table: PartTable, words: Words) -> dict[str, Any]:
    return {
        "bytes": [part.bytes for part in table.parts],
        "zone": [words.place(part.zone) for part in table.parts],
        "key": [words.place(part.key) for part in table.parts],
        "kind": [words.place(part.kind) for part in table.parts],
    }


def _view(view: View, words: Words) -> dict[str, Any]:
    return {
        "name": view.name,
        "kind": view.kind,
        "totals": view.totals,
        "notes": view.notes,
        "conversations": [asdict(one) for one in view.conversations],
        "rows": [_row(row, words) for row in view.rows],
        "runs": _runs(view.rows),
        "findings": {
            str(place): _finding(row.finding, words)
            for place, row in enumerate(view.rows)
            if row.finding is not None
        },
        "servers": [asdict(server) for server in view.servers],
        "tools": [[tool.name, tool.bytes, tool.shown_in, tool.calls] for tool in view.tools],
    }


def _row(row: Row, words: Words) -> list[Any]:
    columns: Columns = row.tokens
    return [
        words.place(row.source),
        row.number,
        row.entry,
        row.conversation,
        row.parent,
        row.turn,
        row.step,
        None if row.started is None else round(row.started, 3),
        row.bytes,
        row.common,
        int(row.exact),
        words.place(row.rules),
        columns.input_reported,
        columns.read_reported,
        columns.written_reported,
        columns.input_estimated,
        columns.ceiling_estimated,
        columns.read_estimated,
        list(row.flags) or 0,
        list(row.settings) or 0,
        list(row.unseen) or 0,
    ]


def _runs(rows: Sequence[Row]) -> list[list[int]]:
    """Each row's parts; a row that begins a chain tells all of its own."""
    chain: list[int] = []
    found = []
    for row in rows:
        base = None if row.parent is None or chain[row.parent] >= CHAIN else row.parent
        chain.append(0 if base is None else chain[base] + 1)
        # The first number says whether the parent's parts are needed.
        found.append([int(base is not None), *encoded(row.parts, () if base is None else rows[base].parts)])
    return found


def _finding(found: Mapping[str, Any], words: Words) -> dict[str, Any]:
    # 0 is a figure, and stays.
    kept = {key: value for key, value in found.items() if value not in (None, (), []) and value is not False}
    return kept | ({"remedy": words.place(kept["remedy"])} if "remedy" in kept else {})

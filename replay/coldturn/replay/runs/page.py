"""Replays as a report: a map for each policy, and a table of what policies or single choices are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import orjson

from coldturn.analysis.report.catalogues import Catalogues
from coldturn.analysis.report.model import CatalogueVersion, ReportData
from coldturn.analysis.report.replayed import add_results
from coldturn.replay.runs.results import RecordingResult, ReplayReport
from coldturn.replay.sessions.loading import open_replayable
from coldturn.traces.exchange import Exchange, ExchangeKind
from coldturn.traces.readers import read_exchanges


def page_data(done: ReplayReport, *, content: bool = True) -> ReportData:
    """What a page shows of replays. The maps come from their traces, so those must still be there.

    Args:
        done: The replays, and what could not be replayed.
        content: Whether prompt text may stand in it.

    Raises:
        ColdturnError: A recording or a trace cannot be read any more.
    """
    data = ReportData(content=content)
    add_results(data, orjson.dumps(done.as_json()), "the replay")
    data.errors[:] = done.errors
    first = 0
    for recording in done.recordings:
        views = data.views[first : first + len(recording.policies)]
        first += len(views)
        recorded = _recorded_versions(recording, content=content)
        for server in (server for view in views for server in view.servers):
            server.versions = _told(server.versions, recorded.get(server.name, ()))
    return data


def _recorded_versions(recording: RecordingResult, *, content: bool) -> dict[str, Sequence[CatalogueVersion]]:
    """Every server's lists of tools with their definitions: traces hold names alone."""
    opened = open_replayable(recording.source)
    catalogues = Catalogues(content=content)
    for item in read_exchanges(opened.recording.source):
        if isinstance(item, Exchange) and item.kind is ExchangeKind.MCP:
            catalogues.add(item)
    return {one.id: catalogues.versions_at(one.url) for one in opened.script.endpoints}


def _told(traced: Sequence[CatalogueVersion], recorded: Sequence[CatalogueVersion]) -> list[CatalogueVersion]:
    """A replay's versions, with sizes and texts of the recorded ones that changed the same."""
    left = list(recorded)
    return [_in_full(version, left) for version in traced]


def _in_full(version: CatalogueVersion, left: list[CatalogueVersion]) -> CatalogueVersion:
    same = next((one for one in left if _change(one) == _change(version)), None)
    if same is None:
        return version
    left.remove(same)
    return replace(version, bytes=same.bytes, changed=same.changed)


def _change(version: CatalogueVersion) -> tuple[object, ...]:
    edited = frozenset(edit.name for edit in version.changed)
    return version.tools, frozenset(version.added), frozenset(version.removed), edited

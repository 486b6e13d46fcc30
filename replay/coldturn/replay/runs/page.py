"""Replays as a report: a map for each policy, and a table of what policies or single choices are worth."""

from __future__ import annotations

import orjson

from coldturn.analysis.report.model import ReportData
from coldturn.analysis.report.replayed import add_results
from coldturn.replay.runs.results import ReplayReport


def page_data(done: ReplayReport, *, content: bool = True) -> ReportData:
    """What a page shows of replays. The maps come from their traces, so those must still be there.

    Args:
        done: The replays, and what could not be replayed.
        content: Whether prompt text may stand in it.
    """
    data = ReportData(content=content)
    add_results(data, orjson.dumps(done.as_json()), "the replay")
    data.errors[:] = done.errors
    return data

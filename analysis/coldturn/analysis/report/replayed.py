"""Results of replays (``coldturn.replay/1``) into views and tables; their traces give the map."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from coldturn.analysis.breaks.findings import ReadError
from coldturn.analysis.breaks.pair import SAID
from coldturn.analysis.rates import rate
from coldturn.analysis.report.model import (
    Columns,
    Conversation,
    ReportData,
    Row,
    Server,
    Table,
    View,
    ViewKind,
)
from coldturn.analysis.report.parts import Piece
from coldturn.analysis.report.replay_shapes import (
    SCHEMA,
    Flip,
    FoundBreak,
    PolicyReplay,
    RecordingReplay,
    Results,
)
from coldturn.analysis.report.traced import Findings, add_trace
from coldturn.reference.complaints import plain_complaint
from coldturn.reference.prefix.errors import ColdturnError

__all__ = ["SCHEMA", "UnreadableResultsError", "add_results"]


class UnreadableResultsError(ColdturnError):
    """A file that names the schema of replays and holds something else."""

    slug = "unreadable-results"

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(
            f"{source}: cannot be read as results of a replay ({reason}): write them anew with "
            "coldturn replay --json"
        )


def add_results(report: ReportData, document: bytes, name: str) -> None:
    """Read what ``coldturn replay --json`` printed into the report, with the traces that it names.

    Args:
        report: Gets a view for each recording and policy, and a table for each recording.
        document: The JSON.
        name: What the error calls it.

    Raises:
        UnreadableResultsError: It is something else.
    """
    try:
        results = Results.model_validate_json(document)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        said = plain_complaint(first["msg"])
        raise UnreadableResultsError(name, f"{place}: {said}" if place else said) from error
    several = len(results.recordings) > 1
    for recording in results.recordings:
        for policy in recording.policies:
            view = _view(report, recording, policy)
            if several:
                view.name = f"{policy.policy} · {Path(recording.source).name}"
        report.tables.append(_table(recording))
    report.errors += [ReadError(one.source, one.entry, one.message) for one in results.errors]


def _view(report: ReportData, recording: RecordingReplay, policy: PolicyReplay) -> View:
    findings = {
        (step.turn, step.step): _finding(step.found, content=report.content)
        for step in policy.steps
        if step.found is not None
    }
    if policy.trace is not None and Path(policy.trace).is_file():
        added = add_trace(report, Path(policy.trace), source=recording.source, findings=findings)
        if len(added) == 1:
            return added[0]
        report.views = [view for view in report.views if view not in added]
    view = _without_trace(report, recording, policy, findings)
    report.views.append(view)
    return view


def _finding(found: FoundBreak, *, content: bool) -> Mapping[str, Any]:
    kept = found.model_dump()
    if content:
        return kept
    hidden = ("before", "was", "now", "section") if found.zone in SAID else ("before", "was", "now")
    return kept | dict.fromkeys(hidden)


def _without_trace(
    report: ReportData, recording: RecordingReplay, policy: PolicyReplay, findings: Findings
) -> View:
    """Rows whose parts are not known: only how much of each was in common with the request before it."""
    view = View(policy.policy, ViewKind.REPLAYED)
    view.notes.append("the trace of this replay is not at hand: zones and parts are not known")
    view.conversations.append(Conversation("replay", recording.source, requests=len(policy.steps)))
    view.servers = [Server(one.server, calls=one.calls) for one in recording.connections]
    for number, step in enumerate(policy.steps):
        rules, read = next(iter(step.read_estimated.items()), (None, None))
        whole = Piece(b"%d" % step.input_bytes, step.input_bytes, "none", "whole request", "other")
        view.rows.append(
            Row(
                source=recording.source,
                number=number,
                entry=None,
                conversation=0,
                parent=number - 1 if number else None,
                turn=step.turn,
                step=step.step,
                started=None,
                bytes=step.input_bytes,
                common=step.common_bytes if number else None,
                exact=True,
                tokens=Columns(
                    input_estimated=step.input_tokens_estimated,
                    ceiling_estimated=-(-step.common_bytes // 4),
                    read_estimated=read,
                ),
                parts=list(report.parts.ids([whole])),
                finding=findings.get((step.turn, step.step)),
                rules=rules,
            )
        )
    return view


def _table(recording: RecordingReplay) -> Table:
    rules = next((name for one in recording.policies for name in one.uncached_tokens_estimated), "")
    rows = [_figures(policy, rules) for policy in recording.policies]
    if recording.ablation is None:
        return Table(recording.source, None, rules, tuple(rows))
    base = recording.policies[0].policy
    by_name = {row["policy"]: row for row in rows}
    return Table(recording.source, base, rules, (rows[0], *_flips(recording.ablation, base, by_name)))


def _flips(
    flips: list[Flip], base: str, by_name: Mapping[str, Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    for flip in flips:
        own = by_name.get(f"{base}+{flip.field}={flip.value}", {})
        yield {
            **own,
            "choice": f"{flip.field} = {flip.value}",
            "uncached_tokens_delta_estimated": flip.uncached_tokens_delta_estimated,
            "hit_rate_delta_estimated": flip.hit_rate_delta_estimated,
        }


def _figures(policy: PolicyReplay, rules: str) -> dict[str, Any]:
    read = sum(step.read_estimated.get(rules, 0) for step in policy.steps)
    return {
        "policy": policy.policy,
        "requests": len(policy.steps),
        "extra_steps": policy.extra_steps,
        "input_bytes": policy.input_bytes,
        "input_tokens_estimated": policy.input_tokens_estimated,
        "uncached_tokens_estimated": policy.uncached_tokens_estimated.get(rules),
        "hit_rate_estimated": rate(read, policy.input_tokens_estimated),
        "hit_rate_ceiling_estimated": policy.hit_rate_ceiling_estimated,
        "unplanned": policy.breaks.unplanned,
        "planned": policy.breaks.planned,
        "in_system_text": policy.breaks.in_system_text,
    }

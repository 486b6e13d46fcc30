"""Public reports of broken prefixes, and pairs of our own, each on every surface where it can occur."""

from __future__ import annotations

import pytest

from coldturn.reference.prefix.causes import REMEDIES, compare
from coldturn.reference.prefix.model import Break, Surface
from prefix.bodies import request
from prefix.pairs import REPORTS, A, B, Report
from prefix.pairs_of_ours import OURS
from prefix.surfaces import SURFACES

PLACED = [(report, surface) for report in (*REPORTS, *OURS) for surface in report.surfaces]


def break_of(report: Report, surface: Surface) -> Break:
    before = None if report.before is None else request(surface, **report.before)
    comparison = compare(request(surface, **report.parent), request(surface, **report.child), before)
    assert comparison.first is not None
    return comparison.first


@pytest.mark.parametrize(("report", "surface"), PLACED, ids=[f"{r.id}-{s}" for r, s in PLACED])
def test_the_report_gets_its_cause(report: Report, surface: Surface) -> None:
    found = break_of(report, surface)

    assert (found.cause, found.zone) == (report.cause, report.zone)
    assert found.names == report.names
    assert set(found.kinds) >= set(report.kinds)
    assert tuple(later.cause for later in found.later) == report.later
    assert not found.planned
    assert not found.harmless


def test_reconnecting_with_the_same_tools_is_no_break() -> None:
    for surface in SURFACES:
        assert compare(request(surface, tools=[A, B]), request(surface, tools=[A, B])).stable


ELSEWHERE = {
    "content_shape": "test_causes_shapes: only three surfaces have both shapes",
    "empty_field": "test_causes_shapes: each surface has fields of its own",
    "planned_elision": "test_causes_history: it is planned",
    "tier_changed": "tests/reference/test_run_changes: only the runtime knows",
    "facade_index_changed": "tests/reference/test_run_changes: only the runtime knows",
    "unknown": "no rule fits, so no pair is known to show it",
}


def test_every_cause_has_a_pair_on_every_surface() -> None:
    covered = {(report.cause, surface) for report, surface in PLACED}
    wanted = {(cause, surface) for cause in REMEDIES if cause not in ELSEWHERE for surface in SURFACES}
    assert wanted - covered == set()
    assert not {cause for cause, _ in covered} & set(ELSEWHERE)

"""What a trace holds of breaks is told without its bytes, and agrees with what the requests tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runs import runner
from coldturn.analysis.breaks.explain import explain
from coldturn.analysis.breaks.findings import Report, Verdict
from coldturn.analysis.breaks.from_spans import add_trace
from coldturn.reference.prefix.model import Fidelity, Zone
from coldturn.traces.readers import read_exchanges
from fuzz.readers_examples import BROKEN, CONVENTIONS, OURS, lines, otlp, otlp_span


def report_of(*spans: dict[str, object]) -> Report:
    report = Report()
    assert add_trace(report, lines(*(otlp(span) for span in spans)), "trace")
    return report


def test_a_break_is_told_with_its_place_and_without_content() -> None:
    report = report_of(otlp_span(OURS), otlp_span(BROKEN, number=2))
    (lineage,) = report.lineages
    assert (lineage.requests, lineage.fidelity, lineage.model) == (2, Fidelity.NUMBERS, "gpt-5.5")
    assert lineage.tokens.input_reported == 460
    assert lineage.verdicts == {Verdict.COLD_START: 1, Verdict.BROKEN: 1}
    (found,) = lineage.breaks
    assert (found.request, found.parent, found.turn) == (1, 0, 0)
    assert (found.zone, found.path, found.offset, found.block_offset) == (
        Zone.SYSTEM,
        "$.instructions",
        412,
        12,
    )
    assert (found.cause, found.verdict, found.lost_bytes) == ("clock_in_prefix", Verdict.BROKEN, 388)
    assert [later.cause for later in found.later] == ["tool_added"]
    assert found.remedy
    assert (found.before, found.was, found.now, found.wire_offset, found.names) == (
        None,
        None,
        None,
        None,
        (),
    )


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({"coldturn.prefix.break.planned": True}, Verdict.PLANNED),
        ({"coldturn.prefix.break.cause": "unknown"}, Verdict.UNKNOWN),
        ({"coldturn.prefix.harmless_cause": "reverted"}, Verdict.BROKEN_HARMLESS),
    ],
)
def test_verdicts_follow_from_what_the_span_says(changed: dict[str, object], verdict: Verdict) -> None:
    report = report_of(otlp_span(OURS), otlp_span({**BROKEN, **changed}, number=2))
    assert [found.verdict for found in report.breaks] == [verdict]


def test_a_request_whose_base_is_elsewhere_is_said_not_guessed() -> None:
    report = report_of(otlp_span(BROKEN, number=2))
    assert not report.breaks
    assert "this file lacks" in report.errors[0].message


@pytest.mark.parametrize("value", [None, "x", -5, [1], {"a": 1}, True, 2**70])
def test_attributes_of_another_type_are_unknown(value: object) -> None:
    """Nothing that a span may hold raises."""
    for name in BROKEN:
        if name != "coldturn.wire.bytes":
            report_of(otlp_span(OURS), otlp_span({**BROKEN, name: value}, number=2))


def test_anything_else_is_left_alone() -> None:
    report = Report()
    assert not add_trace(report, lines(otlp(otlp_span(CONVENTIONS))), "spans")
    assert not report.lineages


def placed(report: Report) -> list[tuple[int, int, str, str | None, int, int]]:
    """Breaks that have a place. Zones differ where a runtime's labels tell more than bytes."""
    return [
        (one.request, one.parent, one.cause, one.path, one.offset, one.lost_bytes)
        for one in report.breaks
        if one.offset is not None
    ]


def test_a_trace_says_what_its_requests_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The demo's requests explained from their bytes, and the trace that was written beside them."""
    runner(capsys)("demo", "--out", str(tmp_path))
    told = Report()
    assert add_trace(told, tmp_path / "demo.naive.jsonl", "trace")
    found = explain(read_exchanges(tmp_path / "demo.naive.requests.ndjson", name="requests"))
    assert told.requests == found.requests > 50
    assert len(told.breaks) > 20
    assert placed(told) == placed(found)


def test_the_command_lists_the_breaks_of_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(lines(otlp(otlp_span(OURS)), otlp(otlp_span(BROKEN, number=2))))
    run = runner(capsys)
    ran = run("explain", str(path))
    assert ran.code == 0
    assert "clock_in_prefix" in ran.out
    assert "fidelity numbers" in ran.out
    assert run("explain", str(path), "--fail-on", "any").code == 1
    assert run("explain", str(path), "--json", "--format", "trace").json["lineages"][0]["requests"] == 2

"""From inputs to what a page holds, without a browser."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldturn.analysis.breaks.pair import PairOptions
from coldturn.analysis.report.model import Columns, ReportData, View
from coldturn.analysis.report.parts import PartTable, Piece, decoded, encoded
from coldturn.analysis.report.payload import CHAIN, payload
from coldturn.analysis.report.recorded import RecordedView
from coldturn.analysis.report.replayed import UnreadableResultsError, add_results
from coldturn.analysis.report.traced import add_trace
from coldturn.reference.policy import POLICIES
from coldturn.reference.prefix.model import Zone
from coldturn.replay.runs.demo import recordings_folder
from coldturn.replay.runs.page import page_data
from coldturn.replay.runs.results import ReplayReport
from coldturn.replay.runs.runner import ReplayOptions, replay_recording
from coldturn.traces.exchange import Exchange
from coldturn.traces.readers import read_exchanges
from report.report_inputs import URL, answered, conversation, request, written

numbers = st.lists(st.integers(0, 30), max_size=40)


def read(path: Path, *, content: bool = True) -> ReportData:
    data = ReportData(content=content)
    view = RecordedView(data, PairOptions(content=content))
    for item in read_exchanges(path):
        view.add(item)
    view.finish(str(path))
    view.close()
    return data


def only(data: ReportData) -> View:
    (view,) = data.views
    return view


@pytest.fixture
def report(tmp_path: Path) -> ReportData:
    return read(written(tmp_path / "log.jsonl", conversation()))


@given(ids=numbers, base=numbers)
def test_packed_parts_come_out_as_they_went_in(ids: list[int], base: list[int]) -> None:
    assert decoded(encoded(ids, base), base) == ids


def test_a_request_that_repeats_another_takes_little_room() -> None:
    base = list(range(0, 3000, 3))
    assert len(encoded([*base, 7000, 7001, 7002], base)) == 6


def test_every_request_is_a_row_with_its_parent_and_its_break(report: ReportData) -> None:
    rows = only(report).rows
    assert [(row.number, row.parent) for row in rows] == [(0, None), (1, 0), (2, 1), (3, 2), (4, 3)]
    causes = [None if row.finding is None else row.finding["cause"] for row in rows]
    assert causes[:4] == [None, None, "clock_in_prefix", "tool_added"]
    assert rows[2].finding is not None
    assert {"was", "now", "remedy", "later", "path"} <= rows[2].finding.keys()


def test_parts_cover_every_byte_of_a_request(report: ReportData) -> None:
    for row in only(report).rows:
        assert report.parts.bytes_of(row.parts) == row.bytes


def test_what_is_in_common_ends_where_the_break_is(report: ReportData) -> None:
    rows = only(report).rows
    assert rows[0].common is None
    assert rows[1].common == rows[0].bytes
    assert rows[2].finding is not None
    assert rows[2].common == rows[2].finding["offset"] < rows[1].bytes
    assert all(row.exact for row in rows)


def test_a_text_that_goes_on_is_held_to_its_end(tmp_path: Path) -> None:
    lines = [answered(request("one")), answered(request("one and more"))]
    rows = only(read(written(tmp_path / "log.jsonl", lines))).rows
    assert rows[1].finding is None or rows[1].finding["zone"] == "none"
    assert rows[1].common == rows[0].bytes


def test_less_than_bytes_is_said_to_be_less_than_exact(tmp_path: Path) -> None:
    answer = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": ""}}
    interactions = [
        {"request": {"method": "POST", "uri": URL, "headers": {}, "parsed_body": body}, "response": answer}
        for body in (request("one", tools=("a", "b")), request("one", "two", tools=("a", "c")))
    ]
    path = tmp_path / "cassette.yaml"
    path.write_text(json.dumps({"interactions": interactions, "version": 1}), encoding="utf-8")
    row = only(read(path)).rows[1]
    assert row.finding is not None
    assert row.finding["offset"] is None
    assert not row.exact
    assert row.common is not None
    assert 0 < row.common < row.bytes


def test_the_three_columns_stay_apart_and_unknown_stays_unknown(report: ReportData) -> None:
    rows = only(report).rows
    assert [row.tokens.read_reported for row in rows] == [0, 2304, 0, None, 2432]
    assert all(row.tokens.read_estimated is not None for row in rows)
    totals = only(report).totals
    assert totals["hit_rate_reported"] == pytest.approx((2304 + 2432) / (4 * 3000))
    assert totals["hit_rate_ceiling_estimated"] >= totals["hit_rate_estimated"]
    assert totals["rules"] == ["openai-gpt-5.5"]


def test_without_reported_numbers_there_is_no_reported_rate(tmp_path: Path) -> None:
    view = only(read(written(tmp_path / "log.jsonl", [answered(request("one"))])))
    assert view.totals["hit_rate_reported"] is None
    assert view.totals["read_reported"] is None


def test_a_rate_is_made_from_requests_that_have_both_of_its_numbers(report: ReportData) -> None:
    view = only(report)
    both = Columns(input_estimated=100, read_estimated=50, ceiling_estimated=80)
    view.rows = [
        replace(view.rows[0], tokens=columns)
        for columns in (
            both,
            Columns(input_estimated=900),
            Columns(read_reported=7),
            Columns(input_reported=7),
        )
    ]
    totals = view.totals
    assert totals["hit_rate_estimated"] == 0.5
    assert totals["hit_rate_ceiling_estimated"] == 0.8
    assert totals["hit_rate_reported"] is None


def test_a_server_s_versions_tell_what_changed(report: ReportData) -> None:
    (server,) = only(report).servers
    assert (server.name, server.calls, len(server.versions)) == ("files", 1, 2)
    first, second = server.versions
    assert (first.tools, first.added, first.removed, first.changed) == (2, (), (), ())
    assert (second.added, second.removed) == (("grep",), ("write_file",))
    (edit,) = second.changed
    assert edit.name == "read_file"
    assert (edit.was or "").startswith(".")
    assert (edit.now or "").startswith(" a whole file.")


def test_pages_of_a_list_are_one_version(tmp_path: Path) -> None:
    def page(cursor: str | None, following: str | None, name: str) -> dict[str, Any]:
        params = {} if cursor is None else {"cursor": cursor}
        result = {"tools": [{"name": name}], **({} if following is None else {"nextCursor": following})}
        return {
            "url": "http://stdio.files.invalid/mcp",
            "request": {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params},
            "response": {"jsonrpc": "2.0", "id": 1, "result": result},
        }

    lines = [
        answered(request("one")),
        page(None, "2", "a"),
        page("2", None, "b"),
        page(None, "2", "a"),
        page("2", None, "b"),
    ]
    (server,) = only(read(written(tmp_path / "log.jsonl", lines))).servers
    assert [version.tools for version in server.versions] == [2]


def test_tools_that_were_never_called_come_first(report: ReportData) -> None:
    tools = [(one.name, one.shown_in, one.calls) for one in only(report).tools]
    assert tools == [("write_file", 5, 0), ("grep", 2, 0), ("read_file", 5, 1)]


def test_texts_stay_out_on_request(tmp_path: Path) -> None:
    lines = [
        answered(request("one", system="Current time: 10:01 SECRET-SYSTEM")),
        answered(request("one", "two SECRET-USER", system="Current time: 10:02 SECRET-SYSTEM")),
    ]
    path = written(tmp_path / "log.jsonl", lines)
    assert "SECRET-SYSTEM" in json.dumps(payload(read(path), "t", "0"))
    assert "SECRET" not in json.dumps(payload(read(path, content=False), "t", "0"))


def test_a_chain_of_requests_begins_anew_now_and_then(tmp_path: Path) -> None:
    users = [f"message {number}" for number in range(CHAIN + 20)]
    lines = [answered(request(*users[: number + 1])) for number in range(len(users))]
    data = read(written(tmp_path / "log.jsonl", lines))
    view = payload(data, "t", "0")["views"][0]
    starts = [at for at, runs in enumerate(view["runs"]) if runs[0] == 0]
    assert starts == [0, CHAIN + 1]
    assert _unpacked(view, len(users) - 1) == list(only(data).rows[-1].parts)


def _unpacked(view: dict[str, Any], at: int) -> list[int]:
    needs_parent, *runs = view["runs"][at]
    parent = view["rows"][at][4]
    return decoded(runs, _unpacked(view, parent) if needs_parent else ())


def test_pieces_of_one_section_are_one_part() -> None:
    table = PartTable()
    pieces = [Piece(b"1", 10, "system", "s ## A", "text"), Piece(b"2", 5, "system", "s ## A", "text")]
    others = [Piece(b"3", 1, "system", "s ## B", "text"), *pieces]
    assert list(table.ids(pieces)) == [0]
    assert list(table.ids(others)) == [1, 0]
    assert [part.bytes for part in table.parts] == [15, 1]


# --- traces and replays


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> ReplayReport:
    """The demo's recording under two policies, with traces."""
    with recordings_folder() as folder:
        options = ReplayOptions(out=tmp_path_factory.mktemp("traces"))
        policies = [POLICIES["naive"], POLICIES["stable"]]
        return ReplayReport([replay_recording(folder / "demo.jsonl", policies, options)])


def _as_bytes(replayed: ReplayReport) -> bytes:
    return json.dumps(replayed.as_json()).encode()


def test_a_replay_shows_what_its_results_say(replayed: ReplayReport) -> None:
    data = ReportData()
    add_results(data, _as_bytes(replayed), "replay")
    for view, result in zip(data.views, replayed.recordings[0].policies, strict=True):
        assert view.name == result.policy
        assert [row.bytes for row in view.rows] == [step.input_bytes for step in result.steps]
        found = [row.finding["cause"] for row in view.rows if row.finding is not None]
        assert found == [step.finding.cause for step in result.steps if step.finding is not None]
        assert all("was" in row.finding for row in view.rows if row.finding is not None)
        assert all(data.parts.bytes_of(row.parts) == row.bytes for row in view.rows)
        (rule,) = result.read_estimated
        assert view.totals["hit_rate_estimated"] == pytest.approx(result.hit_rate_estimated(rule))
    table = data.tables[0]
    assert [row["policy"] for row in table.rows] == ["naive", "stable"]
    assert [row["unplanned"] for row in table.rows] == [24, 3]


def test_a_trace_alone_says_the_same_without_texts(replayed: ReplayReport) -> None:
    result = replayed.recordings[0].policies[1]
    assert result.trace is not None
    data = ReportData()
    (view,) = add_trace(data, Path(result.trace))
    verdicts = [row.finding["verdict"] for row in view.rows if row.finding is not None]
    assert verdicts == [step.finding.verdict for step in result.steps if step.finding is not None]
    assert all(row.finding["was"] is None for row in view.rows if row.finding is not None)
    assert any(row.finding["remedy"] for row in view.rows if row.finding is not None)


def test_a_trace_tells_tiers_versions_and_calls(replayed: ReplayReport) -> None:
    trace = replayed.recordings[0].policies[1].trace
    assert trace is not None
    (view,) = add_trace(ReportData(), Path(trace))
    servers = {server.name: server for server in view.servers}
    assert servers["azure"].tiers == ["deferred"]
    assert servers["azure"].versions[0].tools == 235
    assert [version.number for version in servers["tracker"].versions] == [1, 2, 3, 4]
    assert any(
        version.added or version.removed or version.changed for version in servers["tracker"].versions[1:]
    )
    assert servers["fs"].calls == 31


def test_long_definitions_with_parts_in_common_are_counted_once_each(replayed: ReplayReport) -> None:
    trace = replayed.recordings[0].policies[0].trace
    assert trace is not None
    (view,) = add_trace(ReportData(), Path(trace))
    assert {tool.shown_in for tool in view.tools if tool.name.startswith("azure__")} == {len(view.rows)}
    assert len([tool for tool in view.tools if tool.name.startswith("azure__")]) == 235


def test_results_whose_traces_are_gone_still_make_rows(replayed: ReplayReport) -> None:
    results = replayed.as_json()
    for policy in results["recordings"][0]["policies"]:
        policy["trace"] = None
    data = ReportData()
    add_results(data, json.dumps(results).encode(), "replay")
    assert [len(view.rows) for view in data.views] == [61, 74]
    assert data.views[0].notes
    assert all(data.parts.bytes_of(row.parts) == row.bytes for row in data.views[0].rows)


def test_texts_of_results_stay_out_on_request(replayed: ReplayReport) -> None:
    data = ReportData(content=False)
    add_results(data, _as_bytes(replayed), "replay")
    rows: Sequence[Any] = [row for view in data.views for row in view.rows if row.finding is not None]
    assert rows
    assert all(row.finding[key] is None for row in rows for key in ("before", "was", "now"))


def test_a_break_of_another_form_is_refused_too(replayed: ReplayReport) -> None:
    results = replayed.as_json()
    broken = next(step for step in results["recordings"][0]["policies"][0]["steps"] if step["break"])
    broken["break"] = {**broken["break"], "names": "<img>", "source": "elsewhere"}
    with pytest.raises(UnreadableResultsError, match=r"break\.names"):
        add_results(ReportData(), json.dumps(results).encode(), "odd.json")


def test_results_of_another_form_are_refused_with_the_place() -> None:
    with pytest.raises(UnreadableResultsError, match=r"odd\.json: .*recordings.*coldturn replay --json"):
        add_results(ReportData(), b'{"schema": "coldturn.replay/1", "recordings": 3}', "odd.json")


def test_a_figure_that_is_nought_is_told(tmp_path: Path) -> None:
    lines = [answered(request("one", tools=("a", "b"))), answered(request("one", tools=("b", "a")))]
    told = payload(read(written(tmp_path / "log.jsonl", lines)), "t", "0")["views"][0]["findings"]["1"]
    assert told["cause"] == "tool_order"
    assert told["block_offset"] is not False
    assert told["wire_offset"] > 0
    assert told["delta_bytes"] == 0
    assert "planned" not in told


def test_what_a_recording_did_not_keep_is_said(tmp_path: Path) -> None:
    exchange = next(iter(read_exchanges(written(tmp_path / "log.jsonl", [answered(request("one"))]))))
    assert isinstance(exchange, Exchange)
    data = ReportData()
    view = RecordedView(data, PairOptions())
    view.add(replace(exchange, parts_missing=frozenset({Zone.SYSTEM, Zone.TOOLS})))
    view.close()
    assert only(data).rows[0].unseen == ("tools", "system")


def test_torn_lines_of_a_trace_are_told(replayed: ReplayReport, tmp_path: Path) -> None:
    trace = replayed.recordings[0].policies[1].trace
    assert trace is not None
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(Path(trace).read_bytes()[:-200])
    (view,) = add_trace(ReportData(), torn)
    assert [note.endswith("torn and left out: 1") for note in view.notes] == [True]


def test_a_replay_tells_what_changed_in_a_list_from_its_recording(replayed: ReplayReport) -> None:
    versions = {
        content: [
            version
            for server in page_data(replayed, content=content).views[1].servers
            if server.name == "tracker"
            for version in server.versions
        ]
        for content in (True, False)
    }
    edits = [edit for version in versions[True] for edit in version.changed]
    assert edits
    assert all(edit.was != edit.now for edit in edits)
    assert all(version.bytes for version in versions[True])
    assert all(edit.was is None for version in versions[False] for edit in version.changed)

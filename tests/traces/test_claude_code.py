"""Transcripts of Claude Code: histories along parents, usage once, and what is not in them."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.reference.prefix.model import Fidelity, Zone
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.kinds import InputKind
from coldturn.traces.readers import read_records

USAGE = {"input_tokens": 3, "cache_read_input_tokens": 2_000, "cache_creation_input_tokens": 100}


def line(
    uuid: str, parent: str | None, kind: str, message: dict[str, Any] | None = None, **more: object
) -> dict[str, Any]:
    told = {"parentUuid": parent, "isSidechain": False, "sessionId": "s1", "type": kind, "uuid": uuid}
    return {**told, **({} if message is None else {"message": message}), **more}


def asked(uuid: str, parent: str | None, text: object, **more: object) -> dict[str, Any]:
    return line(uuid, parent, "user", {"role": "user", "content": text}, **more)


def said(
    uuid: str, parent: str, message: str, *blocks: dict[str, Any], output: int = 20, **more: object
) -> dict[str, Any]:
    usage = {**USAGE, "output_tokens": output}
    told = {
        "id": message,
        "role": "assistant",
        "model": "claude-opus-4-5",
        "content": list(blocks),
        "usage": usage,
    }
    return line(uuid, parent, "assistant", told, requestId=f"req_{message}", **more)


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


def call(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": name}}


def result(name: str, content: str = "done") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": content}


def transcript(*rows: object) -> bytes:
    return b"\n".join(json.dumps(row).encode() for row in rows) + b"\n"


def calls(*rows: object) -> list[Exchange]:
    found = list(read_records(transcript(*rows), name="t.jsonl", kind=InputKind.CLAUDE_CODE))
    assert all(isinstance(one, Exchange) for one in found), found
    return [one for one in found if isinstance(one, Exchange)]


def messages(one: Exchange) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(one.request_body)["messages"]
    return found


def answer(one: Exchange) -> dict[str, Any]:
    assert one.response_body is not None
    found: dict[str, Any] = json.loads(one.response_body)
    return found


def test_a_reply_of_many_lines_is_one_call_with_its_last_usage() -> None:
    only = calls(
        asked("u1", None, "hello"),
        said("a1", "u1", "m1", {"type": "thinking", "thinking": "hm", "signature": "x"}, output=1),
        said("a2", "a1", "m1", text("hi"), output=1),
        said("a3", "a2", "m1", call("t1"), output=57),
    )
    assert len(only) == 1
    assert messages(only[0]) == [{"role": "user", "content": [text("hello")]}]
    assert [block["type"] for block in answer(only[0])["content"]] == ["thinking", "text", "tool_use"]
    assert answer(only[0])["usage"] == {**USAGE, "output_tokens": 57}
    assert only[0].headers == (("request-id", "req_m1"),)


def test_tools_and_system_text_are_unknown_and_not_empty() -> None:
    (only,) = calls(asked("u1", None, "hello"), said("a1", "u1", "m1", text("hi")))
    assert only.parts_missing == {Zone.TOOLS, Zone.SYSTEM}
    assert only.fidelity is Fidelity.MESSAGES
    assert json.loads(only.request_body).keys() == {"model", "messages"}


def test_results_of_parallel_calls_stand_together_whatever_line_the_next_reply_hangs_on() -> None:
    rows = [
        asked("u1", None, "both"),
        said("a1", "u1", "m1", call("t1")),
        said("a2", "a1", "m1", call("t2")),
        asked("r1", "a1", [result("t1")]),
        asked("r2", "a2", [result("t2")]),
    ]
    for last in ("r1", "r2"):
        second = calls(*rows, said("b1", last, "m2", text("ready")))[1]
        kinds = [[block["type"] for block in one["content"]] for one in messages(second)]
        assert kinds == [["text"], ["tool_use", "tool_use"], ["tool_result", "tool_result"]]
        assert {block["tool_use_id"] for block in messages(second)[2]["content"]} == {"t1", "t2"}


def test_a_reply_whose_results_stand_between_its_lines_stays_one_message() -> None:
    rows = [
        asked("u1", None, "both"),
        said("a1", "u1", "m1", call("t1")),
        asked("r1", "a1", [result("t1")]),
        said("a2", "r1", "m1", call("t2")),
        asked("r2", "a2", [result("t2")]),
        said("b1", "r2", "m2", text("on")),
        asked("u2", "b1", "more"),
        said("c1", "u2", "m3", text("ready")),
    ]
    _, second, third = calls(*rows)
    kinds = [[block["type"] for block in one["content"]] for one in messages(second)]
    assert kinds == [["text"], ["tool_use", "tool_use"], ["tool_result", "tool_result"]]
    assert messages(third)[:3] == messages(second)


def test_a_conversation_that_goes_on_breaks_nothing() -> None:
    rows = [asked("u0", None, "begin")]
    for turn in range(30):
        parent = rows[-1]["uuid"]
        rows += [
            said(f"a{turn}", parent, f"m{turn}", call(f"t{turn}")),
            line(f"p{turn}", f"a{turn}", "progress"),
            asked(f"r{turn}", f"a{turn}", [result(f"t{turn}", "x" * 200)]),
        ]
    found = calls(*rows)
    assert [len(messages(one)) for one in found] == [1 + 2 * turn for turn in range(30)]
    for before, after in pairwise(found):
        assert messages(after)[: len(messages(before))] == messages(before)
    report = explain(found)
    assert len(report.lineages) == 1
    assert list(report.breaks) == []


def test_a_miss_behind_an_intact_history_is_unknown_since_tools_and_system_text_are_not_shown() -> None:
    rows = [asked("u1", None, "begin " * 300)]
    for turn, (read, written) in enumerate(((0, 9_000), (9_000, 500), (0, 9_900))):
        reply = said(f"a{turn}", str(rows[-1]["uuid"]), f"m{turn}", text("on"))
        reply["message"]["usage"] |= {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
        rows += [reply, asked(f"u{turn + 2}", f"a{turn}", f"more {turn}")]
    for second, row in enumerate(rows):
        row["timestamp"] = f"2026-01-01T00:00:{second:02d}Z"
    (only,) = explain(calls(*rows)).breaks
    assert (only.request, only.cause, only.path, only.offset) == (2, "unknown", None, None)
    assert "does not hold system and tools" in (only.evidence or "")


def test_a_branch_repeats_what_stands_in_front_of_it() -> None:
    shared = [asked("u1", None, "begin"), said("a1", "u1", "m1", text("first"))]
    found = calls(
        *shared,
        asked("u2", "a1", "left"),
        said("a2", "u2", "m2", text("l")),
        asked("u3", "a1", "right"),
        said("a3", "u3", "m3", text("r")),
        asked("u4", "a2", "left again"),
        said("a4", "u4", "m4", text("l")),
    )
    texts = [[one["content"][0]["text"] for one in messages(each)] for each in found]
    assert texts == [
        ["begin"],
        ["begin", "first", "left"],
        ["begin", "first", "right"],
        ["begin", "first", "left", "l", "left again"],
    ]


def test_a_sub_agent_is_a_conversation_of_its_own() -> None:
    found = calls(
        asked("u1", None, "main " * 200),
        said("a1", "u1", "m1", call("task")),
        asked("s1", None, "side " * 200, isSidechain=True),
        said("s2", "s1", "m2", text("looking"), isSidechain=True),
        asked("r1", "a1", [result("task")]),
        said("a2", "r1", "m3", text("ready")),
    )
    assert [len(messages(one)) for one in found] == [1, 1, 3]
    assert [one.requests for one in explain(found).lineages] == [2, 1]


def test_behind_a_compaction_the_summary_is_the_history() -> None:
    found = calls(
        asked("u1", None, "long"),
        said("a1", "u1", "m1", text("answer")),
        line("c1", None, "system", subtype="compact_boundary", logicalParentUuid="a1"),
        asked("c2", "c1", "summary of all", isCompactSummary=True, isVisibleInTranscriptOnly=True),
        said("a2", "c2", "m2", text("on")),
    )
    assert [one["content"] for one in messages(found[1])] == [[text("summary of all")]]
    assert Zone.HISTORY not in found[1].parts_missing


def compacted(*more: dict[str, Any], logical: str = "u9") -> list[Exchange]:
    """Two calls, a full compaction, and what follows it."""
    return calls(
        asked("u1", None, "What was asked at the beginning, with all that was needed for it."),
        said("a1", "u1", "m1", text("The first answer, which says what was found.")),
        asked("u2", "a1", "And what else is there to be found?"),
        said("a2", "u2", "m2", text("The second answer, which says all that is left.")),
        asked("u9", "a2", "/compact", isVisibleInTranscriptOnly=True),
        line("c1", None, "system", subtype="compact_boundary", logicalParentUuid=logical),
        asked("c2", "c1", "This session is being continued. It was about this.", isCompactSummary=True),
        said("a3", "c2", "m3", text("on")),
        *more,
    )


def test_the_first_call_behind_a_compaction_goes_on_from_the_last_one_before() -> None:
    found = compacted(asked("u4", "a3", "more"), said("a4", "u4", "m4", text("yes")))
    assert [one.compacted_from for one in found] == [None, None, found[1].entry, None]
    explained = explain(found)
    [lineage] = explained.lineages
    [broken] = lineage.breaks
    assert (broken.cause, broken.verdict.value, broken.planned) == ("compaction", "planned", True)
    assert (broken.request, broken.parent, lineage.requests) == (2, 1, 4)
    assert broken.confidence == "observed"
    assert lineage.verdicts == {"cold_start": 1, "intact": 2, "planned": 1}


def test_a_compaction_whose_beginning_is_not_in_the_file_links_nothing() -> None:
    for logical in ("elsewhere", "c1"):
        found = compacted(logical=logical)
        assert [one.compacted_from for one in found] == [None, None, None]
        assert len(explain(found).lineages) == 2


def test_a_compaction_in_front_of_which_lines_point_in_a_circle_links_nothing() -> None:
    found = calls(
        asked("x1", "x2", "round"),
        asked("x2", "x1", "and round"),
        line("c1", None, "system", subtype="compact_boundary", logicalParentUuid="x1"),
        asked("c2", "c1", "summary", isCompactSummary=True),
        said("a1", "c2", "m1", text("on")),
    )
    assert [one.compacted_from for one in found] == [None]


def test_what_a_compaction_kept_stands_behind_its_summary() -> None:
    kept = {"preservedMessages": {"anchorUuid": "c2", "uuids": ["u2", "a2"]}}
    found = calls(
        asked("u1", None, "long"),
        said("a1", "u1", "m1", text("answer")),
        asked("u2", "a1", "late"),
        said("a2", "u2", "m2", text("kept")),
        line("c1", None, "system", subtype="compact_boundary", logicalParentUuid="a2", compactMetadata=kept),
        asked("c2", "c1", "summary", isCompactSummary=True),
        asked("u3", "c2", "on"),
        said("a3", "u3", "m3", text("yes")),
    )
    texts = [[block["text"] for block in one["content"]] for one in messages(found[2])]
    assert texts == [["summary", "late"], ["kept"], ["on"]]
    assert found[2].compacted_from == found[1].entry
    assert [one.cause for one in explain(found).breaks] == ["compaction"]


def test_what_never_went_to_the_model_is_no_call_and_no_history() -> None:
    synthetic = said("a1", "u1", "x1", text("API Error"), isApiErrorMessage=True)
    synthetic["message"]["model"] = "<synthetic>"
    found = calls(
        asked("u1", None, "ask"),
        synthetic,
        asked("u2", "a1", "shown", isVisibleInTranscriptOnly=True),
        asked("u3", "u2", "again"),
        said("a2", "u3", "m2", text("yes")),
        {"type": "summary", "summary": "a title", "leafUuid": "a2"},
    )
    assert len(found) == 1
    assert messages(found[0]) == [{"role": "user", "content": [text("ask"), text("again")]}]


def test_a_beginning_that_is_not_in_the_file_is_unknown() -> None:
    (only,) = calls(asked("u9", "elsewhere", "go on"), said("a9", "u9", "m9", text("yes")))
    assert Zone.HISTORY in only.parts_missing


def test_lines_that_point_in_a_circle_end() -> None:
    found = calls(asked("u1", "a1", "ask"), said("a1", "u1", "m1", text("yes")))
    assert len(found) == 1


def test_a_request_starts_when_its_last_message_was_written() -> None:
    rows = [asked("u1", None, "ask"), said("a1", "u1", "m1", text("yes"))]
    rows[0]["timestamp"], rows[1]["timestamp"] = "2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z"
    (only,) = calls(*rows)
    assert only.started == 1_767_225_600.0


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b'{"type": "user", "uuid": "u2", "message": {"content": 7}}', "neither a text nor a list"),
        (b'{"type": "user", "uuid"', "line 2"),
        (b"[1]", "line 2"),
    ],
)
def test_a_damaged_line_is_one_error_and_the_rest_is_read(row: bytes, message: str) -> None:
    begin, end = transcript(asked("u1", None, "ask")), transcript(said("a1", "u1", "m1", text("yes")))
    error, found = read_records(begin + row + b"\n" + end, name="t.jsonl")
    assert isinstance(error, EntryError)
    assert message in error.message
    assert isinstance(found, Exchange)


def test_the_providers_own_diagnosis_is_kept() -> None:
    told = said("a", "u", "m1", text("hi"))
    reason = {"type": "tools_changed", "cache_missed_input_tokens": 41_735}
    told["message"]["diagnostics"] = {"cache_miss_reason": reason}
    first, second = calls(
        asked("u", None, "hello"), told, asked("v", "a", "more"), said("b", "v", "m2", text("ok"))
    )
    assert answer(first)["diagnostics"] == {"cache_miss_reason": reason}
    assert "diagnostics" not in answer(second)

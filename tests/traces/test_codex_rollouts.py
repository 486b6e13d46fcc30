"""Rollouts of Codex: items in order, a call per count of tokens, compactions and steps back."""

from __future__ import annotations

import io
import json
from typing import Any

from coldturn.analysis.breaks.explain import explain
from coldturn.reference.prefix.model import Zone
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.kinds import InputKind
from coldturn.traces.readers import read_records
from coldturn.traces.sniff import sniff
from coldturn.traces.usage_record import UsageRecord

META = {"type": "session_meta", "payload": {"id": "r1", "cwd": "/w", "originator": "codex_cli_rs"}}
MODEL = {"type": "turn_context", "payload": {"model": "gpt-5.5", "effort": "high"}}


def item(kind: str, **more: object) -> dict[str, Any]:
    return {"type": "response_item", "payload": {"type": kind, **more}}


def asked(text: str) -> dict[str, Any]:
    return item("message", role="user", content=[{"type": "input_text", "text": text}])


def said(text: str) -> dict[str, Any]:
    return item("message", role="assistant", content=[{"type": "output_text", "text": text}])


def call(name: str) -> dict[str, Any]:
    return item("function_call", name="shell", arguments="{}", call_id=name)


def result(name: str, output: str = "ok") -> dict[str, Any]:
    return item("function_call_output", call_id=name, output=output)


def counted(total: int, tokens: int, cached: int, output: int = 10) -> dict[str, Any]:
    usage = {"input_tokens": tokens, "cached_input_tokens": cached, "output_tokens": output}
    info = {"total_token_usage": {"input_tokens": total}, "last_token_usage": usage}
    return {"type": "event_msg", "payload": {"type": "token_count", "info": info}}


def rollout(*rows: dict[str, Any]) -> bytes:
    stamped = ({"timestamp": f"2026-01-01T00:00:{at:02d}Z", **row} for at, row in enumerate(rows))
    return b"\n".join(json.dumps(row).encode() for row in stamped) + b"\n"


def read(*rows: dict[str, Any]) -> list[Exchange]:
    found = list(read_records(rollout(*rows), name="r.jsonl"))
    assert all(isinstance(one, Exchange) for one in found), found
    return [one for one in found if isinstance(one, Exchange)]


def kinds(one: Exchange) -> list[str]:
    return [part["type"] for part in json.loads(one.request_body)["input"]]


def answer(one: Exchange) -> dict[str, Any]:
    assert one.response_body is not None
    found: dict[str, Any] = json.loads(one.response_body)
    return found


def test_a_rollout_is_recognised() -> None:
    assert sniff(io.BytesIO(rollout(META, MODEL)), "r") is InputKind.CODEX


def test_each_count_is_a_call_of_what_stood_in_front_of_its_answer() -> None:
    first, second = read(
        META, MODEL, asked("do it"), item("reasoning", summary=[]), call("c1"), counted(100, 100, 0),
        result("c1"), said("done"), counted(250, 150, 96),
    )  # fmt: skip
    assert kinds(first) == ["message"]
    assert kinds(second) == ["message", "reasoning", "function_call", "function_call_output"]
    assert [one["type"] for one in answer(second)["output"]] == ["message"]
    assert answer(second)["usage"] == {
        "input_tokens": 150,
        "output_tokens": 10,
        "input_tokens_details": {"cached_tokens": 96},
    }
    assert json.loads(second.request_body)["model"] == "gpt-5.5"
    assert list(explain([first, second]).breaks) == []


def test_a_result_that_came_before_the_count_belongs_to_the_next_call() -> None:
    first, second = read(
        MODEL,
        asked("do it"),
        call("c1"),
        result("c1"),
        counted(100, 100, 0),
        said("done"),
        counted(250, 150, 96),
    )
    assert kinds(first) == ["message"]
    assert [one["type"] for one in answer(first)["output"]] == ["function_call"]
    assert kinds(second) == ["message", "function_call", "function_call_output"]


def test_a_count_that_is_told_again_is_no_call() -> None:
    none = {"type": "event_msg", "payload": {"type": "token_count", "info": None}}
    again = counted(100, 100, 0)
    assert len(read(MODEL, none, asked("a"), said("b"), again, again, none)) == 1


def test_a_call_without_items_of_its_own_is_numbers_alone() -> None:
    rows = (MODEL, asked("a"), said("b"), counted(100, 100, 0), counted(300, 200, 64))
    exchange, numbers = read_records(rollout(*rows), name="r.jsonl")
    assert isinstance(exchange, Exchange)
    assert isinstance(numbers, UsageRecord)
    assert (numbers.input_tokens, numbers.cached_tokens, numbers.model) == (200, 64, "gpt-5.5")


def test_tools_are_unknown_and_the_system_text_is_known_where_it_was_kept() -> None:
    rows = (asked("a"), said("b"), counted(100, 100, 0))
    (bare,) = read(META, MODEL, *rows)
    payload = {"id": "r1", "cwd": "/w", "base_instructions": {"text": "Be brief."}}
    (with_text,) = read({"type": "session_meta", "payload": payload}, MODEL, *rows)
    assert bare.parts_missing == {Zone.TOOLS, Zone.SYSTEM}
    assert "instructions" not in json.loads(bare.request_body)
    assert with_text.parts_missing == {Zone.TOOLS}
    assert json.loads(with_text.request_body)["instructions"] == "Be brief."


def test_a_compaction_replaces_the_history() -> None:
    kept = [asked("summary")["payload"]]
    before = (MODEL, asked("a"), said("b"), counted(100, 100, 0))
    after = (asked("go on"), said("c"), counted(200, 100, 0))
    compacted = {"type": "compacted", "payload": {"message": "summary", "replacement_history": kept}}
    assert kinds(read(*before, compacted, *after)[1]) == ["message", "message"]
    old = {"type": "compacted", "payload": {"message": "summary"}}
    second = read(*before, old, *after)[1]
    assert "summary" in second.request_body.decode()
    assert Zone.HISTORY in second.parts_missing


def test_the_first_call_behind_a_compaction_goes_on_from_the_last_one_before() -> None:
    kept = [asked("A summary of what was said in many words before this.")["payload"]]
    compacted = {"type": "compacted", "payload": {"message": "", "replacement_history": kept}}
    content = rollout(
        MODEL, asked("What was asked at the beginning, with all that was needed."), said("An answer."),
        counted(100, 100, 0), compacted, counted(130, 30, 0), asked("go on"), said("c"), counted(200, 100, 0),
        asked("and on"), said("d"), counted(320, 120, 0),
    )  # fmt: skip
    calls = [one for one in read_records(content, name="r.jsonl") if isinstance(one, Exchange)]
    assert [one.compacted_from for one in calls] == [None, calls[0].entry, None]
    [lineage] = explain(calls).lineages
    [broken] = lineage.breaks
    assert (broken.cause, broken.verdict.value, broken.request, broken.parent) == (
        "compaction",
        "planned",
        1,
        0,
    )


def test_turns_that_were_taken_back_are_gone() -> None:
    back = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}
    found = read(
        MODEL, asked("a"), said("b"), counted(100, 100, 0), asked("wrong"), said("c"), counted(220, 120, 96),
        back, asked("right"), said("d"), counted(340, 120, 96),
    )  # fmt: skip
    assert "wrong" not in found[2].request_body.decode()
    assert kinds(found[2]) == ["message", "message", "message"]


def test_damaged_lines_are_errors_of_their_own() -> None:
    content = rollout(
        META, MODEL, {"type": "response_item", "payload": 7}, asked("a"), said("b"), counted(9, 9, 0)
    )
    found = read_records(content + b'{"timestamp"', name="r.jsonl")
    assert [type(one) for one in found] == [EntryError, Exchange, EntryError]

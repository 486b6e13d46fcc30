"""What Claude Code prints as stream-json: replies block by block, without the first prompt."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.reference.prefix.model import Fidelity, Zone
from coldturn.traces.errors import UnreadableJsonError, UnrecognisedInputError
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.readers import read_exchanges, read_records
from traces.conversations import lines

INIT = {
    "type": "system",
    "subtype": "init",
    "session_id": "s",
    "claude_code_version": "2.1.197",
    "tools": ["Bash"],
}
DOCUMENT = "What the file says. " * 2_000


def line(role: str, message: dict[str, Any], agent: str | None = None, **more: object) -> dict[str, Any]:
    return {"type": role, "message": message, "parent_tool_use_id": agent, "session_id": "s", **more}


def said(
    number: int, *blocks: object, read: int = 0, agent: str | None = None, **more: object
) -> list[dict[str, Any]]:
    """A reply, each block a line of its own."""
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": 0,
        "output_tokens": 1,
    }
    told = {
        "id": f"{agent}m{number}",
        "model": "claude-opus-4-5",
        "stop_reason": None,
        "usage": usage,
        **more,
    }
    return [line("assistant", {**told, "role": "assistant", "content": [one]}, agent) for one in blocks]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(number: int, name: str = "Read", **asked: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"t{number}", "name": name, "input": asked}


def result(number: int, content: str = "x", agent: str | None = None) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": f"t{number}", "content": content}
    moment = f"2026-11-30T09:00:{number:02}Z"
    return line("user", {"role": "user", "content": [block]}, agent, timestamp=moment)


def calls(*events: object) -> list[Exchange]:
    return [one for one in read_records(lines(*events), name="input") if isinstance(one, Exchange)]


def messages(one: Exchange) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(one.request_body)["messages"]
    return found


def test_a_reply_is_one_call_behind_what_was_said() -> None:
    first, second = calls(INIT, *said(1, text("Look."), call(1)), result(1), *said(2, text("Done.")))
    assert [one.fidelity for one in (first, second)] == [Fidelity.MESSAGES] * 2
    assert first.parts_missing == {Zone.TOOLS, Zone.SYSTEM, Zone.HISTORY}
    assert (first.started, second.started) == (None, 1_796_029_201.0)
    assert [len(messages(one)) for one in (first, second)] == [1, 3]
    assert messages(second)[:1] == messages(first)
    assert messages(second)[1:] == [
        {"role": "assistant", "content": [text("Look."), call(1)]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]},
    ]


@pytest.mark.parametrize(("read", "causes"), [(9_000, []), (0, ["unknown"])])
def test_a_read_that_fell_is_a_break_whose_cause_is_not_known(read: int, causes: list[str]) -> None:
    events = [INIT, *said(1, call(1)), result(1, DOCUMENT)]
    events += [*said(2, call(2), read=0), result(2), *said(3, text("Done."), read=read)]
    written = iter((0, 9_000, 9_040 - read))
    for one in events:
        if one["type"] == "assistant":
            one["message"]["usage"] |= {"input_tokens": 40, "cache_creation_input_tokens": next(written)}
    explained = explain(list(read_exchanges(lines(*events))))
    (lineage,) = explained.lineages
    assert [one.cause for one in lineage.breaks] == causes


def test_results_of_calls_at_the_same_time_are_one_message() -> None:
    one, two = said(1, call(1), call(2))
    last = calls(INIT, one, result(1), two, result(2), *said(2, text("Done.")))[-1]
    assert [len(message["content"]) for message in messages(last)] == [1, 2, 2]


def test_a_prompt_that_was_printed_stands_in_front() -> None:
    asked = line("user", {"role": "user", "content": "Where is it?"}, isReplay=True)
    (only,) = calls(INIT, asked, *said(1, text("In src.")))
    assert messages(only) == [{"role": "user", "content": [text("Where is it?")]}]
    assert only.parts_missing == {Zone.TOOLS, Zone.SYSTEM}


def test_a_sub_agent_is_a_conversation_of_its_own() -> None:
    task = call(1, "Task", prompt="Find the parser.")
    inner = [*said(1, call(5), agent="t1"), result(5, agent="t1"), *said(2, text("There."), agent="t1")]
    found = calls(INIT, *said(1, task), *inner, result(1), *said(2, text("Done.")))
    assert [len(messages(one)) for one in found] == [1, 1, 3, 3]
    assert messages(found[1]) == [{"role": "user", "content": [text("Find the parser.")]}]
    assert found[1].parts_missing == {Zone.TOOLS, Zone.SYSTEM}


def test_output_is_unknown_until_a_reply_was_whole() -> None:
    reply = json.loads(calls(INIT, *said(1, text("Done."), read=5))[0].response_body or b"")
    assert reply["usage"] == {
        "input_tokens": 10,
        "cache_read_input_tokens": 5,
        "cache_creation_input_tokens": 0,
    }
    whole = json.loads(calls(INIT, *said(1, text("x"), stop_reason="end_turn"))[0].response_body or b"")
    assert whole["usage"]["output_tokens"] == 1
    delta = {"type": "message_delta", "usage": {"output_tokens": 77}}
    event = {"type": "stream_event", "event": delta, "parent_tool_use_id": None, "session_id": "s"}
    streamed = json.loads(calls(INIT, *said(1, text("x")), event)[0].response_body or b"")
    assert (streamed["usage"]["input_tokens"], streamed["usage"]["output_tokens"]) == (10, 77)


def test_behind_a_compaction_the_history_is_another_and_that_was_planned() -> None:
    boundary = {"type": "system", "subtype": "compact_boundary", "session_id": "s"}
    summary = line("user", {"role": "user", "content": "So far: nothing."})
    found = calls(
        INIT, *said(1, call(1)), result(1), *said(2, call(2)), boundary, summary, *said(3, text("On."))
    )
    assert [one.compacted_from for one in found] == [None, None, found[1].entry]
    assert messages(found[2]) == [{"role": "user", "content": [text("So far: nothing.")]}]
    bare = calls(INIT, *said(1, call(1)), boundary, *said(2, text("On.")))
    assert messages(bare[0]) != messages(bare[1])


def test_what_the_program_made_up_is_no_call() -> None:
    made_up = said(2, text("API error"), model="<synthetic>")
    assert len(calls(INIT, *said(1, text("x")), *made_up)) == 1


def test_another_program_that_prints_the_same_lines_is_not_taken_for_it() -> None:
    other = {"type": "system", "subtype": "init", "session_id": "s", "qwen_code_version": "0.4"}
    with pytest.raises(UnrecognisedInputError):
        calls(other, *said(1, text("x")))


def test_damage_is_told_and_the_rest_is_read() -> None:
    broken = line("assistant", {"id": "m9", "model": "m", "content": 7})
    content = lines(INIT, *said(1, text("x"))) + b'{"type": \n' + lines(broken)
    found = list(read_records(content, name="input"))
    assert [type(one) for one in found] == [EntryError, EntryError, Exchange]
    with pytest.raises(UnreadableJsonError):
        list(read_records(json.dumps([INIT, *said(1, text("x"))]).encode()[:-1], name="input"))

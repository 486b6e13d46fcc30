"""Sessions of OpenCode: steps, results that are cleared later, compactions, and what is never sent."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.reference.prefix.model import Zone
from coldturn.traces.errors import UnreadableJsonError
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.kinds import InputKind
from coldturn.traces.readers import read_records
from coldturn.traces.sniff import sniff
from coldturn.traces.usage_record import UsageRecord

T0 = 1_780_000_000_000


def tokens(fresh: int, read: int = 0, written: int = 0) -> dict[str, Any]:
    return {"input": fresh, "output": 5, "reasoning": 2, "cache": {"read": read, "write": written}}


def asked(id_: str, *parts: dict[str, Any], at: int = 0) -> dict[str, Any]:
    info = {
        "id": id_,
        "role": "user",
        "sessionID": "ses_1",
        "time": {"created": T0 + at * 1_000},
        "agent": "build",
    }
    return {"info": info, "parts": list(parts)}


def said(
    id_: str, *parts: dict[str, Any], at: int = 0, provider: str = "anthropic", **more: object
) -> dict[str, Any]:
    info = {
        "id": id_,
        "role": "assistant",
        "sessionID": "ses_1",
        "time": {"created": T0 + at * 1_000, "completed": T0 + at * 1_000 + 500},
        "modelID": "claude-sonnet-5" if provider == "anthropic" else "gpt-5.5",
        "providerID": provider,
        "tokens": tokens(10, 900, 50),
        "finish": "stop",
        **more,
    }
    return {"info": info, "parts": list(parts)}


def text(words: str, **more: object) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def tool(
    call: str, output: str = "a.py", *, at: int = 1, cleared: int | None = None, **state: object
) -> dict[str, Any]:
    time = {"start": T0 + at * 1_000, "end": T0 + at * 1_000}
    if cleared is not None:
        time["compacted"] = T0 + cleared * 1_000
    whole = {"status": "completed", "input": {"path": "."}, "output": output, "time": time, **state}
    return {"type": "tool", "callID": call, "tool": "list", "state": whole}


START = {"type": "step-start"}


def finish(*counts: int) -> dict[str, Any]:
    return {"type": "step-finish", "reason": "stop", "cost": 0, "tokens": tokens(*counts)}


def export(*messages: object) -> bytes:
    info = {"id": "ses_1", "projectID": "p", "directory": "/w", "title": "t", "version": "1.2"}
    return json.dumps({"info": info, "messages": list(messages), "todos": []}, indent=2).encode()


def records(*messages: object) -> list[Any]:
    found = list(read_records(export(*messages), name="session"))
    assert not [one for one in found if isinstance(one, EntryError)], found
    return found


def sent(call: Exchange) -> list[dict[str, Any]]:
    body: dict[str, Any] = json.loads(call.request_body)
    return body["messages"]  # type: ignore[no-any-return]


def words(call: Exchange) -> list[object]:
    """Texts, and what tools gave."""
    blocks = (block for one in sent(call) for block in one["content"])
    return [
        block.get("text") or block.get("content", [{}])[0].get("text")
        for block in blocks
        if block["type"] != "tool_use"
    ]


TALK = (
    asked("u1", text("Which files?"), {"type": "file", "mime": "text/plain", "url": "file:///a"}, at=0),
    said("a1", START, text("I look."), tool("c1", at=3), finish(10, 0, 950), at=1),
    said("a2", START, text("One."), finish(10, 950, 60), at=4),
    asked("u2", text("A hint.", synthetic=True), text("shown only", ignored=True), at=9),
    said("a3", START, text("Fine."), finish(10, 1_010, 20), at=10),
)


def test_each_message_of_the_model_is_a_call() -> None:
    assert sniff(io.BytesIO(export(*TALK)), "x") is InputKind.OPENCODE
    first, second, third = records(*TALK)
    assert sent(first) == [{"role": "user", "content": [{"type": "text", "text": "Which files?"}]}]
    assert words(second) == ["Which files?", "I look.", "a.py"]
    assert sent(second)[1]["content"][1] == {
        "type": "tool_use",
        "id": "c1",
        "name": "list",
        "input": {"path": "."},
    }
    assert words(third)[-1] == "A hint."
    assert [one.started for one in (first, second)] == [T0 / 1_000 + 1, T0 / 1_000 + 4]
    assert first.parts_missing == frozenset({Zone.TOOLS, Zone.SYSTEM})
    explained = explain([first, second, third])
    [lineage] = explained.lineages
    assert (lineage.requests, lineage.breaks, lineage.model) == (3, [], "claude-sonnet-5")
    assert (lineage.tokens.input_reported, lineage.tokens.read_reported) == (3_020, 1_960)


def test_several_steps_of_one_message_are_calls_of_their_own() -> None:
    """Older versions put all steps of a turn into one message."""
    steps = (
        START,
        text("I look."),
        tool("c1", at=3),
        finish(10, 0, 950),
        START,
        text("One."),
        finish(10, 950, 60),
    )
    first, second = records(TALK[0], said("a1", *steps, at=1))
    assert sent(first) == sent(records(*TALK)[0])
    assert sent(second) == sent(records(*TALK)[1])
    assert second.started == T0 / 1_000 + 3


def test_a_step_that_was_cut_off_has_no_counts_of_its_own() -> None:
    steps = (START, text("I look."), tool("c1", at=3), finish(10, 0, 950), START, text("On"))
    assert len(records(TALK[0], said("a1", *steps, at=1))) == 1


def test_a_trajectory_of_another_agent_is_none_of_these() -> None:
    other = {"info": {"id": "run-7", "directory": "/w"}, "messages": [{"role": "user", "content": "q"}]}
    assert sniff(io.BytesIO(json.dumps(other).encode()), "x") is InputKind.MINI_SWE_AGENT


def test_without_steps_the_messages_own_counts_count() -> None:
    [only] = records(TALK[0], said("a1", text("Hm.")))
    usage = json.loads(only.response_body)["usage"]
    assert (usage["input_tokens"], usage["cache_read_input_tokens"], usage["output_tokens"]) == (10, 900, 7)
    assert records(TALK[0], said("a1", text("Hm."), tokens=tokens(0) | {"output": 0, "reasoning": 0})) == []


def test_a_result_that_was_cleared_stands_as_it_was_until_then() -> None:
    looked = said(
        "a1", START, text("I look."), tool("c1", "long " * 400, at=3, cleared=8), finish(10, 0, 950), at=1
    )
    found = records(TALK[0], looked, *TALK[2:])
    assert str(words(found[1])[2]).startswith("long ")
    assert words(found[2])[2] == "[Old tool result content cleared]"
    [broken] = explain(found).breaks
    assert broken.cause in ("planned_elision", "elision_moving_boundary")
    assert broken.request == 2


def test_behind_a_compaction_the_request_for_it_is_the_first_message() -> None:
    compaction = asked("k1", {"type": "compaction", "auto": True}, at=20)
    summary = said(
        "s1", START, text("All that was said."), finish(900, 0, 0), at=21, summary=True, parentID="k1"
    )
    after = asked("u3", text("Go on."), at=22), said("a4", START, text("On."), finish(20, 0, 90), at=23)
    found = records(*TALK, compaction, summary, *after)
    numbers = found[3]
    assert isinstance(numbers, UsageRecord)
    assert (numbers.input_tokens, numbers.conversation, numbers.call) == (900, "session", 3)
    calls = [one for one in found if isinstance(one, Exchange)]
    assert words(calls[-1]) == ["What did we do so far?", "All that was said.", "Go on."]
    assert [one.compacted_from for one in calls] == [None, None, None, calls[2].entry]
    assert [(one.cause, one.planned, one.parent) for one in explain(calls).breaks] == [
        ("compaction", True, 2)
    ]
    failed = {**summary, "info": {**summary["info"], "error": {"name": "APIError"}}}
    calls = [one for one in records(*TALK, compaction, failed, *after) if isinstance(one, Exchange)]
    assert words(calls[-1])[0] == "Which files?"
    assert "All that was said." not in words(calls[-1])


def test_what_failed_is_not_sent_again() -> None:
    failed = said("a1", START, text("half"), finish(10, 0, 0), at=1, error={"name": "APIError"})
    aborted = said("a1", START, text("half"), finish(10, 0, 0), at=1, error={"name": "MessageAbortedError"})
    assert words(records(TALK[0], failed, TALK[2])[1]) == ["Which files?"]
    assert words(records(TALK[0], aborted, TALK[2])[1]) == ["Which files?", "half"]
    broken = said(
        "a1",
        START,
        tool("c1", status="error", error="no such file"),
        tool("c2", status="running"),
        finish(10),
    )
    results = sent(records(TALK[0], broken, TALK[2])[1])[2]["content"]
    assert [(one["content"][0]["text"], one["is_error"]) for one in results] == [
        ("no such file", True),
        ("[Tool execution was interrupted]", True),
    ]


def test_files_of_a_person_are_sent() -> None:
    picture = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,QUJD"}
    paper = {"type": "file", "mime": "application/pdf", "url": "data:application/pdf;base64,QUJD"}
    [only] = records(
        asked("u1", text("See"), picture, paper, {"type": "subtask", "prompt": "p"}), said("a1", text("Hm."))
    )
    blocks = sent(only)[0]["content"]
    assert blocks[1]["source"] == {"type": "base64", "media_type": "image/png", "data": "QUJD"}
    assert blocks[2]["mime"] == "application/pdf"
    assert blocks[3]["text"] == "The following tool was executed by the user"


def test_other_providers_are_written_in_their_formats() -> None:
    answers = [said("a1", text("Hm."), provider=provider) for provider in ("openai", "openrouter")]
    urls = [records(TALK[0], answer)[0].url for answer in answers]
    assert urls == ["/v1/responses", "/v1/chat/completions"]


def test_damage_is_told() -> None:
    found = list(read_records(export({"info": 7}, *TALK, {"parts": []}), name="s"))
    assert [type(one) for one in found] == [EntryError, Exchange, Exchange, Exchange, EntryError]
    odd = said("a1", tool("c1", status=None, time=None), finish(10), time={"created": True}, modelID=None)
    [only] = records(asked("u1", text("q")), odd)
    assert only.started is None
    with pytest.raises(UnreadableJsonError):
        list(read_records(export(*TALK)[:-40], name="s"))

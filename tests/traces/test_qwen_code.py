"""Sessions of Qwen Code: messages in Gemini's form that were sent as another API's, along a tree of lines."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from coldturn.analysis.breaks.explain import explain
from coldturn.reference.prefix.model import Fidelity, Zone
from coldturn.traces.exchange import EntryError, Exchange
from coldturn.traces.kinds import InputKind
from coldturn.traces.readers import read_exchanges, read_records
from coldturn.traces.sniff import sniff
from traces.conversations import lines

DOCUMENT = "What the file says. " * 2_000


def line(uuid: str, parent: str | None, kind: str, message: object, **more: object) -> dict[str, Any]:
    head = {"uuid": uuid, "parentUuid": parent, "sessionId": "s", "type": kind, "version": "0.15.10"}
    return {**head, "timestamp": f"2026-11-30T09:00:{int(uuid[1:]):02}Z", "message": message, **more}


def asked(number: int, text: str, parent: int | None = None) -> dict[str, Any]:
    before = number - 1 if parent is None else parent
    message = {"role": "user", "parts": [{"text": text}]}
    return line(f"u{number}", f"u{before}" if before else None, "user", message)


def said(number: int, *parts: dict[str, Any], read: int = 0, tokens: int = 100) -> dict[str, Any]:
    usage = {"promptTokenCount": tokens, "cachedContentTokenCount": read, "candidatesTokenCount": 5}
    told = {"model": "qwen3-coder", "usageMetadata": usage}
    return line(f"u{number}", f"u{number - 1}", "assistant", {"role": "model", "parts": list(parts)}, **told)


def call(number: int) -> dict[str, Any]:
    return {"functionCall": {"id": f"c{number}", "name": "read", "args": {"path": "a"}}}


def result(number: int, called: int, content: str = "x") -> dict[str, Any]:
    part = {"functionResponse": {"id": f"c{called}", "name": "read", "response": {"output": content}}}
    return line(
        f"u{number}", f"u{number - 1}", "tool_result", {"role": "user", "parts": [part]}, toolCallResult={}
    )


def system(number: int, subtype: str, **payload: object) -> dict[str, Any]:
    told = line(f"u{number}", f"u{number - 1}", "system", None, subtype=subtype, systemPayload=payload)
    del told["message"]
    return told


def calls(*told: object) -> list[Exchange]:
    return [one for one in read_records(lines(*told), name="input") if isinstance(one, Exchange)]


def messages(one: Exchange) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(one.request_body)["messages"]
    return found


def test_an_answer_is_a_call_behind_the_messages_in_front_of_it() -> None:
    told = [
        asked(1, "Where?"),
        said(2, {"text": "Look."}, call(1)),
        result(3, 1, "src"),
        said(4, {"text": "There."}, read=64),
    ]
    assert sniff(io.BytesIO(lines(*told)), "input") is InputKind.QWEN_CODE
    first, second = calls(*told)
    assert (first.url, first.fidelity) == ("/v1/chat/completions", Fidelity.MESSAGES)
    assert first.parts_missing == {Zone.TOOLS, Zone.SYSTEM}
    assert messages(second) == [
        {"role": "user", "content": "Where?"},
        {
            "role": "assistant",
            "content": "Look.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path":"a"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "src"},
    ]
    assert json.loads(second.request_body)["model"] == "qwen3-coder"
    assert second.started == 1_796_029_203.0
    usage = json.loads(second.response_body or b"")["usage"]
    assert (usage["prompt_tokens"], usage["prompt_tokens_details"], usage["completion_tokens"]) == (
        100,
        {"cached_tokens": 64},
        5,
    )


@pytest.mark.parametrize(("read", "causes"), [(9_984, []), (0, ["unknown"])])
def test_a_read_that_fell_is_a_break_whose_cause_is_not_known(read: int, causes: list[str]) -> None:
    told = [asked(1, DOCUMENT), said(2, call(1), tokens=10_000), result(3, 1)]
    told += [
        said(4, call(2), tokens=10_040, read=9_984),
        result(5, 2),
        said(6, call(3), tokens=10_080, read=read),
    ]
    content = lines(*told).replace(b"qwen3-coder", b"gpt-4.1")  # a model whose rules are known
    (lineage,) = explain(list(read_exchanges(content))).lineages
    assert [one.cause for one in lineage.breaks] == causes


def test_turns_taken_back_were_not_sent_again() -> None:
    told = [asked(1, "A"), said(2, {"text": "a"}), asked(3, "B"), said(4, {"text": "b"})]
    back = {**system(5, "rewind", truncatedCount=2), "parentUuid": "u2"}
    last = calls(*told, back, asked(6, "C"), said(7, {"text": "c"}))[-1]
    assert [one["content"] for one in messages(last)] == ["A", "a", "C"]


def test_behind_a_compression_its_history_was_sent_and_that_was_planned() -> None:
    history = [
        {"role": "user", "parts": [{"text": "So far: A."}]},
        {"role": "model", "parts": [{"text": "Good."}]},
    ]
    packed = system(3, "chat_compression", compressedHistory=history, info={})
    found = calls(
        asked(1, "A"),
        said(2, {"text": "a"}),
        packed,
        asked(4, "B"),
        said(5, {"text": "b"}),
        asked(6, "C"),
        said(7, {"text": "c"}),
    )
    assert [one["content"] for one in messages(found[1])] == ["So far: A.", "Good.", "B"]
    assert [one.compacted_from for one in found] == [None, 1, None]


@pytest.mark.parametrize(
    ("login", "url"),
    [
        ("openai", "/v1/chat/completions"),
        ("qwen-oauth", "/v1/chat/completions"),
        ("anthropic", "/v1/messages"),
        ("gemini", "/v1beta/models/qwen3-coder:generateContent"),
    ],
)
def test_telemetry_tells_which_api_was_asked(login: str, url: str) -> None:
    event = system(2, "ui_telemetry", uiEvent={"event.name": "qwen-code.api_response", "auth_type": login})
    (found,) = calls(asked(1, "A"), event, said(3, {"text": "a"}))
    assert found.url == url
    body = json.loads(found.request_body)
    assert "A" in json.dumps(body.get("contents", body.get("messages")))


def test_thoughts_are_no_text() -> None:
    thought = {"text": "Hm.", "thought": True}
    last = calls(asked(1, "A"), said(2, thought, {"text": "a"}), asked(3, "B"), said(4, {"text": "b"}))[-1]
    assert messages(last)[1]["content"] == [
        {"type": "reasoning", "text": "Hm."},
        {"type": "text", "text": "a"},
    ]


def test_answers_without_counts_are_no_calls() -> None:
    bare = {**said(2, {"text": "a"}), "usageMetadata": {}}
    assert [
        len(messages(one)) for one in calls(asked(1, "A"), bare, asked(3, "B"), said(4, {"text": "b"}))
    ] == [3]


def test_damage_and_a_circle_of_parents_are_no_end() -> None:
    content = lines(asked(1, "A")) + b'{"uuid": \n' + lines(said(2, {"text": "a"}))
    assert [type(one) for one in read_records(content)] == [EntryError, Exchange]
    circle = {**asked(1, "A"), "parentUuid": "u1"}
    assert [len(messages(one)) for one in calls(circle, said(2, {"text": "a"}))] == [1]


def test_a_transcript_of_claude_code_is_still_one() -> None:
    message = {"role": "user", "content": "Where?"}
    other = line("u1", None, "user", message)
    assert sniff(io.BytesIO(lines(other, other)), "input") is InputKind.CLAUDE_CODE

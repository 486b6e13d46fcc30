"""What a recording of requests to Gemini or to Bedrock's Converse implies, and that it replays."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli_runs import runner
from coldturn.reference.prefix.model import Surface
from coldturn.replay.playback.recording import open_recording
from coldturn.replay.sessions.implied import Script, derive_script
from coldturn.replay.sessions.provider import Outcome, read_request
from wire.aws_events import event

GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:generateContent"
CONVERSE = "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.amazon.nova-lite-v1%3A0/converse-stream"

McpTape = Callable[..., list[Any]]
WriteTape = Callable[..., Path]


def decided(script: Script) -> list[list[list[tuple[str | None, str]]]]:
    return [
        [[(call.server, call.tool) for call in step.calls] for step in turn.steps]
        for turn in script.session.turns
    ]


def gemini_recording(write_tape: WriteTape, mcp_tape: McpTape) -> Path:
    """A turn with two calls that have no ids, and a turn without any."""
    declared = [
        {"name": "Files_read_file", "description": "reads", "parameters": {"type": "OBJECT"}},
        {"name": "bash"},
    ]
    asked: dict[str, Any] = {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": declared}],
    }
    look = {"role": "user", "parts": [{"text": "look"}]}
    calls = [
        {"functionCall": {"name": "Files_read_file", "args": {"path": "a"}}, "thoughtSignature": "s"},
        {"functionCall": {"name": "bash", "args": {"cmd": "ls"}}},
    ]
    called = {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "I look."}, *calls]}
    results = {
        "role": "user",
        "parts": [
            {"functionResponse": {"name": "Files_read_file", "response": {"output": "A"}}},
            {"functionResponse": {"name": "bash", "response": {"output": "a b"}}},
        ],
    }
    done = {"role": "model", "parts": [{"text": "Done."}]}
    thanks = {"role": "user", "parts": [{"text": "thanks"}]}

    def reply(content: dict[str, Any]) -> dict[str, Any]:
        return {"candidates": [{"content": content, "finishReason": "STOP"}], "modelVersion": "g"}

    welcome = reply({"role": "model", "parts": [{"text": "Welcome."}]})
    return write_tape(
        [
            (0.0, GEMINI, {**asked, "contents": [look]}, reply(called)),
            *mcp_tape([(3.0, "read_file", {"path": "a"}, "A")], at=1.0),
            (4.0, GEMINI, {**asked, "contents": [look, called, results]}, reply(done)),
            (90.0, GEMINI, {**asked, "contents": [look, called, results, done, thanks]}, welcome),
        ]
    )


@pytest.mark.requirement("REP-2")
def test_gemini(write_tape: WriteTape, mcp_tape: McpTape) -> None:
    script = derive_script(open_recording(gemini_recording(write_tape, mcp_tape)))
    session = script.session
    assert [turn.user for turn in session.turns] == ["look", "thanks"]
    assert [turn.answer for turn in session.turns] == ["Done.", "Welcome."]
    assert decided(script) == [[[("Files", "read_file"), (None, "bash")]], []]
    assert session.turns[0].steps[0].text == "I look."
    assert session.turns[0].steps[0].calls[1].result == '{"output":"a b"}'
    assert (session.spec.surface, session.spec.model) == (Surface.RESPONSES, "gemini-3-pro")
    assert session.spec.instructions == "Be brief."
    assert [(tool.name, dict(tool.input_schema)) for tool in session.spec.local_tools] == [
        ("bash", {"type": "object"})
    ]
    assert script.notes == (
        "requests of generate_content are only read: the replay renders responses instead",
    )


def converse_recording(write_tape: WriteTape, mcp_tape: McpTape) -> Path:
    """A streamed turn with a call of an MCP server's tool and one of the agent's own, which failed."""
    tools = [
        {"toolSpec": {"name": "bash", "description": "runs", "inputSchema": {"json": {"title": "b"}}}},
        {"cachePoint": {"type": "default"}},
    ]
    asked: dict[str, Any] = {
        "system": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
        "toolConfig": {"tools": tools},
    }
    look = {"role": "user", "content": [{"text": "look"}, {"cachePoint": {"type": "default"}}]}
    uses = [
        {"toolUse": {"toolUseId": "t1", "name": "Files_read_file", "input": {"path": "a"}}},
        {"toolUse": {"toolUseId": "t2", "name": "bash", "input": {}}},
    ]
    results = [
        {"toolResult": {"toolUseId": "t1", "content": [{"text": "A"}], "status": "success"}},
        {"toolResult": {"toolUseId": "t2", "content": [{"json": {"code": 1}}], "status": "error"}},
    ]
    second = [look, {"role": "assistant", "content": uses}, {"role": "user", "content": results}]
    calling = b"".join(
        event(kind, payload)
        for kind, payload in [
            ("messageStart", {"role": "assistant"}),
            ("contentBlockStart", _started(0, "t1", "Files_read_file")),
            ("contentBlockDelta", _argued(0, '{"path":')),
            ("contentBlockDelta", _argued(0, '"a"}')),
            ("contentBlockStart", _started(1, "t2", "bash")),
            ("messageStop", {"stopReason": "tool_use"}),
        ]
    )
    answering = event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "It is A."}})
    return write_tape(
        [
            (0.0, CONVERSE, {**asked, "messages": [look]}, calling),
            *mcp_tape([(3.0, "read_file", {"path": "a"}, "A")], at=1.0),
            (4.0, CONVERSE, {**asked, "messages": second}, answering),
        ]
    )


def _started(index: int, call_id: str, name: str) -> dict[str, Any]:
    return {"contentBlockIndex": index, "start": {"toolUse": {"toolUseId": call_id, "name": name}}}


def _argued(index: int, piece: str) -> dict[str, Any]:
    return {"contentBlockIndex": index, "delta": {"toolUse": {"input": piece}}}


@pytest.mark.requirement("REP-2")
def test_converse_streamed(write_tape: WriteTape, mcp_tape: McpTape) -> None:
    script = derive_script(open_recording(converse_recording(write_tape, mcp_tape)))
    session = script.session
    assert decided(script) == [[[("Files", "read_file"), (None, "bash")]]]
    failed = session.turns[0].steps[0].calls[1]
    assert (failed.result, failed.is_error) == ('{"code":1}', True)
    assert session.turns[0].answer == "It is A."
    assert (session.spec.surface, session.spec.model) == (Surface.RESPONSES, "us.amazon.nova-lite-v1:0")
    assert session.spec.instructions == "Be brief."
    assert dict(session.spec.local_tools[0].input_schema) == {"title": "b"}
    assert script.notes == ("requests of converse are only read: the replay renders responses instead",)


@pytest.mark.parametrize("made", [gemini_recording, converse_recording])
def test_such_a_recording_replays(
    made: Callable[[WriteTape, McpTape], Path],
    write_tape: WriteTape,
    mcp_tape: McpTape,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ran = runner(capsys)("replay", str(made(write_tape, mcp_tape)))
    assert ran.code == 0
    assert "turn  0 step  1" in ran.out
    assert "no break" in ran.out
    assert "the replay renders responses instead" in ran.err


def test_underscores_and_ids_of_gemini_are_read() -> None:
    body = (
        b'{"model":"models/g","system_instruction":{"parts":[{"text":"S"}]},'
        b'"tools":{"function_declarations":[{"name":"f","parameters_json_schema":{"title":"t"}}]},'
        b'"contents":[{"parts":[{"function_response":{"id":"c1","name":"f","response":{}}}]}]}'
    )
    asked = read_request(Surface.GENERATE_CONTENT, body)
    assert (asked.model, asked.system, asked.answered) == ("g", "S", ("c1",))
    assert dict(asked.results) == {"c1": Outcome("{}")}
    assert [(tool.name, dict(tool.schema)) for tool in asked.tools] == [("f", {"title": "t"})]


def test_results_of_gemini_without_ids_are_told_apart_by_their_places() -> None:
    result = {"functionResponse": {"name": "f", "response": {"n": 1}}}
    other = {"functionResponse": {"name": "f", "response": {"n": 2}}}
    called = {"role": "model", "parts": [{"functionCall": {"name": "f"}}]}
    contents = [{"parts": [{"text": "go"}]}, called, {"parts": [result]}, called, {"parts": [other, result]}]
    asked = read_request(Surface.GENERATE_CONTENT, json.dumps({"contents": contents}).encode())
    assert [one.text for one in asked.results.values()] == ['{"n":1}', '{"n":2}', '{"n":1}']
    assert len(asked.answered) == 2

"""What a recording alone implies: connections, turns, decisions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coldturn.reference.prefix.model import Surface
from coldturn.replay.errors import NothingToReplayError
from coldturn.replay.playback.endpoints import connection_id, endpoints_of
from coldturn.replay.playback.recording import open_recording
from coldturn.replay.sessions.implied import IDLE_SECONDS, NO_USER_TEXT, Script, derive_script
from coldturn.replay.sessions.recorded_calls import RecordedCalls

CHAT = "https://api.openai.com/v1/chat/completions"
RESPONSES = "https://api.openai.com/v1/responses"
ANTHROPIC = "https://api.anthropic.com/v1/messages"

McpTape = Callable[..., list[Any]]
WriteTape = Callable[..., Path]


def _script(path: Path, idle_seconds: float = IDLE_SECONDS) -> Script:
    return derive_script(open_recording(path), idle_seconds=idle_seconds)


def _decided(script: Script) -> list[list[list[tuple[str | None, str]]]]:
    return [
        [[(call.server, call.tool) for call in step.calls] for step in turn.steps]
        for turn in script.session.turns
    ]


def _chat_reply(text: str | None, *calls: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for id_, name, arguments in calls
        ]
    return {"id": "c", "model": "gpt-4o", "choices": [{"index": 0, "message": message}]}


def _function(name: str) -> dict[str, Any]:
    return {"name": name, "description": f"{name}!", "parameters": {"type": "object", "title": name}}


def _chat(messages: list[dict[str, Any]]) -> dict[str, Any]:
    tools = [{"type": "function", "function": _function(name)} for name in ("files_read_file", "bash")]
    return {"model": "gpt-4o", "messages": messages, "tools": tools}


@pytest.mark.requirement("REP-2")
def test_turns_and_decisions_come_from_the_model_exchanges(write_tape: WriteTape, mcp_tape: McpTape) -> None:
    system = {"role": "system", "content": "Be brief."}
    first = {"role": "user", "content": "look"}
    calls = [("c1", "files_read_file", {"path": "a"}), ("c2", "bash", {"cmd": "ls"})]
    decided = _chat_reply("Looking.", *calls)
    results = [
        {"role": "tool", "tool_call_id": "c1", "content": "A"},
        {"role": "tool", "tool_call_id": "c2", "content": "a b c"},
    ]
    message = decided["choices"][0]["message"]
    second = [system, first, message, *results]
    thanks = {"role": "user", "content": "thanks"}
    third: list[dict[str, Any]] = [*second, {"role": "assistant", "content": "Done."}, thanks]
    path = write_tape(
        [
            *mcp_tape(),
            (10.0, CHAT, _chat([system, first]), decided),
            *mcp_tape([(11.0, "read_file", {"path": "a"}, "A")])[2:],
            (13.0, CHAT, _chat(second), _chat_reply("Done.")),
            (100.0, CHAT, _chat(third), _chat_reply("Welcome.")),
        ]
    )
    script = _script(path)
    session = script.session
    (bash,) = session.spec.local_tools
    assert [turn.user for turn in session.turns] == ["look", "thanks"]
    assert [turn.answer for turn in session.turns] == ["Done.", "Welcome."]
    assert _decided(script) == [[[("Files", "read_file"), (None, "bash")]], []]
    assert session.turns[0].steps[0].calls[1].result == "a b c"
    assert session.turns[0].steps[0].text == "Looking."
    assert script.unmapped == 1
    assert session.spec.surface is Surface.CHAT_COMPLETIONS
    assert session.spec.model == "gpt-4o"
    assert session.spec.instructions == "Be brief."
    assert (bash.name, bash.description, dict(bash.input_schema)) == (
        "bash",
        "bash!",
        {"type": "object", "title": "bash"},
    )
    assert [turn.after for turn in session.turns] == [pytest.approx(10.0), pytest.approx(90.0)]


@pytest.mark.requirement("REP-2")
def test_anthropic_streamed(write_tape: WriteTape, mcp_tape: McpTape) -> None:
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "m", "model": "claude", "role": "assistant",
         "type": "message", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block":
         {"type": "tool_use", "id": "t1", "name": "mcp__Files__read_file", "input": {}}},
        {"type": "content_block_delta", "index": 0, "delta":
         {"type": "input_json_delta", "partial_json": '{"path":'}},
        {"type": "content_block_delta", "index": 0, "delta":
         {"type": "input_json_delta", "partial_json": '"a"}'}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]  # fmt: skip
    stream = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    asked = {"model": "claude", "max_tokens": 9, "system": [{"type": "text", "text": "S"}]}
    user = {"role": "user", "content": [{"type": "text", "text": "look"}]}
    use = {"type": "tool_use", "id": "t1", "name": "mcp__Files__read_file", "input": {"path": "a"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "A"}]}
    nag = {"type": "text", "text": "<system-reminder>be nice</system-reminder>"}
    second = [user, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result, nag]}]
    final = {"id": "m2", "type": "message", "role": "assistant", "model": "claude",
             "content": [{"type": "text", "text": "It is A."}], "usage": {}}  # fmt: skip
    path = write_tape(
        [
            (0.0, ANTHROPIC, {**asked, "messages": [user]}, stream),
            *mcp_tape([(3.0, "read_file", {"path": "a"}, "A")], at=1.0),
            (4.0, ANTHROPIC, {**asked, "messages": second}, final),
        ]
    )
    script = _script(path)
    assert _decided(script) == [[[("Files", "read_file")]]]  # the reminder behind the result begins no turn
    assert script.session.turns[0].answer == "It is A."
    assert script.session.spec.surface is Surface.MESSAGES
    assert script.session.spec.instructions == "S"
    assert script.unmapped == 0


@pytest.mark.requirement("REP-2")
def test_responses_with_a_stored_conversation(write_tape: WriteTape, mcp_tape: McpTape) -> None:
    call = {"type": "function_call", "call_id": "f1", "name": "read_file", "arguments": '{"path":"a"}'}
    text = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A it is."}]}
    tools = [{"type": "function", **_function("read_file")}]
    first = {"model": "gpt-5", "instructions": "I", "input": "look", "tools": tools}
    output = {"type": "function_call_output", "call_id": "f1", "output": "A"}
    second = {**first, "input": [output], "previous_response_id": "r1"}
    path = write_tape(
        [
            *mcp_tape(),
            (2.0, RESPONSES, first, {"id": "r1", "object": "response", "model": "gpt-5", "output": [call]}),
            *mcp_tape([(3.0, "read_file", {"path": "a", "encoding": "utf-8"}, "A")])[2:],
            (4.0, RESPONSES, second, {"id": "r2", "object": "response", "model": "gpt-5", "output": [text]}),
        ]
    )
    script = _script(path)
    (turn,) = script.session.turns
    assert (turn.user, turn.answer) == ("look", "A it is.")
    # what the agent sent to the server is what the recording can answer
    assert dict(turn.steps[0].calls[0].arguments) == {"path": "a", "encoding": "utf-8"}
    assert script.session.spec.surface is Surface.RESPONSES


@pytest.mark.requirement("REP-2")
def test_without_model_exchanges_calls_are_decisions_and_idle_gaps_part_turns(
    write_tape: WriteTape, mcp_tape: McpTape
) -> None:
    calls = [
        (1.0, "read_file", {"n": 1}, "1"),
        (5.0, "read_file", {"n": 2}, "2"),
        (90.0, "read_file", {"n": 3}, "3"),
    ]
    path = write_tape(mcp_tape(calls))
    script = _script(path)
    assert [len(turn.steps) for turn in script.session.turns] == [2, 1]
    assert {turn.user for turn in script.session.turns} == {NO_USER_TEXT}
    assert script.session.spec.surface is Surface.RESPONSES
    assert [len(turn.steps) for turn in _script(path, idle_seconds=100).session.turns] == [3]


@pytest.mark.requirement("REP-2")
def test_a_server_first_heard_of_later_connects_before_that_turn(
    write_tape: WriteTape, mcp_tape: McpTape
) -> None:
    late = "http://stdio.late.invalid/mcp"
    path = write_tape(
        [
            *mcp_tape([(1.0, "read_file", {}, "1")]),
            *mcp_tape([(200.0, "later", {}, "2")], url=late, at=199.0, tools=["later"]),
        ],
        servers={late: "late"},
    )
    script = _script(path)
    assert script.session.late == ("late",)
    assert [turn.connect for turn in script.session.turns] == [(), ("late",)]


def test_side_calls_and_retries_are_left_out_and_told(write_tape: WriteTape, mcp_tape: McpTape) -> None:
    asked = _chat([{"role": "user", "content": "look"}])
    title = {"model": "mini", "messages": [{"role": "user", "content": "Name this conversation."}]}
    failed = {"error": {"type": "overloaded", "message": "busy"}}
    path = write_tape(
        [
            *mcp_tape(),
            (1.0, CHAT, title, _chat_reply("A title")),
            (2.0, CHAT, asked, failed),
            (3.0, CHAT, asked, _chat_reply("lost")),
            (4.0, CHAT, asked, _chat_reply("Seen.")),
            (5.0, CHAT, _chat([*asked["messages"], {"role": "assistant", "content": "Seen."},
                               {"role": "user", "content": "and now?"}]), _chat_reply("Now.")),
        ]
    )  # fmt: skip
    script = _script(path)
    assert [turn.user for turn in script.session.turns] == ["look", "and now?"]
    assert [turn.answer for turn in script.session.turns] == ["Seen.", "Now."]
    assert any("1 model requests of sub-agents" in note for note in script.notes)
    assert any("1 repeated" in note for note in script.notes)


def test_a_conversation_that_began_before_the_recording_is_told(write_tape: WriteTape) -> None:
    history = [
        {"role": "user", "content": "old"},
        {"role": "assistant", "content": "answered"},
        {"role": "user", "content": "new"},
    ]
    script = _script(write_tape([(0.0, CHAT, _chat(history), _chat_reply("Yes."))]))
    assert [turn.user for turn in script.session.turns] == ["new"]
    assert any("began before the recording" in note for note in script.notes)


def test_calls_through_our_own_meta_tools_are_calls_of_what_they_name(
    write_tape: WriteTape, mcp_tape: McpTape
) -> None:
    user = {"role": "user", "content": "look"}
    steps: list[tuple[str, dict[str, Any], str]] = [
        ("mcp_list_tools", {"server": "Files"}, "read_file"),
        ("mcp_call_tool", {"server": "Files", "tool": "read_file", "input": {"path": "a"}}, "A"),
    ]
    messages: list[dict[str, Any]] = [user]
    tape = mcp_tape()
    for number, (name, arguments, text) in enumerate(steps):
        reply = _chat_reply(None, (f"c{number}", name, arguments))
        tape.append((1.0 + number, CHAT, _chat(list(messages)), reply))
        messages += [
            reply["choices"][0]["message"],
            {"role": "tool", "tool_call_id": f"c{number}", "content": text},
        ]
    tape += mcp_tape([(2.5, "read_file", {"path": "a"}, "A")])[2:]
    tape.append((3.0, CHAT, _chat(messages), _chat_reply("A.")))
    script = _script(write_tape(tape))
    assert _decided(script) == [[[("Files", "read_file")]]]
    assert script.unmapped == 0


@pytest.mark.requirement("REP-2")
def test_names_map_exactly_then_by_server_prefix_then_by_a_unique_suffix(
    write_tape: WriteTape, mcp_tape: McpTape
) -> None:
    other = "https://mcp.other.example/mcp"
    path = write_tape(
        [*mcp_tape(), *mcp_tape(url=other, tools=["read_file", "search"])], servers={other: "web"}
    )
    recording = open_recording(path)
    calls = RecordedCalls(recording, endpoints_of(recording))
    assert calls.candidates("write_file") == [("Files", "write_file")]
    assert calls.candidates("read_file") == [("Files", "read_file"), ("web", "read_file")]
    assert calls.candidates("mcp__web__read_file") == [("web", "read_file")]
    assert calls.candidates("files_read_file") == [("Files", "read_file")]
    assert calls.candidates("mcp-other-example.search") == [("web", "search")]
    assert calls.candidates("whatever/search") == [("web", "search")]
    assert calls.candidates("whatever/read_file") == []  # two servers have it
    assert calls.candidates("research") == []
    assert calls.candidates("bash") == []


def test_endpoints_count_sessions_calls_and_lists(write_tape: WriteTape, mcp_tape: McpTape) -> None:
    path = write_tape([*mcp_tape([(1.0, "read_file", {}, "1")]), *mcp_tape(at=2.0)])
    (endpoint,) = endpoints_of(open_recording(path))
    assert (endpoint.id, endpoint.sessions, endpoint.calls, endpoint.lists) == ("Files", 2, 1, 2)
    assert connection_id("My server: (v2) " + "x" * 40) == "My-server-v2-xxxxxxxxxxxxxxxxxxx"
    assert connection_id("???") == "server"


def test_a_recording_with_nothing_to_follow_says_so(write_tape: WriteTape) -> None:
    path = write_tape([(0.0, "https://example.org/x", {"a": 1}, {"b": 2})])
    with pytest.raises(NothingToReplayError, match="neither a model request"):
        _script(path)

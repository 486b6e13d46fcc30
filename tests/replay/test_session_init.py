"""`coldturn session init`: the script of a recording as a file that replays like the recording alone."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldturn.reference.policy import POLICIES
from coldturn.reference.spec import AgentSpec, ConnectionSpec, LocalToolSpec
from coldturn.replay.cli.app import main
from coldturn.replay.runs.runner import ReplayOptions, replay_recording
from coldturn.replay.sessions.loading import open_replayable, read_session
from coldturn.replay.sessions.session import Decision, Session, Step, Turn
from coldturn.replay.sessions.session_file import session_toml

McpTape = Callable[..., list[Any]]
WriteTape = Callable[..., Path]
FILES, WEB = "http://stdio.files.invalid/mcp", "https://web.example/mcp"
MESSAGES = "https://api.anthropic.com/v1/messages"
TOOL = {
    "name": "Bash",
    "description": "Runs it.\nIn a shell: 'quoted', \"too\", \\ and '''.",
    "input_schema": {
        "type": "object",
        "properties": {"timeout": {"type": ["integer", "null"], "default": None}},
    },
}


def _run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["session", *arguments])
    assert isinstance(left.value.code, int)
    return left.value.code


def _exchanges(mcp_tape: McpTape) -> list[Any]:
    """A model that runs a tool of its own with a null among the arguments, then one of a server's."""

    def asked(*messages: object) -> dict[str, object]:
        return {"model": "claude-opus-5", "max_tokens": 9, "system": "Be kind.\n", "tools": [TOOL],
                "messages": list(messages)}  # fmt: skip

    def answer(*content: object, stop: str = "tool_use") -> dict[str, object]:
        return {"id": "m", "type": "message", "role": "assistant", "model": "claude-opus-5",
                "content": list(content), "stop_reason": stop,
                "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip

    user = {"role": "user", "content": "What is here?\n\tAnd '''there'''?"}
    bash = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"timeout": None, "command": "ls"}}
    listed = {"type": "tool_result", "tool_use_id": "t1", "content": "a\r\nb\x07\n"}
    read = {"type": "tool_use", "id": "t2", "name": "mcp__files__read_file", "input": {"path": "a"}}
    text = {"type": "tool_result", "tool_use_id": "t2", "content": "A"}
    first = {"role": "assistant", "content": [bash]}
    second = {"role": "assistant", "content": [read]}
    handshake = mcp_tape([(12.0, "read_file", {"path": "a"}, "A")], url=FILES)
    return [
        *handshake[:2],
        (5.0, MESSAGES, asked(user), answer(bash)),
        (10.0, MESSAGES, asked(user, first, {"role": "user", "content": [listed]}), answer(read)),
        handshake[2],
        (15.0, MESSAGES, asked(user, first, {"role": "user", "content": [listed]}, second,
                               {"role": "user", "content": [text]}),
         answer({"type": "text", "text": "Both."}, stop="end_turn")),
    ]  # fmt: skip


def _same_trace(cassette: Path, folder: Path) -> Session:
    """Replay a cassette alone and by the file made from it; every policy must write the same bytes."""
    policies = [POLICIES["naive"], POLICIES["stable"]]
    alone, by_file = folder / "alone", folder / "by-file"
    before = replay_recording(cassette, policies, ReplayOptions(out=alone))
    assert _run("init", str(cassette), "-o", str(folder / "script.session.toml")) == 0
    label = Path(before.policies[0].trace or "").name.partition(".naive")[0]
    after = replay_recording(
        folder / "script.session.toml", policies, ReplayOptions(out=by_file), label=label
    )
    traces = [{path.name: path.read_bytes() for path in one.iterdir()} for one in (alone, by_file)]
    assert len(traces[0]) == 2
    assert traces[0] == traces[1]
    assert [one.playback for one in before.policies] == [one.playback for one in after.policies]
    return read_session(folder / "script.session.toml")


@pytest.mark.requirement("REP-2")
def test_a_model_and_its_tools(write_tape: WriteTape, mcp_tape: McpTape, tmp_path: Path) -> None:
    session = _same_trace(write_tape(_exchanges(mcp_tape), servers={FILES: "files"}), tmp_path)
    assert session.cassette == "tape.jsonl"
    assert session.spec.instructions == "Be kind.\n"
    (turn,) = session.turns
    assert [(call.server, call.tool) for step in turn.steps for call in step.calls] == [
        (None, "Bash"),
        ("files", "read_file"),
    ]
    assert turn.steps[0].calls[0].arguments == {"timeout": None, "command": "ls"}
    assert turn.steps[0].calls[0].result == "a\r\nb\x07\n"
    assert session.spec.local_tools[0].input_schema == TOOL["input_schema"]


@pytest.mark.requirement("REP-2", "REP-3")
def test_calls_alone_and_a_server_that_lists_other_tools_by_then(
    write_tape: WriteTape, mcp_tape: McpTape, tmp_path: Path
) -> None:
    calls = [(1.0, "read_file", {"path": "a"}, "A"), (200.0, "read_file", {"path": "b"}, "B")]
    again = mcp_tape(url=FILES, at=100.0, tools=("read_file", "write_file", "rename_file"))[1]
    late = mcp_tape(
        [(201.0, "search", {"q": ["x", 1.5, True]}, "found")], url=WEB, at=150.0, tools=("search",)
    )
    exchanges = sorted([*mcp_tape(calls, url=FILES), again, *late], key=lambda exchange: exchange[0])
    session = _same_trace(write_tape(exchanges, servers={FILES: "files", WEB: "web"}), tmp_path)
    assert session.late == ("web",)
    assert [turn.connect for turn in session.turns] == [(), ("web",)]


@pytest.mark.requirement("REP-2")
def test_a_public_cassette(corpus: Path, tmp_path: Path) -> None:
    session = _same_trace(next((corpus / "vcr-mcp").glob("*temporal*.yaml")), tmp_path)
    assert session.spec.connections[0].id == "DeepWiki"


def test_the_file_stands_beside_the_recording_and_is_taken_from_there(
    write_tape: WriteTape, mcp_tape: McpTape, capsys: pytest.CaptureFixture[str]
) -> None:
    cassette = write_tape(mcp_tape([(1.0, "read_file", {"path": "a"}, "A")]))
    assert _run("init", str(cassette)) == 0
    path = cassette.with_name("tape.session.toml")
    captured = capsys.readouterr()
    assert captured.out == f"{path}\n"
    assert "1 turns, 1 calls, 1 servers" in captured.err
    path.write_text(path.read_text().replace("(The recording holds no words", "(Changed: no words"))
    opened = open_replayable(cassette)
    assert opened.script.session.turns[0].user.startswith("(Changed")
    assert opened.session_file == str(path)


def test_a_file_that_is_there_is_left_alone(
    write_tape: WriteTape, mcp_tape: McpTape, capsys: pytest.CaptureFixture[str]
) -> None:
    cassette = write_tape(mcp_tape([(1.0, "read_file", {}, "A")]))
    path = cassette.with_name("tape.session.toml")
    path.write_text("mine")
    assert _run("init", str(cassette)) == 2
    assert "it exists already" in capsys.readouterr().err
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["x.session.toml"], "is no recording"),
        (["x.jsonl", "-o", "script.toml"], "end it in .session.toml"),
        (["missing.jsonl"], "no such file"),
    ],
)
def test_wrong_usage_is_one_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run("init", *arguments) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert "Traceback" not in captured.err


# Half characters cannot be said in TOML outside of JSON texts.
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(
    ["'''", '"""', "a\nb'", "\n", "\\", "a\r\nb", "\x7f\n", "\u2028\n", "a\n'''\n"]
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(st.text(max_size=8) | _TEXTS, _JSON, max_size=4)


@settings(max_examples=150, deadline=None)
@given(text=_TEXTS, arguments=_OBJECTS, schema=_OBJECTS, after=st.floats(0, 1e9))
def test_what_is_written_reads_as_the_same(
    text: str, arguments: dict[str, Any], schema: dict[str, Any], after: float
) -> None:
    call = Decision(tool="t", arguments=arguments, result=text, reminder={text: text})
    tool = LocalToolSpec(name="t", description=text, input_schema=schema)
    spec = AgentSpec(connections=(ConnectionSpec(id="s"),), local_tools=(tool,), instructions=text)
    turns = (
        Turn(user=text, steps=(Step(text=text, calls=(call,), after=after),), answer=text, connect=("s",)),
        Turn(user=text),
    )
    session = Session(
        cassette=text, start=datetime(2026, 1, 2, 3, 4, 5, 678901, UTC), clocked=True, spec=spec, turns=turns,
        late=("s",), memory=text,
    )  # fmt: skip
    assert Session.model_validate(tomllib.loads(session_toml(session))) == session

"""What `coldturn run` writes down: recorded, explained, replayed."""

from __future__ import annotations

import json
import logging
import re
import shutil
from pathlib import Path

import pytest
import xxhash

from coldturn.reference.policy import POLICIES
from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire.model import RENDERED_SURFACES
from coldturn.replay.cli.app import main
from coldturn.replay.runs.runner import replay
from coldturn.replay.runs.single import ReplayOptions, requests_file
from coldturn.replay.sessions.loading import open_replayable
from coldturn.traces import names
from coldturn.traces.span_reader import read_spans
from fake_provider import Refuse, Say, serving
from live_program import AGENT, KEY, LOCAL_TOOLS, TOY, TOYS, Launch, ask

WORK = (
    Say(
        ["I ", "add."],
        [
            ("toys__add", {"a": 40, "b": 2}),
            ("todo_write", {"todos": [{"text": "add 40 and 2", "status": "in_progress"}]}),
        ],
        written=900,
    ),
    Say(["It is ", "42."], [("remember", {"fact": "asked for 42"})], read=900),
    Say(["Done."], read=1000),
    Say([], [("mcp_call_tool", {"server": "toys", "tool": "add", "input": {"a": 1}})], usage=False),
    Say(["That ", "failed."]),
)


@pytest.mark.requirement("REC-1", "REC-6", "REC-7")
@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
def test_a_conversation_recorded_explained_and_replayed(
    launch: Launch,
    tmp_path: Path,
    surface: Surface,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    toy = tmp_path / "toy.py"
    shutil.copy(TOY, toy)
    agent = AGENT.format(surface=surface.value) + TOYS.replace(str(TOY), str(toy)) + LOCAL_TOOLS
    tape, trace = tmp_path / "tape.jsonl", tmp_path / "trace.jsonl"
    with serving(*WORK) as provider:
        ended = launch(
            provider,
            "--record",
            str(tape),
            "--trace",
            str(trace),
            agent=agent,
            lines=["Add 40 and 2.", "", "And now 1."],
        )
    assert ended.code == 0
    assert ended.out == "I add.\nIt is 42.\nDone.\nThat failed.\n"
    notes = ended.notes.splitlines()
    assert "  toys: 4 tools" in notes
    assert "  toys add … 2 bytes" in notes
    assert "  toys add … failed (invalid_arguments), " in ended.notes
    first, second = [line for line in notes if line.startswith("turn ")]
    assert first == "turn 1: 3 steps; tokens reported: input 3,100, read 1,900, written 900; breaks: none"
    reported = "input 100 (in 1 of 2 steps), read 0 (in 1 of 2 steps), written 0 (in 1 of 2 steps)"
    broken = "1 unplanned (memory_injection)"
    assert second == f"turn 2: 2 steps; tokens reported: {reported}; breaks: {broken}"

    # The bytes that were built are the bytes that were sent.
    chats = [span for span in read_spans(trace) if names.WIRE_HASH in span.attributes]
    chats.sort(key=lambda span: span.start)
    assert [span.attributes[names.WIRE_HASH] for span in chats] == [
        xxhash.xxh3_128_hexdigest(body) for body in provider.bodies
    ]
    for body in provider.bodies:
        assert json.loads(body)["stream"] is True

    # The todo list shows at the next step, the memory from the next turn on.
    assert b"[~] add 40 and 2" in provider.bodies[1]
    assert b"- likes sums\\n- asked for 42\\n" not in provider.bodies[2]
    assert b"- likes sums\\n- asked for 42\\n" in provider.bodies[3]

    # No key anywhere.
    assert KEY not in caplog.text
    for path in (tape, trace):
        assert KEY.encode() not in path.read_bytes()
        assert b"x-api-key" not in path.read_bytes()
        assert b"Bearer" not in path.read_bytes()

    # Explained and replayed, with provider and server gone.
    toy.unlink()
    with pytest.raises(SystemExit) as left:
        main(["explain", str(tape), "--json"])
    assert left.value.code == 0
    (lineage,) = json.loads(capsys.readouterr().out)["lineages"]
    assert lineage["requests"] == 5
    assert (lineage["surface"], lineage["fidelity"]) == (surface.value, "wire")
    causes = [one["cause"] for one in lineage["breaks"] if one["verdict"] in ("broken", "unknown")]
    assert causes == ["memory_injection"]
    with pytest.raises(SystemExit) as left:
        main(["replay", str(tape), "--json"])
    assert left.value.code == 0
    (recording,) = json.loads(capsys.readouterr().out)["recordings"]
    assert recording["connections"] == [{"server": "toys", "sessions": 1, "calls": 1, "lists": 1}]
    assert recording["policies"][0]["playback"]["unplayed"] == 0
    assert recording["policies"][0]["turns"] == 2
    # What the replay follows: the user's own words, and what the program's own tools had answered.
    turns = open_replayable(tape).script.session.turns
    assert [turn.user for turn in turns] == ["Add 40 and 2.", "And now 1."]
    decided = [(call.server, call.tool, call.result) for step in turns[0].steps for call in step.calls]
    assert decided == [
        ("toys", "add", ""),
        (None, "todo_write", "The todo list has 1 items, 0 of them completed."),
        (None, "remember", "Remembered; it is shown from the next turn on."),
    ]


CLOCK = re.compile(rb"Current date and time: [-0-9]+ [:0-9]+ UTC")


@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
def test_a_replay_under_the_same_policy_makes_the_same_requests(
    launch: Launch, tmp_path: Path, surface: Surface
) -> None:
    tape = tmp_path / "tape.jsonl"
    more = 'preload = false\neager = ["count"]\ngrants = ["add", "count"]\n'
    skill = '[[spec.skills]]\nname = "s"\ndescription = "d"\nbody = "b"\n'
    agent = AGENT.format(surface=surface.value) + TOYS + more + LOCAL_TOOLS + skill
    pair = {"server": "toys", "tool": "add"}
    script = (
        Say([], [("mcp_list_tools", {"server": "toys"})]),
        Say([], [("mcp_describe_tool", pair)]),
        Say(["Now."], [("mcp_call_tool", {**pair, "input": {"a": 40, "b": 2}}), ("toys__count", {})]),
        Say([], [("todo_write", {"todos": [{"text": "rest", "status": "pending"}]})]),
        Say(["42"], [("remember", {"fact": "likes 42"})]),
        Say(["Done."]),
        Say([], [("todo_write", {"todos": "none"}), ("remember", {"fact": "and 43"})]),
        Say(["Bye."]),
        Say(["Again."]),
    )
    with serving(*script) as provider:
        ended = launch(provider, "--record", str(tape), agent=agent, lines=["one", "two", "three"])
    assert ended.code == 0
    options = ReplayOptions(out=tmp_path / "out", requests=frozenset({"stable"}))
    report = replay([tape], [POLICIES["stable"]], options)
    assert report.errors == []
    written = requests_file(tmp_path / "out", "tape", "stable").read_bytes().splitlines()
    replayed = [line.partition(b'"request":')[2][:-1] for line in written]
    streamed = {
        Surface.CHAT_COMPLETIONS: b',"stream":true,"stream_options":{"include_usage":true}',
    }.get(surface, b',"stream":true')
    sent = [body.replace(streamed, b"", 1) for body in provider.bodies]
    assert [CLOCK.sub(b"", body) for body in replayed] == [CLOCK.sub(b"", body) for body in sent]


def test_what_a_header_holds_must_be_an_agent(
    launch: Launch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tape = tmp_path / "tape.jsonl"
    ask(launch, Say(["ok"]), options=["--record", str(tape)])
    text = tape.read_text(encoding="utf-8")
    assert '"agent":{"spec":{"name":"adder"' in text
    tape.write_text(text.replace('"name":"adder"', '"nmae":"adder"', 1), encoding="utf-8")
    with pytest.raises(SystemExit) as left:
        main(["replay", str(tape)])
    assert left.value.code == 2
    assert "agent.spec.nmae in its header" in capsys.readouterr().err


def test_under_stable_nothing_breaks(
    launch: Launch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tape = tmp_path / "tape.jsonl"
    calls = [("todo_write", {"todos": [{"text": f"part {n}", "status": "pending"} for n in range(3)]})]
    script = [Say(["a"], calls), Say(["b"]), Say([], calls), Say(["c"]), Say(["d"])]
    with serving(*script) as provider:
        ended = launch(
            provider,
            "--record",
            str(tape),
            agent=AGENT.format(surface="messages") + LOCAL_TOOLS,
            lines=["one", "two", "three"],
        )
    assert ended.code == 0
    assert ended.notes.count("breaks: none") == 3
    with pytest.raises(SystemExit):
        main(["explain", str(tape), "--json"])
    (lineage,) = json.loads(capsys.readouterr().out)["lineages"]
    assert lineage["requests"] == 5
    assert [one for one in lineage["breaks"] if one["verdict"] != "broken_harmless"] == []


def test_a_recorded_error_holds_no_key(launch: Launch, tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    echo = json.dumps({"error": {"message": f"Bad key {KEY}"}})
    ask(launch, Refuse(401, echo), options=["--record", str(tape)])
    lines = [json.loads(line) for line in tape.read_text(encoding="utf-8").splitlines()]
    assert lines[1]["response"]["status"]["code"] == 401
    assert lines[1]["response"]["body"]["string"] == echo.replace(KEY, "*" * len(KEY))


def test_a_recording_is_not_overwritten(launch: Launch, tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    tape.write_text("mine", encoding="utf-8")
    with serving() as provider:
        ended = launch(provider, "--message", "Hi", "--record", str(tape))
    assert ended.code == 2
    assert "exists already" in ended.notes
    assert tape.read_text(encoding="utf-8") == "mine"
    assert provider.bodies == []


def test_a_recording_that_cannot_be_written_is_said(launch: Launch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with serving() as provider:
        ended = launch(provider, "--message", "Hi", "--record", str(tmp_path / "file" / "tape.jsonl"))
    assert ended.code == 2
    assert "[recording-unwritable]" in ended.notes

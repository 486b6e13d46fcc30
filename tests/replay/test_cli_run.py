"""`coldturn run` as a user types it: a fake provider on 127.0.0.1, real MCP servers."""

from __future__ import annotations

import io
import json
import logging
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import xxhash

from coldturn.reference.observer import NullObserver
from coldturn.reference.policy import POLICIES
from coldturn.reference.prefix.model import Surface
from coldturn.replay.cli.app import main
from coldturn.replay.live_view import LiveView
from coldturn.replay.loading import open_replayable
from coldturn.replay.runner import replay
from coldturn.replay.single import ReplayOptions, requests_file
from coldturn.traces import names
from coldturn.traces.span_reader import read_spans
from fake_provider import Answer, FakeProvider, Raw, Refuse, Say, serving
from fake_run import FakeClock, tell

KEY = "sk-live-0123456789abcdefghij"
TOY = Path(__file__).parent / "toy_server.py"
AGENT = """
memory = "- likes sums"
[spec]
name = "adder"
surface = "{surface}"
model = "some-model"
instructions = "Add what you are given."
"""
TOYS = f"""
[[spec.connections]]
id = "toys"
description = "Sums"
command = ["{sys.executable}", "{TOY}"]
"""
LOCAL_TOOLS = """
[[spec.local_tools]]
name = "todo_write"
[[spec.local_tools]]
name = "remember"
"""


@dataclass(frozen=True)
class Ended:
    """What a run left."""

    code: int
    out: str
    notes: str


Launch = Callable[..., Ended]


@pytest.fixture
def launch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Launch:
    """Runs the program in this process: an agent file, options, lines of the user."""

    def run(
        provider: FakeProvider | None, *options: str, agent: str = "", lines: Sequence[str] = ()
    ) -> Ended:
        path = tmp_path / "agent.toml"
        path.write_text(agent or AGENT.format(surface="responses"), encoding="utf-8")
        for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"):
            monkeypatch.delenv(name, raising=False)
        for name, value in (provider.environment(KEY) if provider is not None else {}).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        with pytest.raises(SystemExit) as left:
            main(["run", str(path), *options])
        assert isinstance(left.value.code, int)
        printed = capsys.readouterr()
        return Ended(left.value.code, printed.out, printed.err)

    return run


def ask(launch: Launch, *script: Answer, agent: str = "", options: Sequence[str] = ()) -> Ended:
    with serving(*script) as provider:
        ended = launch(provider, "--message", "Go.", *options, agent=agent)
    assert KEY not in ended.out + ended.notes
    return ended


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
@pytest.mark.parametrize("surface", list(Surface))
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


@pytest.mark.parametrize("surface", list(Surface))
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


def test_only_breaks_that_cost_something_are_counted() -> None:
    notes = io.StringIO()
    view = LiveView(NullObserver(), io.StringIO(), notes)
    tell(view, FakeClock())  # its last turn has a planned break, and a harmless one
    view.close_turn()
    assert notes.getvalue().endswith(
        "turn 3: 2 steps; tokens reported: input unknown, read unknown, written unknown; "
        "breaks: 1 planned (planned_elision)\n"
    )


def test_a_policy_of_the_command_line_shows_its_breaks(launch: Launch) -> None:
    calls = [("todo_write", {"todos": [{"text": "x", "status": "pending"}]})]
    agent = 'policy = "stable"\n' + AGENT.format(surface="responses") + LOCAL_TOOLS
    ended = ask(
        launch,
        Say([], calls),
        Say(["ok"]),
        agent=agent,
        options=["--policy", "naive", "--set", "clock=transient"],
    )
    assert ended.code == 0
    assert "policy naive+clock=transient" in ended.notes
    assert "breaks: 1 unplanned (" in ended.notes


def test_an_agent_without_any_reachable_server_still_runs(launch: Launch) -> None:
    connections = """
[[spec.connections]]
id = "gone"
command = ["/nowhere/at/all"]
[[spec.connections]]
id = "away"
url = "http://127.0.0.1:1/mcp"
"""
    with serving(Say(["Alone."])) as provider:
        ended = launch(provider, "--message", "Hi", agent=AGENT.format(surface="responses") + connections)
    assert (ended.code, ended.out) == (0, "Alone.\n")
    assert "gone: cannot be reached (" in ended.notes
    assert "away: cannot be reached (" in ended.notes
    system = json.loads(provider.bodies[0])["instructions"]
    assert "gone" in system
    assert "away" in system


def test_provider_errors_are_sentences_and_exit_two(launch: Launch) -> None:
    echo = json.dumps({"error": {"message": f"Bad key {KEY}", "code": "invalid_api_key"}})
    refused = ask(launch, Refuse(401, echo))
    assert refused.code == 2
    assert "answered 401 (Bad key ****" in refused.notes
    assert "check the key in OPENAI_API_KEY" in refused.notes
    assert "[provider-status]" in refused.notes
    slow_down = ask(launch, Refuse(429, headers={"retry-after": "900"}))
    assert slow_down.code == 2
    assert "answered 429 (No.); wait before you go on" in slow_down.notes
    dropped = ask(launch, Raw(['data: {"type":"response.created"}\n\n'], broken=True))
    assert dropped.code == 2
    assert "[dropped-reply]" in dropped.notes
    nonsense = ask(launch, Raw(["<html>"], "text/html"))
    assert nonsense.code == 2
    assert "[unreadable-reply]" in nonsense.notes
    for ended in (refused, slow_down, dropped, nonsense):
        assert ended.out == ""
        assert "Traceback" not in ended.notes
        assert "turn 1: 1 step; tokens reported: input unknown, read unknown, written unknown" in ended.notes


def test_a_short_wait_is_told_and_the_turn_goes_on(launch: Launch) -> None:
    ended = ask(launch, Refuse(429, headers={"retry-after": "0"}), Say(["Now."]))
    assert (ended.code, ended.out) == (0, "Now.\n")
    assert "answered 429 (No.)" in ended.notes
    assert "trying again in 0.0 s" in ended.notes


def test_a_failed_turn_does_not_end_a_conversation(launch: Launch) -> None:
    with serving(Refuse(400), Say(["Better."])) as provider:
        ended = launch(provider, lines=["one", "two"])
    assert ended.out == "Better.\n"
    assert ended.code == 2


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


def test_without_a_key_nothing_starts(launch: Launch) -> None:
    ended = launch(None, "--message", "Hi", agent=AGENT.format(surface="messages") + TOYS)
    assert ended.code == 2
    assert len(ended.notes.splitlines()) == 1
    assert "ANTHROPIC_API_KEY is not set" in ended.notes
    assert ended.notes.endswith("[endpoint]\n")


def test_what_cannot_go_together_is_refused_before_anything_is_sent(launch: Launch) -> None:
    with serving() as provider:
        ended = launch(
            provider,
            "--message",
            "Hi",
            "--set",
            "promotion=native",
            agent=AGENT.format(surface="chat_completions"),
        )
    assert ended.code == 2
    assert "policy.promotion" in ended.notes
    assert provider.bodies == []


def test_what_a_model_writes_does_not_steer_the_terminal(launch: Launch) -> None:
    ended = ask(launch, Say(["a\x1b[2J\x07b\u009bc\n\td"], [("no\x1b]0;such\x07\n\ntool", {})]), Say(["ok"]))
    assert ended.out == "a[2Jbc\n\td\nok\n"
    assert "\x1b" not in ended.notes
    assert "  no]0;such tool … failed (unknown_tool)" in ended.notes


def test_an_answer_that_was_cut_is_told(launch: Launch) -> None:
    body = json.dumps({"choices": [{"message": {"content": "half"}, "finish_reason": "length"}]})
    ended = ask(launch, Raw([body], "application/json"), agent=AGENT.format(surface="chat_completions"))
    assert ended.out == "half\n"
    assert "cut at max_output_tokens" in ended.notes


def test_the_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["run", "--help"])
    assert left.value.code == 0
    text = capsys.readouterr().out
    assert "coldturn run agent.toml --record session.jsonl" in text

"""`coldturn run` as a user types it: a fake provider on 127.0.0.1, real MCP servers."""

from __future__ import annotations

import io
import json

import pytest

from coldturn.reference.observer import NullObserver
from coldturn.replay.cli.app import main
from coldturn.replay.live.view import LiveView
from fake_provider import Raw, Refuse, Say, serving
from fake_run import FakeClock, tell
from live_program import AGENT, KEY, LOCAL_TOOLS, TOYS, Launch, ask


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
    ended = ask(
        launch, Say(["a\x1b[2J\x07b\u009b\u202ec\n\td"], [("no\x1b]0;such\x07\n\ntool", {})]), Say(["ok"])
    )
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

"""Nothing that an input holds steers the terminal: names of models, tools and files are shown with marks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.text import Text

from coldturn.replay.cli import common
from coldturn.replay.cli.app import main
from coldturn.replay.cli.signs import shown, shown_line

HOSTILE = "\x1b]0;own\x07\r\x1b[2J\u202e\u2066\x9b31m\u200b\u2028\x7f"
STEERING = frozenset(HOSTILE) - frozenset("]0;own[2J31m")


def body(tool: str) -> str:
    tools = [{"type": "function", "function": {"name": f"{tool}{HOSTILE}"}}]
    messages = [{"role": "user", "content": "hi"}]
    return json.dumps({"model": f"gpt-5.5{HOSTILE}", "messages": messages, "tools": tools})


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    name = f"log{HOSTILE}.jsonl"
    Path(name).write_text(f"{body('one')}\n{body('two')}\n", encoding="utf-8")
    return name


@pytest.mark.parametrize(
    "command",
    [
        ["explain"],
        ["check"],
        ["check", "--format", "github"],
        ["check", "--format", "junit"],
        ["estimate"],
        ["advise"],
        ["scrub", "--check"],
        ["explain", "--format", HOSTILE],
        ["explain", f"missing{HOSTILE}"],
    ],
)
def test_no_sign_of_an_input_reaches_the_terminal(
    capsys: pytest.CaptureFixture[str], log: str, command: list[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*command, log])
    out, errors = capsys.readouterr()
    assert "own" in out + errors
    assert not STEERING & set(out), sorted(STEERING & set(out))
    assert not STEERING & set(errors), sorted(STEERING & set(errors))


@pytest.mark.parametrize("command", [["explain"], ["explain", "--request", "1"], ["check"]])
def test_no_line_of_the_output_is_an_inputs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "log\nFORGED.jsonl"
    lines = (body(one).replace("\\r", "\\nFORGED") for one in ("one", "two"))
    Path(name).write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(SystemExit):
        main([*command, name])
    out = capsys.readouterr().out
    assert "⏎FORGED" in out
    assert "\nFORGED" not in out


def test_json_still_says_what_the_input_holds(capsys: pytest.CaptureFixture[str], log: str) -> None:
    with pytest.raises(SystemExit):
        main(["explain", log, "--json"])
    assert json.loads(capsys.readouterr().out)["lineages"][0]["source"] == log


def test_the_consoles_own_colours_stay(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    common.stdout().print(Text("a\x1bb", style="bold"), "c\x1bd")
    assert capsys.readouterr().out == "\x1b[1ma␛b\x1b[0m c␛d\n"


def test_text_stays_as_it_is() -> None:
    text = "naïve 家族 👩\u200d👩\u200d👧 शर\u200cक\n\tend"
    assert shown(text) == text
    assert shown_line("a\nb\tc") == "a⏎b⇥c"
    assert len(shown(HOSTILE)) == len(HOSTILE)

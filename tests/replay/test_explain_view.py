"""Lines of `explain` where the rules and the bytes behind a change tell different sums."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.exchanges import words
from coldturn.analysis.breaks.findings import Beside
from coldturn.replay.cli.app import main
from coldturn.replay.cli.finding_view import View
from coldturn.replay.testing import breaks_of

LONG = words(5_000)


def _log(path: Path, *bodies: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(body) + "\n" for body in bodies))
    return str(path)


def _chat(*texts: str, model: str = "gpt-5.4") -> dict[str, Any]:
    roles = ("system", "user", "assistant")
    turns = [
        {"role": roles[0] if not at else roles[2 - at % 2], "content": text} for at, text in enumerate(texts)
    ]
    return {"model": model, "messages": turns}


def _out(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as left:
        main([*arguments])
    assert not left.value.code
    return capsys.readouterr().out


def test_neighbours_that_hide_different_causes_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = "Facts to keep in mind.\n" * 300
    histories = [["go on"], ["go on", "yes", "on"], ["go on", "YES!", "on", "more", "x"]]
    clocks = [f"Current time: 2026-11-30 09:0{at}\n{body}" for at in range(3)]
    same = [*histories[:2], ["go on", "yes", "on", "more", "x"]]
    for index, (texts, folded) in enumerate(((same, True), (histories, False))):
        bodies = (_chat(clock, *history) for clock, history in zip(clocks, texts, strict=True))
        out = _out(capsys, "explain", _log(tmp_path / f"{index}.jsonl", *bodies))
        assert ("request 2: the same" in out) is folded
        assert ("\n    behind " in out) is not folded


def test_below_the_minimum_costs_nothing_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = _log(tmp_path / "a.jsonl", _chat("Time: 09:00. Be kind.", "a"), _chat("Time: 09:01. Be kind.", "a"))
    out = _out(capsys, "explain", log)
    why = "below the 1,024-token minimum: costs nothing yet, about 3 tokens (estimated) once it is kept"
    assert why in " ".join(out.split())
    assert "lost   nothing yet: " in out
    assert "1 unplanned break (clock_in_prefix 1), nothing lost yet" in out


def test_some_breaks_cost_and_some_do_not_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = [
        _log(tmp_path / f"{name}.jsonl", *(_chat(f"Time: 09:0{at}. {text}", "a") for at in range(2)))
        for name, text in (("short", "Be kind."), ("long", LONG))
    ]
    out = _out(capsys, "explain", *logs)
    assert "2 unplanned breaks (clock_in_prefix 2), about " in out
    assert "tokens lost (estimated), 1 of them costs nothing yet" in out


def test_more_than_the_bytes_behind_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def body(minute: int) -> dict[str, Any]:
        text = f"{LONG}\nCurrent time: 2026-11-30 09:0{minute}\n{words(500)}"
        system = [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]
        return {
            "model": "claude-sonnet-4-5",
            "max_tokens": 9,
            "system": system,
            "messages": [{"role": "user", "content": "go"}],
        }

    out = _out(capsys, "explain", _log(tmp_path / "a.jsonl", body(0), body(1)))
    assert "back to the last entry that can be read" in out
    assert "tokens could have been read, 0 still can (estimated)" in out


def test_without_rules_it_says_how_to_name_some(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bodies = (_chat("Time: 09:00. Be kind.", "a", model="mine"), _chat("X", "a", model="mine"))
    assert "--rules NAME" in _out(capsys, "explain", _log(tmp_path / "a.jsonl", *bodies))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
def test_diff_reads_pipes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipes = []
    for name, text in (("a", "Time: 09:00. Be kind."), ("b", "Time: 09:01. Be kind.")):
        os.mkfifo(tmp_path / name)
        pipes.append(str(tmp_path / name))
        content = json.dumps(_chat(text, "a"))
        threading.Thread(target=(tmp_path / name).write_text, args=(content,), daemon=True).start()
    assert "clock_in_prefix" in _out(capsys, "diff", *pipes)


def test_a_model_behind_a_gateway_is_told_its_rules_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gateway = "https://gateway.example/v1/chat/completions"
    models = ("gpt-5.4", "gpt-5.5", "gpt-5.4", "of-nobody")
    rows = [
        {"url": gateway, "request": _chat(f"{LONG} {at}", "a", model=one)} for at, one in enumerate(models)
    ]
    log = _log(tmp_path / "a.jsonl", *rows)
    out = _out(capsys, "explain", log)
    told = [line for line in out.splitlines() if "no cache rules for" in line]
    behind = "at this address; those of the API behind it may be --rules"
    assert told == [f"  no cache rules for {one} {behind} openai-{one}" for one in ("gpt-5.4", "gpt-5.5")]
    assert "no cache rules for" not in _out(capsys, "explain", log, "--rules", "openai-gpt-5.4")
    lineages = json.loads(_out(capsys, "explain", log, "--json"))["lineages"]
    assert lineages[0]["rules_elsewhere"] == {"gpt-5.4": ["openai-gpt-5.4"], "gpt-5.5": ["openai-gpt-5.5"]}


def test_a_read_that_is_reported_all_the_same_speaks_against_the_rules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reads = (0, 5_000)
    lines = [
        {
            "request": _chat(f"Time: 09:0{at}. {LONG}", *["Go on.", "Yes.", "On."][: 2 * at + 1]),
            "response": {
                "id": f"r{at}",
                "object": "chat.completion",
                "choices": [],
                "usage": {
                    "prompt_tokens": 5_100,
                    "completion_tokens": 3,
                    "prompt_tokens_details": {"cached_tokens": read},
                },
            },
        }
        for at, read in enumerate(reads)
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = _out(capsys, "explain", str(path))
    assert "the provider read 5,000 tokens all the same" in out
    assert "lost   nothing by the report: " in out


def test_a_neighbouring_cause_is_named_once() -> None:
    sent = [json.dumps(_chat(f"Time: 09:0{at}. {LONG}", "Go on.")).encode() for at in range(2)]
    (found,) = breaks_of(sent)
    twice = replace(found, alongside=(Beside("tool_added", "high"), Beside("tool_added", "low")))
    told = [line.plain for line in View(colours=False).lines(twice)]
    assert [line.split() for line in told if "beside" in line] == [["beside", "tool_added"]]


def test_what_belongs_at_the_end_gets_no_advice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bodies = []
    for minute in (1, 2):
        body = _chat("q " * 40)
        steps = [
            {"role": "assistant", "content": "the first answer, long enough to be told from any other"},
            {"role": "user", "content": "and the next question"},
        ]
        clock = {"role": "user", "content": f"Current time: 2026-11-30 09:{minute:02d}:00"}
        body["messages"] = [*body["messages"], *steps[: 2 * (minute - 1)], clock]
        bodies.append(body)
    told = _out(capsys, "explain", _log(tmp_path / "a.jsonl", *bodies))
    assert "transient_tail_changed  harmless  request 1 after 0" in told
    assert "  do " not in told

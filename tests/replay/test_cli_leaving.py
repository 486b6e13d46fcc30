"""How the program ends: usage errors, settings, outputs that cannot be written, readers that have gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from coldturn.replay.cli.app import main

PROGRAM = (sys.executable, "-m", "coldturn.replay.cli.app")
BODY = json.dumps({"model": "m", "input": "question"})


def ran(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *arguments], cwd=cwd, capture_output=True, text=True, check=False)  # noqa: S603 - ours


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert isinstance(left.value.code, int)
    return left.value.code, capsys.readouterr().err


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("log.jsonl").write_text(f"{BODY}\n{BODY}\n", encoding="utf-8")
    return "log.jsonl"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], ["no such command 'nonsense'", "coldturn --help"]),
        (["explain"], ["explain: missing argument INPUT", "coldturn explain --help"]),
        (["explain", "x", "--nonsense"], ["--nonsense"]),
        (["explain", "x", "--context", "many"], ["--context: a whole number is expected"]),
        (["explain", "x", "--context", "-5"], ["--context: it must be 0 or more"]),
        (["explain", "x", "--format", "zip"], ["'zip' is not one of"]),
        (["explain", "x", "--request"], ["--request requires an argument"]),
        (["record", "nonsense"], ["record: no such command 'nonsense'"]),
        (["diff", "a.json"], ["diff: missing argument B"]),
        (["diff", "-", "-"], ["standard input is read once"]),
        (["explain", "--text", "a", "b", "--request", "1"], ["--request does nothing beside --text"]),
        (["explain", "--text", "a", "b", "--strict"], ["--strict does nothing beside --text"]),
        (["diff", "--text", "a", "b", "--format", "body"], ["--format does nothing beside --text"]),
        (["explain", "--text", "a"], ["1 was given"]),
        (["diff", ".", "a.json"], [". is a folder"]),
        (["explain", "x", "--miss-share", "5"], ["--miss-share: it must be 1 or less"]),
        (["explain", "x", "--fail-on", "clok_in_prefix"], ["did you mean clock_in_prefix", "docs causes"]),
        (["explain", "x", "--fail-on", "zzz"], ["no such cause; `coldturn docs causes`"]),
        (["chart", "pie", "x", "-o", "x.png"], ["chart: KIND: 'pie' is not one of"]),
        (["chart", "zones", "x"], ["missing option -o / --out"]),
        (["scrub", ".", "--check"], [". is a folder: scrub takes one cassette"]),
    ],
)
def test_wrong_usage_is_one_sentence(
    capsys: pytest.CaptureFixture[str], log: str, arguments: list[str], words: list[str]
) -> None:
    code, errors = said(capsys, *arguments)
    assert code == 2
    assert errors.startswith("coldturn: ")
    assert errors.endswith("[usage]\n")
    assert errors.count("\n") == 1
    for word in words:
        assert word in errors


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("[tool\n", "pyproject.toml"),
        ("[tool]\ncoldturn = 5\n", "no table"),
        ("[tool.coldturn]\nno-contnt = true\n", "no-contnt"),
        ("[tool.coldturn.explian]\ncontext = 1\n", "explian"),
        ('[tool.coldturn]\ncontext = "wide"\n', "pyproject.toml"),
        ('[tool.coldturn]\nfail-on = "any"\n', "--fail-on: a list is expected"),
        ("[tool.coldturn]\ncheck = 5\n", "[tool.coldturn.check]"),
        ('[tool.coldturn]\nno-content = "yes"\n', "no-content: true or false is expected"),
        ("[tool.coldturn]\nno-content = 1\n", "no-content: true or false is expected"),
        ("[tool.coldturn]\ncontext = true\n", "context: it is no switch"),
        (f"x = {'[' * 100_000}", "too deep"),
        (f"x = {'1' * 5_000}", "too many digits"),
    ],
)
def test_settings_that_cannot_be_used_are_told(
    capsys: pytest.CaptureFixture[str], log: str, settings: str, words: str
) -> None:
    Path("pyproject.toml").write_text(settings, encoding="utf-8")
    code, errors = said(capsys, "explain", log)
    assert code == 2
    assert errors.endswith("[settings]\n")
    assert "pyproject.toml" in errors
    assert words in errors


def test_a_setting_of_another_command_is_no_error(capsys: pytest.CaptureFixture[str], log: str) -> None:
    Path("pyproject.toml").write_text('[tool.coldturn]\nset = ["clock=none"]\n', encoding="utf-8")
    assert said(capsys, "explain", log) == (0, "")


@pytest.mark.parametrize("name", ["", "x" * 5000, "a\0b"])
def test_a_name_that_no_file_has_is_a_missing_input(
    capsys: pytest.CaptureFixture[str], log: str, name: str
) -> None:
    code, errors = said(capsys, "explain", name)
    assert code == 2
    assert "[missing-input]" in errors


@pytest.mark.parametrize("command", ["explain", "check", "estimate", "advise", "report"])
def test_a_link_to_itself_is_a_missing_input(
    capsys: pytest.CaptureFixture[str], log: str, command: str
) -> None:
    Path("loop").symlink_to("loop")
    code, errors = said(capsys, command, "loop")
    assert code == 2
    assert "loop: too many levels of symbolic links" in errors
    assert "[missing-input]" in errors


def test_a_file_that_is_named_twice_is_read_once(capsys: pytest.CaptureFixture[str], log: str) -> None:
    with pytest.raises(SystemExit):
        main(["explain", log, f"./{log}", log, "--json"])
    out, errors = capsys.readouterr()
    assert [lineage["requests"] for lineage in json.loads(out)["lineages"]] == [2]
    assert errors.count("read once") == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not read")
@pytest.mark.parametrize("argument", ["closed.jsonl", "closed", "closed/log.jsonl", "closed/*.jsonl"])
def test_what_may_not_be_read_says_permission(tmp_path: Path, argument: str) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    (tmp_path / "closed.jsonl").write_text(BODY)
    (tmp_path / "closed.jsonl").chmod(0)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == "root" and folder.name.startswith(("pytest", tmp_path.name)):
            folder.chmod(0o755)
    code = (
        "import os, sys; from coldturn.replay.cli.app import main, COMMANDS; [c.load() for c in COMMANDS];"
        "os.setgid(65534); os.setuid(65534); main(['explain', sys.argv[1]])"
    )
    done = subprocess.run(  # noqa: S603 - ours
        [sys.executable, "-c", code, argument], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "permission denied" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_an_output_that_is_full_is_one_sentence(log: str, options: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(  # noqa: S603 - ours
            [*PROGRAM, "explain", log, *options], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "no space left" in done.stderr


@pytest.mark.parametrize(("closed", "code"), [(">&-", 2), ("2>&-", 0), ("<&-", 0)])
def test_closed_streams_are_no_traceback(log: str, closed: str, code: int) -> None:
    command = f'exec "$0" -m coldturn.replay.cli.app explain {log} {closed}'
    done = subprocess.run(["/bin/sh", "-c", command, sys.executable], capture_output=True, check=False)  # noqa: S603 - ours
    assert done.returncode == code
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_reader_that_has_gone_is_no_finding(log: str, options: list[str]) -> None:
    with subprocess.Popen(  # noqa: S603 - ours
        [*PROGRAM, "explain", log, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        running.stdout.close()
        assert running.stderr is not None
        assert running.stderr.read() == b""
        assert running.wait(timeout=120) == 128 + signal.SIGPIPE


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--rules", "house"], ["--rules house: no such rules; there are anthropic-messages"]),
        (["--rules", "vllm", "--set", "colour=red"], ["--set colour: no such parameter; there are capacity"]),
        (["--rules", "vllm", "--set", "granularity=x"], ["--set granularity: a whole number is expected"]),
    ],
)
@pytest.mark.parametrize("command", ["explain", "diff"])
def test_rules_that_cannot_be_used_are_refused_before_anything_is_read(
    capsys: pytest.CaptureFixture[str], log: str, command: str, arguments: list[str], words: list[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main([command, *(["nowhere.json"] * (1 + (command == "diff"))), *arguments])
    printed = capsys.readouterr()
    assert (left.value.code, printed.out) == (2, "")
    assert printed.err.count("\n") == 1
    for word in words:
        assert word in printed.err


def test_a_baseline_that_cannot_be_made_is_told_before_anything_is_read(
    capsys: pytest.CaptureFixture[str], log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = ["check", "nowhere.json", "--create", "--baseline"]
    code, errors = said(capsys, *create, "no/lock.json")
    assert (code, errors.count("\n")) == (2, 1)
    assert "there is no folder" in errors
    monkeypatch.setattr(os, "access", lambda *_: False)
    code, errors = said(capsys, *create, "lock.json")
    assert "may not be written to" in errors
    assert "[baseline-unwritable]" in errors


def test_a_server_that_cannot_be_started_is_named_without_an_error_number(
    capsys: pytest.CaptureFixture[str], log: str
) -> None:
    code, errors = said(capsys, "record", "stdio", "--out", "s.jsonl", "--", "no-such-program")
    assert code == 2
    assert "(no-such-program: no such file or directory): check its command [stdio-server]" in errors
    assert not Path("s.jsonl").exists()


def test_a_parameter_that_no_rules_have_is_no_fault_of_the_input(
    capsys: pytest.CaptureFixture[str], log: str
) -> None:
    body = json.dumps(
        {"model": "claude-opus-5", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
    )
    Path("claude.jsonl").write_text(
        f'{{"url": "https://api.anthropic.com/v1/messages", "request": {body}}}\n', encoding="utf-8"
    )
    with pytest.raises(SystemExit) as left:
        main(["explain", log, "claude.jsonl", "--set", "colour=red"])
    printed = capsys.readouterr()
    assert (left.value.code, printed.out) == (2, "")
    assert printed.err.startswith("coldturn: --set colour: no such parameter")

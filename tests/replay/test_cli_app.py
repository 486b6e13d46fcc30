"""The program as a whole: help, version, errors, speed, and the page that explains every error."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import coldturn.analysis
import coldturn.reference
import coldturn.replay
import coldturn.traces
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.replay.cli.app import COMMANDS, main

ROOMS = (coldturn.reference, coldturn.traces, coldturn.analysis, coldturn.replay)
ROOT = Path(__file__).parents[2]


def launched(*arguments: str, encoding: str = "utf-8") -> subprocess.Popen[bytes]:
    """A Python process of our own."""
    pipe = subprocess.PIPE
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    command = [sys.executable, *arguments]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)  # noqa: S603 - ours


PROGRAM = ("-m", "coldturn.replay.cli.app")


def test_help_imports_no_command() -> None:
    with launched(*PROGRAM, "--help") as running:
        help_text = running.communicate()[0].decode()
    for command in COMMANDS:
        assert command.name in help_text
    heavy = {"mcp", "polars", "vcr", "matplotlib", "pydantic", "msgspec"}
    build = "import sys; from coldturn.replay.cli.app import build; build('')"
    with launched("-c", f"{build}; print({heavy} & sys.modules.keys())") as running:
        assert running.communicate()[0].strip() == b"set()"


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_every_command_has_help_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([name, "--help"])
    assert left.value.code == 0
    assert f"coldturn {name}" in capsys.readouterr().out


def test_the_version_is_the_distributions(capsys: pytest.CaptureFixture[str]) -> None:
    from importlib.metadata import version

    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"coldturn {version('coldturn')}\n"


def test_wrong_usage_is_2_and_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["nonsense"], ["explain"], ["explain", "x", "--nonsense"]):
        with pytest.raises(SystemExit) as left:
            main(arguments)
        assert left.value.code == 2
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        assert captured.out == ""


def test_interrupting_leaves_cleanly() -> None:
    with launched(*PROGRAM, "explain", "-") as running:
        assert running.stdin is not None
        running.stdin.write(b'{"model": "m", "input": "q"}\n')
        running.stdin.flush()
        _wait_until_reading(running.pid)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=120)
    assert running.returncode == 130
    assert b"Traceback" not in errors


def _wait_until_reading(pid: int) -> None:
    """Until the child waits for input; looking is not sleeping."""
    state = Path(f"/proc/{pid}/wchan")
    deadline = time.monotonic() + 20
    while state.exists() and "pipe" not in state.read_text() and time.monotonic() < deadline:
        pass


def test_an_output_that_is_no_utf_8_still_prints(tmp_path: Path) -> None:
    older, newer = tmp_path / "a.md", tmp_path / "b.md"
    older.write_text("# Rules\n\nnaïve ⏎ 1", encoding="utf-8")
    newer.write_text("# Rules\n\nnaïve ⏎ 2", encoding="utf-8")
    for options in ([], ["--json"]):
        with launched(
            *PROGRAM, "diff", "--text", str(older), str(newer), *options, encoding="ascii"
        ) as running:
            out, errors = running.communicate()
        assert errors == b""
        assert running.returncode == 0
        assert b"na\\u00efve" in out or b"na\\xefve" in out
        if options:
            assert json.loads(out)["lineages"][0]["breaks"][0]["was"] == "1"


def subclasses(cls: type[ColdturnError]) -> Iterator[type[ColdturnError]]:
    for one in cls.__subclasses__():
        yield one
        yield from subclasses(one)


def test_the_errors_page_explains_every_slug() -> None:
    for room in ROOMS:
        for module in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
            if ".notebooks" not in module.name:
                importlib.import_module(module.name)
    ours = {one.slug for one in subclasses(ColdturnError) if one.__module__.startswith("coldturn.")}
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^### `([a-z0-9-]+)`$", page, re.MULTILINE))
    assert ours - explained == set()
    assert explained - ours == set()
    for block in re.split(r"^### ", page, flags=re.MULTILINE)[1:]:
        assert "**Do:**" in block

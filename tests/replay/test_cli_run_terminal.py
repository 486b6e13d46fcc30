"""`coldturn run` in a process of its own: Ctrl-C, Ctrl-D, a terminal, secrets of servers."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire.model import RENDERED_SURFACES
from fake_provider import FakeProvider, Say, Stall, serving

AGENT = """
[spec]
name = "helper"
surface = "{surface}"
instructions = "Help."
"""
IN_A_TERMINAL = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"


@contextmanager
def running(
    provider: FakeProvider, agent: Path, *options: str, around: Sequence[str] = (), **variables: str
) -> Iterator[subprocess.Popen[bytes]]:
    environment: Mapping[str, str] = {**os.environ, **provider.environment(), **variables}
    command = [*around, sys.executable, "-m", "coldturn.replay.cli.app", "run", str(agent), *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(  # noqa: S603 - our own program
        command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def write(folder: Path, surface: Surface = Surface.RESPONSES, more: str = "") -> Path:
    path = folder / "agent.toml"
    path.write_text(AGENT.format(surface=surface.value) + more, encoding="utf-8")
    return path


def say(process: subprocess.Popen[bytes], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line.encode())
    process.stdin.flush()


def readable(stream: IO[bytes] | None, seconds: float) -> bool:
    """Whether the program has written something, or ended."""
    assert stream is not None
    return bool(select.select([stream], [], [], seconds)[0])


def read_part(stream: IO[bytes] | None) -> bytes:
    """What the program has written since; one that ended or stays silent fails the test."""
    assert readable(stream, 30), "silence"
    assert stream is not None
    part = os.read(stream.fileno(), 4096)
    assert part, "the program ended"
    return part


def read_until(stream: IO[bytes] | None, ending: bytes) -> bytes:
    """What the program writes up to `ending`, and what it wrote in the same moment."""
    seen = b""
    while ending not in seen:
        seen += read_part(stream)
    return seen


@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
def test_ctrl_c_stops_the_turn_and_the_conversation_goes_on(tmp_path: Path, surface: Surface) -> None:
    agent = write(tmp_path, surface)
    with serving(Stall("I was going to"), Say(["Sure."])) as provider, running(provider, agent) as process:
        say(process, "one\n")
        seen = read_until(process.stdout, b"I was going to")
        process.send_signal(signal.SIGINT)
        assert provider.gone.wait(30)  # the provider is no longer listened to
        say(process, "two\n")
        out, notes = process.communicate(timeout=120)
    assert (seen + out).decode() == "I was going to\nSure.\n"
    assert b"the turn was stopped" in notes
    assert b"turn 2: 1 step; tokens reported: input 100, read 0, written 0; breaks: none" in notes
    assert b"Traceback" not in notes
    assert process.returncode == 130
    assert b'"one"' in provider.bodies[1]
    assert b'"two"' in provider.bodies[1]
    assert b"I was going to" not in provider.bodies[1]


SLOW = """
import anyio
from mcp.server.mcpserver import MCPServer
server = MCPServer("slow")

@server.tool()
async def wait() -> str:
    "Never ends by itself."
    await anyio.sleep_forever()
    return "never"

server.run()
"""


def test_ctrl_c_cuts_a_tool_call_short_and_its_result_says_so(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SLOW, encoding="utf-8")
    connection = f"""
[[spec.connections]]
id = "slow"
command = ["{sys.executable}", "{tmp_path / "server.py"}"]
"""
    agent = write(tmp_path, Surface.MESSAGES, connection)
    with (
        serving(Say([], [("slow__wait", {})]), Say(["Fine."])) as provider,
        running(provider, agent) as process,
    ):
        say(process, "one\n")
        read_until(process.stderr, b"slow wait")
        process.send_signal(signal.SIGINT)
        read_until(process.stderr, b"the turn was stopped")
        say(process, "two\n")
        out, _ = process.communicate(timeout=120)
    assert out == b"Fine.\n"
    conversation = json.loads(provider.bodies[1])["messages"]
    assert [message["role"] for message in conversation] == ["user", "assistant", "user", "user", "user"]
    (result,) = conversation[2]["content"]
    assert result["is_error"]
    assert result["content"].startswith("The call did not finish")


def test_ctrl_c_ends_a_single_turn_with_130(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    options = ("--message", "one", "--record", str(tape))
    with (
        serving(Stall("Half")) as provider,
        running(provider, write(tmp_path), *options) as process,
    ):
        seen = read_until(process.stdout, b"Half")
        process.send_signal(signal.SIGINT)
        out, notes = process.communicate(timeout=120)
    assert process.returncode == 130
    assert seen + out == b"Half\n"
    assert b"Traceback" not in notes
    # What had arrived is kept.
    assert b'\\"delta\\": \\"Half\\"' in tape.read_bytes()


def test_a_terminal_has_a_prompt_and_ctrl_d_ends(tmp_path: Path) -> None:
    around = (sys.executable, "-c", IN_A_TERMINAL)
    with (
        serving(Say(["Hello ", "you."])) as provider,
        running(provider, write(tmp_path), around=around) as process,
    ):
        seen = read_until(process.stdout, b"> ")
        say(process, "hi\n")
        while seen.count(b"> ") < 2:
            seen += read_part(process.stdout)
        # A Ctrl-C that comes before the program waits for a key is noticed with the next one.
        while b"(Ctrl-D ends)" not in seen:
            say(process, "\x03")
            while b"(Ctrl-D ends)" not in seen and readable(process.stdout, 2):
                seen += read_part(process.stdout)
        say(process, "\x04")
        out, _ = process.communicate(timeout=120)
    screen = (seen + out).decode().replace("\r", "")
    assert process.returncode == 0
    assert "> hi\nHello you.\nturn 1: 1 step; tokens reported: input 100, read 0, written 0" in screen


SERVER = """
import os
from mcp.server.mcpserver import MCPServer
server = MCPServer("env")

@server.tool()
def variables() -> str:
    "What this server was handed."
    return " ".join(os.environ.get(name, "none") for name in ("TOY_TOKEN", "OPENAI_API_KEY", "OTHER_TOKEN"))

server.run()
"""


@pytest.mark.requirement("REC-6")
@pytest.mark.parametrize("recorded", [True, False])
def test_a_server_gets_the_variables_it_is_named_and_none_is_written_down(
    tmp_path: Path, recorded: bool
) -> None:
    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    connection = f"""
[[spec.connections]]
id = "env"
command = ["{sys.executable}", "{tmp_path / "server.py"}"]
"""
    text = 'environment = {env = ["TOY_TOKEN"]}\n' + AGENT.format(surface="responses") + connection
    agent = tmp_path / "agent.toml"
    agent.write_text(text, encoding="utf-8")
    tape, trace = tmp_path / "tape.jsonl", tmp_path / "trace.jsonl"
    options = ["--message", "one", "--trace", str(trace), *(["--record", str(tape)] if recorded else [])]
    tokens = {"TOY_TOKEN": "toy-token-0123456789", "OTHER_TOKEN": "other-token-0123456789"}
    with (
        serving(Say([], [("env__variables", {})]), Say(["ok"])) as provider,
        running(provider, agent, *options, **tokens) as process,
    ):
        _, notes = process.communicate(timeout=120)
    assert process.returncode == 0, notes
    assert b'"toy-token-0123456789 none none"' in provider.bodies[1]
    written = [trace, *([tape] if recorded else [])]
    for path in written:
        for secret in (*tokens.values(), provider.environment()["OPENAI_API_KEY"]):
            assert secret.encode() not in path.read_bytes()
    if recorded:
        assert b"******************** none none" in tape.read_bytes()


def test_a_variable_that_is_not_set_is_named(tmp_path: Path) -> None:
    agent = tmp_path / "agent.toml"
    text = 'tokens = {away = "AWAY_TOKEN"}\n' + AGENT.format(surface="responses")
    agent.write_text(
        text + '[[spec.connections]]\nid = "away"\nurl = "http://127.0.0.1:1/mcp"\n', encoding="utf-8"
    )
    with serving() as provider, running(provider, agent, "--message", "x") as process:
        _, notes = process.communicate(timeout=120)
    assert process.returncode == 2
    assert notes.decode().splitlines() == [notes.decode().strip()]
    assert b"AWAY_TOKEN, which connection 'away' needs, is not set" in notes

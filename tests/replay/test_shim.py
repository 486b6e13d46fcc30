"""The shim in place of a stdio server: bytes, exit codes and signals pass; what passes is recorded."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import mcp_types
import orjson
import pytest
from mcp import Client, StdioServerParameters
from mcp.client import Transport
from mcp.client.session import ClientRequestContext, IncomingMessage

from coldturn.reference.policy import POLICIES
from coldturn.replay.capture.clients import over_http
from coldturn.replay.playback.recording import open_recording
from coldturn.replay.playback.transport import Playback
from coldturn.replay.runs.runner import ReplayOptions, replay

TOY = [sys.executable, str(Path(__file__).with_name("toy_server.py"))]
PROGRAM = [sys.executable, "-m", "coldturn.replay.cli.app", "record", "stdio"]
KEY = "ghp_" + "a1B2" * 9


def shim(out: Path, command: Sequence[str], *options: str) -> list[str]:
    return [*PROGRAM, "--out", str(out), *options, "--", *command]


def parameters(out: Path, name: str = "toy") -> StdioServerParameters:
    program, *arguments = shim(out, TOY, "--name", name)
    return StdioServerParameters(command=program, args=arguments)


class Host:
    """What an agent does with the toy server, over any transport."""

    def __init__(self) -> None:
        self.changed = anyio.Event()

    async def script(self, transport: StdioServerParameters | Transport, mode: str) -> list[str]:
        client = Client(
            transport, mode=mode, cache=None, elicitation_callback=self._accept, message_handler=self._note
        )
        async with client:
            said = [_text(await client.call_tool("add", {"a": 40, "b": 2}))]
            if mode == "legacy":
                said.append(_text(await client.call_tool("ask", {})))
                said.append(_text(await client.call_tool("count", {})))
                said.append(_text(await client.call_tool("grow", {})))
                await self.changed.wait()
            else:
                async with client.listen(tools_list_changed=True) as subscription:
                    said.append(_text(await client.call_tool("grow", {})))
                    await anext(aiter(subscription))
            return [*said, *(tool.name for tool in (await client.list_tools()).tools)]

    async def _note(self, message: IncomingMessage) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self.changed.set()

    async def _accept(
        self, context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult:
        assert params.message == "Who are you?"
        return mcp_types.ElicitResult(action="accept", content={"name": "Ada"})


def _text(result: mcp_types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, mcp_types.TextContent)
    return content.text


@pytest.mark.anyio
@pytest.mark.requirement("REC-7", "REC-8")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_real_client_and_server_of_either_era(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "session.jsonl"
    with anyio.fail_after(60):
        said = await Host().script(parameters(path), mode)
        playback = Playback(open_recording(path))  # the server is gone
        again = await Host().script(over_http("http://stdio.toy.invalid/mcp", playback.transport()), mode)
    assert said[0] == "42"
    assert said[-1] == "extra"
    assert again == said
    assert playback.misses == []
    bodies = [orjson.loads(line) for line in path.read_bytes().splitlines()][1:]
    asked = {orjson.loads(entry["request"]["body"] or b"{}").get("method"): entry for entry in bodies}
    if mode == "legacy":
        headers = {"content-type", "mcp-protocol-version", "mcp-session-id"}  # as a client over HTTP sends
        assert set(asked["tools/call"]["request"]["headers"]) == headers
        answers = asked["tools/call"]["response"]["body"]["string"]
        assert answers.startswith("event: message\ndata: {")
        assert (
            asked[None]["request"]["method"] == "GET"
        )  # what belongs to no request came on a stream of its own
        assert "notifications/tools/list_changed" in asked[None]["response"]["body"]["string"]
        assert any("elicitation/create" in entry["response"]["body"]["string"] for entry in bodies)
    else:
        assert (
            "notifications/tools/list_changed" in asked["subscriptions/listen"]["response"]["body"]["string"]
        )
        assert "notifications/cancelled" not in asked  # over HTTP a client leaves instead


@pytest.mark.anyio
@pytest.mark.requirement("REC-8")
async def test_several_shims_write_one_recording_which_replays(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for name in ("one", "two"):
                tasks.start_soon(Host().script, parameters(path, name), "legacy")
    recording = open_recording(path)
    assert {entry.server for entry in recording.entries} == {
        "http://stdio.one.invalid/mcp",
        "http://stdio.two.invalid/mcp",
    }
    starts = [entry.start for entry in recording.entries]
    assert starts == sorted(starts)


ECHO = """
import sys
sys.stderr.write('a line for people\\n')
while data := sys.stdin.buffer.read1(65536):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
sys.exit(7)
"""


@pytest.mark.requirement("REC-8", "REC-9")
def test_every_byte_passes_as_it_is_and_so_do_the_exit_code_and_standard_error(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    odd = b'{"id" : 1,\t"jsonrpc":"2.0","method":"x\\u00e9/"}\r\n' + bytes(range(256)) + b"\n\n  [1,2]\n"
    data = (
        odd
        + b'{"jsonrpc":"2.0","id":2,"method":"y","pad":"'
        + b"z" * 3_000_000
        + b'"}\nno end'
        + KEY.encode()
    )
    run = subprocess.run(  # noqa: S603 - ours
        shim(path, [sys.executable, "-c", ECHO]), input=data, capture_output=True, timeout=60, check=False
    )
    assert hashlib.sha256(run.stdout).digest() == hashlib.sha256(data).digest()
    assert run.stderr == b"a line for people\n"  # and nothing of ours
    assert run.returncode == 7
    first, second = open_recording(path).entries
    assert first.request_body == b'{"id" : 1,\t"jsonrpc":"2.0","method":"x\\u00e9/"}'
    assert len(second.request_body) > 3_000_000
    assert first.url == f"http://stdio.{Path(sys.executable).stem}.invalid/mcp"


SIGNALLED = """
import signal, sys
def stop(number, frame):
    print('{"got": %d}' % number, flush=True)
    sys.exit(40 + number)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, stop)
print('{"ready": 1}', flush=True)
while True:
    signal.pause()
"""


@pytest.mark.requirement("REC-8")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_go_on_to_the_server_and_its_exit_code_comes_back(
    tmp_path: Path, number: signal.Signals
) -> None:
    pipe = subprocess.PIPE
    command = shim(tmp_path / "session.jsonl", [sys.executable, "-c", SIGNALLED])
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as run:  # noqa: S603 - ours
        assert run.stdout is not None
        assert run.stdout.readline() == b'{"ready": 1}\n'
        run.send_signal(number)
        out, errors = run.communicate(timeout=120)
    assert out == b'{"got": %d}\n' % number
    assert run.returncode == 40 + number
    assert b"Traceback" not in errors


def test_a_server_that_a_signal_ends_is_told_as_shells_tell_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]
    run = subprocess.run(shim(tmp_path / "s.jsonl", command), capture_output=True, timeout=120, check=False)  # noqa: S603 - ours
    assert run.returncode == 128 + 9


@pytest.mark.requirement("REC-8")
def test_what_cannot_be_started_or_written_is_one_sentence(tmp_path: Path) -> None:
    foreign = tmp_path / "notes.jsonl"
    foreign.write_text('{"mine": 1}\n')
    shims = {
        "stdio-server": shim(tmp_path / "a.jsonl", ["/no/such/program"]),
        "recording-broken": shim(foreign, TOY),
        "recording-format": shim(tmp_path / "a.yaml", TOY),
        "secret-variable": shim(tmp_path / "a.jsonl", TOY, "--secret-env", "UNSET_KEY"),
    }
    for slug, command in shims.items():
        run = subprocess.run(command, capture_output=True, timeout=120, check=False, stdin=subprocess.DEVNULL)  # noqa: S603 - ours
        assert run.returncode == 2, slug
        assert run.stderr.decode().count("\n") == 1
        assert f"[{slug}]" in run.stderr.decode()
        assert run.stdout == b""
    assert foreign.read_text() == '{"mine": 1}\n'


PLANTED = f"""
import os
from mcp.server.mcpserver import MCPServer
server = MCPServer("planted")

@server.tool()
def leak(key: str, name: str) -> str:
    "Tell what it was given, and what it knows."
    return f"{{key}} {{name}} {{os.environ['NAMED']}} {KEY}"

server.run()
"""


@pytest.mark.anyio
@pytest.mark.requirement("REC-6")
async def test_planted_keys_reach_no_cassette_and_no_trace(tmp_path: Path) -> None:
    path, named = tmp_path / "session.jsonl", "named\nsecret"
    program, *arguments = shim(
        path, [sys.executable, "-c", PLANTED], "--secret-env", "NAMED", "--name", "planted"
    )
    started = StdioServerParameters(command=program, args=arguments, env={**os.environ, "NAMED": named})
    async with Client(started, mode="legacy", cache=None) as client:
        await client.list_tools()
        got = _text(await client.call_tool("leak", {"key": KEY, "name": named}))
    assert got == f"{KEY} {named} {named} {KEY}"
    options = ReplayOptions(out=tmp_path / "traces")
    report = await anyio.to_thread.run_sync(replay, [str(path)], [POLICIES["stable"]], options)
    assert report.errors == []
    _ensure_clean(tmp_path, [KEY, named, r"named\nsecret"])
    assert b"*" * len(KEY) in path.read_bytes()


def _ensure_clean(folder: Path, secrets: Sequence[str]) -> None:
    written = [file for file in folder.rglob("*") if file.is_file()]
    assert {file.name.split(".", 1)[1] for file in written} == {"jsonl", "stable.jsonl"}
    for file in written:
        assert not any(secret.encode() in file.read_bytes() for secret in secrets), file

"""`coldturn run` with an MCP server behind an address that wants a token."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.types import ASGIApp, Receive, Scope, Send

from coldturn.replay.cli.app import main
from fake_provider import Say, serving

TOKEN = "wiki-token-0123456789"
AGENT = """
tokens = {wiki = "WIKI_TOKEN"}
[spec]
surface = "chat_completions"
model = "some-model"
[[spec.connections]]
id = "wiki"
url = "URL"
preload = false
"""
CALLS: Sequence[tuple[str, dict[str, object]]] = (
    ("mcp_list_tools", {"server": "wiki"}),
    ("mcp_describe_tool", {"server": "wiki", "tool": "look_up"}),
    ("mcp_call_tool", {"server": "wiki", "tool": "look_up", "input": {"word": "prefix"}}),
)


class Guard:
    """Lets in who has the token."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.refused = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wanted = (b"authorization", f"Bearer {TOKEN}".encode())
        if scope["type"] == "http" and wanted not in scope["headers"]:
            self.refused += 1
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"no"})
            return
        await self.app(scope, receive, send)


@contextmanager
def wiki() -> Iterator[tuple[str, Guard]]:
    server = MCPServer("wiki")

    @server.tool()
    def look_up(word: str) -> str:
        """Look a word up."""
        return f"{word}: what stands in front"

    guard = Guard(server.streamable_http_app())
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(guard, log_config=None, log_level="critical", timeout_graceful_shutdown=1)
        program = uvicorn.Server(config)
        thread = threading.Thread(target=program.run, kwargs={"sockets": [listening]}, daemon=True)
        listening.listen()
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", guard
        finally:
            program.should_exit = True
            thread.join(10)


@pytest.mark.requirement("REC-1", "REC-6")
@pytest.mark.parametrize("recorded", [True, False])
def test_a_server_behind_a_token_is_found_called_and_recorded_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], recorded: bool
) -> None:
    tape, agent = tmp_path / "tape.jsonl", tmp_path / "agent.toml"
    with (
        wiki() as (url, guard),
        serving(*[Say([], [call]) for call in CALLS], Say(["In front."])) as provider,
    ):
        agent.write_text(AGENT.replace("URL", url), encoding="utf-8")
        for name, value in {**provider.environment(), "WIKI_TOKEN": TOKEN}.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as left:
            main(["run", str(agent), "--message", "Look.", *(["--record", str(tape)] if recorded else [])])
        printed = capsys.readouterr()
    assert left.value.code == 0
    assert printed.out == "In front.\n"
    assert "  mcp_list_tools wiki … 7 bytes" in printed.err
    assert "  mcp_describe_tool wiki look_up … " in printed.err
    assert "  wiki look_up … 28 bytes" in printed.err
    assert "turn 1: 4 steps; " in printed.err
    assert "; breaks: none" in printed.err
    assert b"prefix: what stands in front" in provider.bodies[3]
    assert guard.refused == 0
    if recorded:
        assert TOKEN.encode() not in tape.read_bytes()
        with pytest.raises(SystemExit) as left:
            main(["replay", str(tape), "--compare", "naive,stable"])
        assert left.value.code == 0
        assert "wiki: sessions 1, calls 1, lists 1" in capsys.readouterr().out

"""What the tests of recordings share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import httpx2
import pytest

from coldturn.replay.capture.recorder import Recorder
from coldturn.replay.capture.transport import SyncCaptureTransport
from live_program import Launch, launcher

Exchange: TypeAlias = tuple[float, str, Mapping[str, Any], Mapping[str, Any] | str | bytes]
"""Seconds since the start, URL, request and answer: a JSON value, or text for a stream of events."""

WriteTape: TypeAlias = Callable[..., Path]


class _Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def time_ns(self) -> int:
        return 1_780_000_000_000_000_000 + round(self.seconds * 1e9)


@pytest.fixture
def write_tape(tmp_path: Path) -> WriteTape:
    """Writes a recording of given exchanges, through the real recorder and transport."""

    def write(
        exchanges: Sequence[Exchange],
        *,
        name: str = "tape.jsonl",
        servers: Mapping[str, str] | None = None,
    ) -> Path:
        clock, answers = _Clock(), iter([answer for _, _, _, answer in exchanges])

        def answer(_: httpx2.Request) -> httpx2.Response:
            body = next(answers)
            if isinstance(body, bytes):
                return httpx2.Response(200, headers={"content-type": AWS_EVENTS}, content=body)
            if isinstance(body, str):
                return httpx2.Response(200, headers={"content-type": "text/event-stream"}, text=body)
            return httpx2.Response(200, json=body)

        path = tmp_path / name
        inner = httpx2.MockTransport(answer)
        with (
            Recorder(path, clock=clock, servers=servers) as recorder,
            httpx2.Client(transport=SyncCaptureTransport(recorder, inner)) as client,
        ):
            for at, url, request, _ in exchanges:
                clock.seconds = at
                client.post(url, json=request)
        return path

    return write


AWS_EVENTS = "application/vnd.amazon.eventstream"
TOOLS = ("read_file", "write_file")


@pytest.fixture
def mcp_tape() -> Callable[..., list[Exchange]]:
    """Exchanges with a small MCP server of the handshake era: its handshake, its list, calls of its tools."""

    def exchanges(
        calls: Sequence[tuple[float, str, Mapping[str, Any], str]] = (),
        *,
        url: str = "http://stdio.files.invalid/mcp",
        at: float = 0.0,
        tools: Sequence[str] = TOOLS,
    ) -> list[Exchange]:
        def rpc(method: str, id_: int, **params: object) -> dict[str, object]:
            return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}

        def result(id_: int, **value: object) -> dict[str, object]:
            return {"jsonrpc": "2.0", "id": id_, "result": value}

        handshake = result(
            0,
            protocolVersion="2025-11-25",
            capabilities={"tools": {}},
            serverInfo={"name": "Files", "version": "1"},
        )
        listed = [
            {"name": name, "description": f"{name}, as it says.", "inputSchema": {"type": "object"}}
            for name in tools
        ]
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        }
        made: list[Exchange] = [
            (at, url, rpc("initialize", 0, **hello), handshake),
            (at + 0.1, url, rpc("tools/list", 1), result(1, tools=listed)),
        ]
        for number, (when, tool, arguments, text) in enumerate(calls):
            content = [{"type": "text", "text": text}]
            asked = rpc("tools/call", 2 + number, name=tool, arguments=dict(arguments))
            made.append((when, url, asked, result(2 + number, content=content, isError=False)))
        return made

    return exchanges


@pytest.fixture
def launch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Launch:
    """Runs ``coldturn run`` in this process."""
    return launcher(monkeypatch, capsys, tmp_path)

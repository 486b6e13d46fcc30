"""Recordings of published servers, played through the runtime: nothing is installed, started or reached.

`tests/recordings/record_servers.py` made them (``make record-servers``) of the calls in `servers.toml`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import orjson
import pytest
from mcp import Client
from mcp.client.session import IncomingMessage

from coldturn.reference.catalogue import CatalogueStore
from coldturn.reference.clock import SystemClock
from coldturn.reference.connections import ConnectionState, Hub, Limits
from coldturn.reference.observer import NullObserver
from coldturn.reference.policy import Policy
from coldturn.reference.spec import AgentSpec, ConnectionSpec
from coldturn.reference.surface.model import CallOutcome, ToolSurface
from coldturn.reference.surface.toolbox import Toolbox
from coldturn.reference.wire.model import ToolCall
from coldturn.replay.capture.clients import over_http
from coldturn.replay.capture.stdio_bridge import stdio_url
from coldturn.replay.demo_recording.scrub import ensure_clean
from coldturn.replay.playback.recording import Recording, open_recording
from coldturn.replay.playback.transport import Playback
from recordings.record_servers import HERE, Call, Server, file_name, read_servers

SERVERS = {server.id: server for server in read_servers()}
MODERN, HANDSHAKE = "2026-07-28", "2025-11-25"
SESSIONS = [
    # Published servers written in TypeScript speak the older protocol only: `auto` falls back to it.
    ("everything", "auto", HANDSHAKE),
    ("everything", "legacy", HANDSHAKE),
    ("filesystem", "auto", HANDSHAKE),
    ("filesystem", "legacy", HANDSHAKE),
    ("git", "auto", MODERN),
    ("git", "legacy", HANDSHAKE),
    ("time", "auto", MODERN),
    ("time", "legacy", HANDSHAKE),
]
TIERS = {
    "direct": (True, Policy(direct_tools=50)),
    "facade": (True, Policy(direct_tools=0)),
    "search": (True, Policy(direct_tools=0, facade_tools=0)),
    "meta": (False, Policy()),
}


@pytest.fixture(autouse=True)
def nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a test of recordings starts no program and opens no connection")

    monkeypatch.setattr(anyio, "open_process", refuse)
    monkeypatch.setattr(anyio, "connect_tcp", refuse)


@dataclass(frozen=True)
class Played:
    """A recorded server behind the runtime."""

    server: Server
    recording: Recording
    playback: Playback
    hub: Hub
    box: Toolbox
    surface: ToolSurface

    async def call(self, call: Call) -> CallOutcome:
        """Make a call on its route."""
        reach = self.box.reach(self.server.id, call.tool)
        arguments: dict[str, Any] = call.arguments
        if reach.route == "facade":
            arguments = {"tool": call.tool, "input": arguments}
        elif reach.route in {"meta", "search"}:
            arguments = {"server": self.server.id, "tool": call.tool, "input": arguments}
        name = reach.exposed or f"{self.server.id}__{call.tool}"
        return await self.box.call(ToolCall("c", name, json.dumps(arguments)), turn=1, step=1)


def recorded(server: str, mode: str) -> Recording:
    made_in = mode if mode in SERVERS[server].modes else "auto"
    return open_recording(HERE / file_name(server, made_in))


@asynccontextmanager
async def played(server: str, mode: str, tier: str = "direct") -> AsyncIterator[Played]:
    preload, policy = TIERS[tier]
    recording, store = recorded(server, mode), CatalogueStore()
    playback = Playback(recording)
    try:
        async with Hub(Limits(backoff=None)) as hub:
            spec = ConnectionSpec.model_validate({"id": server, "mode": mode, "preload": preload})
            dial = lambda: over_http(stdio_url(server), playback.transport())  # noqa: E731 - one use
            assert await hub.connect(spec, dial) is ConnectionState.READY, hub.reason(server)
            box = Toolbox(AgentSpec(), policy, hub, store, (), NullObserver(), SystemClock())
            surface = await box.start_turn(1)
            yield Played(SERVERS[server], recording, playback, hub, box, surface)
    finally:
        store.close()


def answers(recording: Recording, method: str) -> list[dict[str, Any]]:
    """The recorded results of one method, in order."""
    found = []
    for entry in recording.entries:
        if entry.rpc is not None and entry.rpc.method == method:
            events = [line[6:] for line in entry.body.decode().splitlines() if line.startswith("data: ")]
            found.append(orjson.loads(events[-1])["result"])
    return found


@pytest.mark.anyio
@pytest.mark.requirement("CONN-3")
@pytest.mark.parametrize(("server", "mode", "protocol"), SESSIONS)
async def test_a_server_is_known_as_it_was_recorded(server: str, mode: str, protocol: str) -> None:
    async with played(server, mode) as session:
        assert session.hub.protocol(server) == protocol
        (listing,) = answers(session.recording, "tools/list")
        rows = {row.name: row for row in session.box.permitted(server)}
        assert rows.keys() == {tool["name"] for tool in listing["tools"]}
        for tool in listing["tools"]:
            assert rows[tool["name"]].input_schema == tool["inputSchema"]
            assert rows[tool["name"]].output_schema == tool.get("outputSchema")
            assert rows[tool["name"]].description == tool["description"]
        assert len([t for t in session.surface.tools if t.server == server]) == len(rows)
        assert session.playback.misses == []


def text_of(result: dict[str, Any]) -> str:
    """What a model reads of a recorded result, from its blocks of text."""
    texts = []
    for block in result["content"]:
        if block["type"] == "text":
            texts.append(block["text"])
        elif block["type"] == "resource" and "text" in block["resource"]:
            texts.append(block["resource"]["text"])
        elif block["type"] == "resource_link":
            texts.append(f"resource {block['name']}: {block['uri']}")
    return "\n".join(texts)


@pytest.mark.anyio
@pytest.mark.requirement("CONN-3", "TIER-4")
@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(("server", "mode", "protocol"), SESSIONS)
async def test_every_call_answers_as_recorded_in_every_tier(
    server: str, mode: str, protocol: str, tier: str
) -> None:
    refusals = {"get-sum": "invalid_arguments", "no-such-tool": "unknown_tool"}
    async with played(server, mode, tier) as session:
        results = answers(session.recording, "tools/call")
        assert len(results) == len(session.server.calls)
        for call, result in zip(session.server.calls, results, strict=True):
            outcome = await session.call(call)
            if outcome.refusal is None:
                assert outcome.text == text_of(result) or call.tool == "read_media_file"
                assert outcome.is_error == result.get("isError", False)
                assert (outcome.server, outcome.tool, outcome.route) == (server, call.tool, tier)
                assert outcome.schema_problem is None
            else:
                # What the runtime refuses itself never reached the server, so its answer is still there.
                assert outcome.refusal == refusals[call.tool]
                sent = await session.hub.call_tool(server, call.tool, call.arguments)
                assert (sent.is_error, outcome.is_error) == (True, True)
        assert session.playback.misses == []
        left = [line for line in session.playback.report().leftover if "tools/call" in line]
        assert left == []


def call_of(tool: str, where: Callable[[Call], bool] = lambda _: True) -> Call:
    return next(c for s in SERVERS.values() for c in s.calls if c.tool == tool and where(c))


@pytest.mark.anyio
@pytest.mark.requirement("BIG-7")
@pytest.mark.parametrize(
    ("server", "call", "kinds"),
    [
        ("everything", call_of("get-tiny-image"), ["image image/png"]),
        ("everything", call_of("get-annotated-message"), ["image image/png"]),
        (
            "everything",
            call_of("get-resource-reference", lambda c: c.arguments["resourceType"] == "Blob"),
            ["resource text/plain"],
        ),
        ("everything", call_of("gzip-file-as-resource"), ["resource application/gzip"]),
        ("filesystem", call_of("read_media_file"), ["image image/png"]),
    ],
)
async def test_binary_content_is_told_and_not_shown(server: str, call: Call, kinds: list[str]) -> None:
    async with played(server, "auto") as session:
        outcome = await session.call(call)
        assert [line.partition(",")[0] for line in outcome.binary] == kinds
        assert all(" bytes, xxh3-128 " in line for line in outcome.binary)
        for result in answers(session.recording, "tools/call"):
            for block in result["content"]:
                data = block.get("data") or block.get("resource", {}).get("blob") or "\0"
                assert data not in outcome.text


@pytest.mark.anyio
@pytest.mark.requirement("BIG-7")
async def test_an_image_that_a_server_repeats_as_structured_content_is_told_there_too() -> None:
    async with played("filesystem", "auto") as session:
        outcome = await session.call(call_of("read_media_file"))
        (block,) = json.loads(outcome.text)["content"]
        assert block == {"type": "image", "data": outcome.binary[0], "mimeType": "image/png"}


@pytest.mark.anyio
@pytest.mark.requirement("CONN-4")
async def test_structured_content_fits_its_schema_and_has_its_text() -> None:
    async with played("everything", "auto") as session:
        outcome = await session.call(call_of("get-structured-content"))
        assert outcome.schema_problem is None
        assert json.loads(outcome.text).keys() == {"temperature", "conditions", "humidity"}
    async with played("filesystem", "auto") as session:
        row = next(row for row in session.box.permitted("filesystem") if row.name == "read_text_file")
        assert row.output_schema is not None
        assert "High water at one" in (await session.call(call_of("read_text_file"))).text


@pytest.mark.anyio
async def test_failures_of_a_server_are_ordinary_results() -> None:
    async with played("filesystem", "auto") as session:
        outside = call_of("read_text_file", lambda c: c.arguments["path"] == "/etc/hostname")
        outcome = await session.call(outside)
        assert (outcome.is_error, outcome.refusal) == (True, None)
        assert outcome.text.startswith("Access denied - path outside allowed directories")
    async with played("git", "auto") as session:
        outcome = await session.call(call_of("git_checkout"))
        assert (outcome.is_error, outcome.refusal) == (True, None)


@pytest.mark.anyio
async def test_the_same_question_is_answered_in_recorded_order() -> None:
    async with played("git", "auto") as session:
        texts = [(await session.call(c)).text for c in session.server.calls if c.tool == "git_status"]
        assert "not staged" in texts[0]
        assert "to be committed" in texts[1]


@pytest.mark.anyio
@pytest.mark.parametrize("reports", [True, False])
async def test_progress_arrives_where_it_was_asked_for(reports: bool) -> None:
    seen: list[tuple[float, float | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total))

    call = call_of("trigger-long-running-operation")
    playback = Playback(recorded("everything", "auto"))
    client = Client(over_http(stdio_url("everything"), playback.transport()), cache=None)
    async with client:
        result = await client.call_tool(
            call.tool, call.arguments, progress_callback=note if reports else None
        )
    assert isinstance(result.content[0], types.TextContent)
    assert result.content[0].text.startswith("Long running operation completed")
    assert seen == ([(1, 4), (2, 4), (3, 4), (4, 4)] if reports else [])


@pytest.mark.anyio
async def test_a_recorded_change_of_the_list_is_announced_again() -> None:
    changed = anyio.Event()

    async def note(message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            changed.set()

    playback = Playback(recorded("everything", "auto"))
    client = Client(
        over_http(stdio_url("everything"), playback.transport()), cache=None, message_handler=note
    )
    with anyio.fail_after(10):
        async with client:
            await changed.wait()


@pytest.mark.parametrize("path", sorted(HERE.glob("*.jsonl")), ids=lambda path: path.name)
def test_recordings_are_small_and_tell_nothing_of_a_machine(path: Path) -> None:
    data = path.read_bytes()
    assert len(data) < 60_000
    ensure_clean(
        data, ["/home/", "/root", "/opt/", "/usr/", "npmjs", "pypi", "node_modules", "site-packages"]
    )
    assert {entry.url.split("/")[2] for entry in open_recording(path).entries} == {
        f"stdio.{path.stem.removesuffix('-handshake')}.invalid"
    }


def test_there_is_a_recording_of_every_server_and_era() -> None:
    wanted = {file_name(server.id, mode) for server in SERVERS.values() for mode in server.modes}
    assert {path.name for path in HERE.glob("*.jsonl")} == wanted

"""Stdio servers behind an HTTP transport."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import httpx2
import mcp_types
import orjson
import pytest
from mcp import Client
from mcp.client.session import ClientRequestContext, IncomingMessage

from coldturn.replay.capture.clients import captured_stdio
from coldturn.replay.capture.recorder import Recorder
from coldturn.replay.capture.stdio_bridge import stdio_bridge
from coldturn.replay.errors import StdioServerError

TOY = [sys.executable, str(Path(__file__).with_name("toy_server.py"))]


async def _accept(
    context: ClientRequestContext, params: mcp_types.ElicitRequestParams
) -> mcp_types.ElicitResult:
    assert params.message == "Who are you?"
    return mcp_types.ElicitResult(action="accept", content={"name": "Ada"})


def _text(result: mcp_types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, mcp_types.TextContent)
    return content.text


@pytest.mark.anyio
@pytest.mark.requirement("REC-7")
async def test_handshake_era_with_a_question_in_mid_call_and_a_changing_list(tmp_path: Path) -> None:
    changed = anyio.Event()

    async def note(message: IncomingMessage) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            changed.set()

    seen: list[float] = []

    async def note_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    path = tmp_path / "session.jsonl"
    with Recorder(path) as recorder, anyio.fail_after(20):
        client = Client(
            captured_stdio(recorder, "toy", TOY),
            mode="legacy",
            cache=None,
            elicitation_callback=_accept,
            message_handler=note,
        )
        async with client:
            assert _text(await client.call_tool("ask", {})) == "hello Ada"  # plain vcrpy deadlocks here
            assert _text(await client.call_tool("count", {}, progress_callback=note_progress)) == "counted"
            before = {tool.name for tool in (await client.list_tools()).tools}
            await client.call_tool("grow", {})
            await changed.wait()
            after = {tool.name for tool in (await client.list_tools()).tools}
    assert after - before == {"extra"}
    assert seen == [1.0, 2.0]
    entries = [orjson.loads(line) for line in path.read_bytes().splitlines()][1:]
    assert {entry["request"]["uri"] for entry in entries} == {"http://stdio.toy.invalid/mcp"}
    (asked,) = (entry for entry in entries if '"ask"' in (entry["request"]["body"] or ""))
    assert "elicitation/create" in asked["response"]["body"]["string"]  # on the stream of the call that asks
    (stream,) = (entry for entry in entries if entry["request"]["method"] == "GET")
    assert "notifications/tools/list_changed" in stream["response"]["body"]["string"]


@pytest.mark.anyio
@pytest.mark.requirement("REC-7")
async def test_modern_era_with_a_subscription(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    with Recorder(path) as recorder, anyio.fail_after(20):
        client = Client(captured_stdio(recorder, "toy", TOY), mode="auto", cache=None)
        async with client, client.listen(tools_list_changed=True) as subscription:
            assert client.protocol_version == "2026-07-28"
            await client.call_tool("grow", {})
            await anext(aiter(subscription))
            assert "extra" in {tool.name for tool in (await client.list_tools()).tools}
    entries = [orjson.loads(line) for line in path.read_bytes().splitlines()][1:]
    listens = [e for e in entries if '"subscriptions/listen"' in (e["request"]["body"] or "")]
    assert len(listens) == 1
    assert "notifications/tools/list_changed" in listens[0]["response"]["body"]["string"]


ODD = """
import sys
sys.stdin.readline()
print('not json', flush=True)
print('{"id": 7,   "jsonrpc":"2.0", "result":{"x":1.0,"big":"' + 'y' * 2000000 + '"}}', flush=True)
sys.stdin.readline()
"""


@pytest.mark.anyio
@pytest.mark.requirement("REC-7", "REC-9")
async def test_the_servers_bytes_are_kept_as_they_are_and_its_death_is_an_error() -> None:
    with anyio.fail_after(20):
        async with (
            stdio_bridge("odd", [sys.executable, "-c", ODD]) as bridge,
            httpx2.AsyncClient(transport=bridge) as client,
        ):
            asked = {"jsonrpc": "2.0", "id": 7, "method": "x"}
            response = await client.post(bridge.url, json=asked)
            line = response.content.removeprefix(b"event: message\ndata: ").removesuffix(b"\n\n")
            assert line.startswith(b'{"id": 7,   "jsonrpc":"2.0", "result":{"x":1.0,')
            assert len(line) > 2_000_000
            response = await client.post(bridge.url, json={**asked, "id": 8})  # the child ends meanwhile
            assert response.content == b""
            with pytest.raises(httpx2.ConnectError, match="odd"):
                await client.post(bridge.url, json={**asked, "id": 9})


@pytest.mark.anyio
async def test_a_program_that_is_not_there_is_one_clear_error() -> None:
    with pytest.raises(StdioServerError, match="could not be started"):
        async with stdio_bridge("gone", ["/no/such/program"]):
            pass

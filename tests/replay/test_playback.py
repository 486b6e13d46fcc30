"""Playing recordings to the real MCP client."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import httpx2
import mcp_types
import orjson
import pytest
from mcp import Client, MCPError
from mcp.client.session import ClientRequestContext, IncomingMessage

from coldturn.replay.capture.clients import captured_stdio, over_http
from coldturn.replay.capture.recorder import Recorder
from coldturn.replay.capture.stdio_bridge import stdio_url
from coldturn.replay.capture.transport import SyncCaptureTransport
from coldturn.replay.errors import PlaybackMissError
from coldturn.replay.playback.recording import Recording, open_recording
from coldturn.replay.playback.transport import Playback

TOY = [sys.executable, str(Path(__file__).with_name("toy_server.py"))]
URL = stdio_url("toy")


async def _accept(
    context: ClientRequestContext, params: mcp_types.ElicitRequestParams
) -> mcp_types.ElicitResult:
    assert params.message == "Who are you?"
    return mcp_types.ElicitResult(action="accept", content={"name": "Ada"})


def _text(result: mcp_types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, mcp_types.TextContent)
    return content.text


class Log:
    """What a client saw."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.changed = anyio.Event()

    async def message(self, message: IncomingMessage) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self.lines.append("list changed")
            self.changed.set()

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.lines.append(f"progress {progress:g}")


async def _handshake_script(client: Client, log: Log) -> None:
    log.lines.append(_text(await client.call_tool("add", {"a": 40, "b": 2})))
    log.lines.append(_text(await client.call_tool("add", {"a": 1, "b": 2})))
    log.lines.append(_text(await client.call_tool("ask", {})))
    log.lines.append(_text(await client.call_tool("count", {}, progress_callback=log.progress)))
    log.lines.append(str(len((await client.list_tools()).tools)))
    log.lines.append(_text(await client.call_tool("grow", {})))
    await log.changed.wait()
    log.lines.append(str(len((await client.list_tools()).tools)))


@pytest.fixture
async def handshake_recording(tmp_path: Path) -> tuple[Recording, list[str]]:
    path, log = tmp_path / "handshake.jsonl", Log()
    with Recorder(path) as recorder, anyio.fail_after(20):
        client = Client(
            captured_stdio(recorder, "toy", TOY),
            mode="legacy",
            cache=None,
            elicitation_callback=_accept,
            message_handler=log.message,
        )
        async with client:
            await _handshake_script(client, log)
    return open_recording(path), log.lines


def _client(playback: Playback, log: Log | None = None, *, mode: str = "auto") -> Client:
    return Client(
        over_http(URL, playback.transport()),
        mode=mode,
        cache=None,
        elicitation_callback=_accept,
        message_handler=log.message if log else None,
    )


@pytest.mark.anyio
@pytest.mark.requirement("REC-4", "REC-7")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_same_script_sees_the_same_without_the_server(
    handshake_recording: tuple[Recording, list[str]], mode: str
) -> None:
    """`auto` asks for a discovery that was never recorded and must fall back; all its ids then differ."""
    recording, seen = handshake_recording
    playback, log = Playback(recording), Log()
    with anyio.fail_after(10):
        async with _client(playback, log, mode=mode) as client:
            await _handshake_script(client, log)
    # result and notification come on two streams: which is seen first is chance, also at the real server
    both = {"grown", "list changed"}
    assert [line for line in log.lines if line not in both] == [line for line in seen if line not in both]
    assert both < set(log.lines)
    assert log.lines[:2] == ["42", "3"]
    assert playback.misses == []
    report = playback.report()
    assert (report.unplayed, report.repeated, report.reordered) == (0, 0, 0)
    assert report.played == len(recording.entries)


@pytest.mark.anyio
@pytest.mark.requirement("REC-4")
async def test_the_modern_era_with_its_subscription(tmp_path: Path) -> None:
    async def script(client: Client) -> list[str]:
        lines: list[str] = []
        async with client.listen(tools_list_changed=True) as subscription:
            lines.append(str(len((await client.list_tools()).tools)))
            lines.append(_text(await client.call_tool("grow", {})))
            lines.append(type(await anext(aiter(subscription))).__name__)
            lines.append(str(len((await client.list_tools()).tools)))
        return lines

    path = tmp_path / "modern.jsonl"
    with anyio.fail_after(20):
        with Recorder(path) as recorder:
            async with Client(captured_stdio(recorder, "toy", TOY), cache=None) as client:
                recorded = await script(client)
        playback = Playback(open_recording(path))
        info = mcp_types.Implementation(name="somebody else", version="9")
        other = Client(over_http(URL, playback.transport()), cache=None, client_info=info)
        async with other as client:
            assert client.protocol_version == "2026-07-28"
            await client.list_tools()  # shifts the ids
            assert await script(client) == recorded == ["4", "grown", "ToolsListChanged", "5"]
    assert playback.misses == []
    assert playback.report().unplayed == 0


@pytest.mark.anyio
@pytest.mark.requirement("REC-4")
async def test_a_miss_names_the_nearest_calls_and_what_differs(
    handshake_recording: tuple[Recording, list[str]],
) -> None:
    recording, _ = handshake_recording
    playback = Playback(recording)
    with anyio.fail_after(10):
        async with _client(playback) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("add", {"a": 40, "b": 3})
            # the session survives a miss
            assert _text(await client.call_tool("add", {"a": 40, "b": 2})) == "42"
            with pytest.raises(MCPError, match="played already"):
                await client.call_tool("add", {"a": 40, "b": 2})
    assert 'tools/call add {"arguments":{"a":40,"b":3},"name":"add"}' in str(caught.value)
    assert "arguments.b is 2 instead of 3" in str(caught.value)
    assert [type(miss) for miss in playback.misses] == [PlaybackMissError, PlaybackMissError]
    assert playback.misses[0].nearest[0].startswith("entry ")


@pytest.mark.anyio
@pytest.mark.requirement("REC-5")
async def test_unplayed_repeated_and_reordered_entries_are_counted(
    handshake_recording: tuple[Recording, list[str]],
) -> None:
    recording, _ = handshake_recording
    playback = Playback(recording)
    with anyio.fail_after(10):
        async with _client(playback, mode="legacy") as client:
            await client.call_tool("add", {"a": 1, "b": 2})
            await client.call_tool("add", {"a": 40, "b": 2})  # recorded first
            before = playback.report().repeated  # the client lists tools itself, to validate results
            await client.list_tools()
            await client.list_tools()
    report = playback.report()
    assert report.reordered == 1
    assert report.repeated == before + 2
    assert report.played + report.unplayed == len(recording.mcp)
    assert any("tools/call grow" in line for line in report.leftover)


def _rpc(method: str, id_: int = 1, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


class SteppingClock:
    def __init__(self) -> None:
        self.seconds = 1000

    def time_ns(self) -> int:
        return self.seconds * 1_000_000_000


def _hand_made(path: Path, exchanges: Sequence[tuple[int, object, object]]) -> Recording:
    """A recording of (second, request, result) with one JSON answer each."""
    clock = SteppingClock()
    answers = iter([answer for _, _, answer in exchanges])
    inner = httpx2.MockTransport(
        lambda _: httpx2.Response(200, json={"jsonrpc": "2.0", "id": 1, "result": next(answers)})
    )
    with (
        Recorder(path, clock=clock, servers={URL: "toy"}) as recorder,
        httpx2.Client(transport=SyncCaptureTransport(recorder, inner)) as client,
    ):
        for second, request, _ in exchanges:
            clock.seconds = 1000 + second
            client.post(URL, json=request)
    return open_recording(path)


async def _ask(playback: Playback, request: object) -> dict[str, object]:
    async with httpx2.AsyncClient(transport=playback.transport()) as client:
        answer = orjson.loads((await client.post(URL, json=request)).content)
    assert isinstance(answer, dict)
    return answer


@pytest.mark.anyio
@pytest.mark.requirement("REC-4", "REP-3")
async def test_the_clock_decides_which_listing_is_current(tmp_path: Path) -> None:
    recording = _hand_made(
        tmp_path / "lists.jsonl",
        [
            (0, _rpc("tools/list"), {"tools": ["old 1"], "nextCursor": ""}),
            (1, _rpc("tools/list", cursor=""), {"tools": ["old 2"]}),
            (100, _rpc("tools/list"), {"tools": ["new 1"], "nextCursor": ""}),
            (101, _rpc("tools/list", cursor=""), {"tools": ["new 2"]}),
        ],
    )
    playback = Playback(recording, clocked=True)

    async def both() -> list[object]:
        first = await _ask(playback, _rpc("tools/list", 7))
        second = await _ask(playback, _rpc("tools/list", 8, cursor=""))
        assert (first["id"], second["id"]) == (7, 8)
        return [first["result"]["tools"][0], second["result"]["tools"][0]]  # type: ignore[index]

    assert await both() == ["old 1", "old 2"]
    playback.advance_to(1099.0)
    assert await both() == ["old 1", "old 2"]
    playback.advance_to(1100.0)
    assert await both() == ["new 1", "new 2"]
    playback.advance_to(1000.0)  # time does not go back
    assert await both() == ["new 1", "new 2"]


@pytest.mark.anyio
@pytest.mark.requirement("REC-4")
async def test_without_a_clock_listings_follow_the_calls(tmp_path: Path) -> None:
    recording = _hand_made(
        tmp_path / "lists.jsonl",
        [
            (0, _rpc("tools/list"), {"tools": ["before"]}),
            (1, _rpc("tools/call", name="x", arguments={}), {"content": []}),
            (2, _rpc("tools/list"), {"tools": ["between"]}),
            (3, _rpc("tools/call", name="y", arguments={}), {"content": []}),
            (4, _rpc("tools/list"), {"tools": ["after"]}),
        ],
    )
    playback = Playback(recording)

    async def tools() -> object:
        return (await _ask(playback, _rpc("tools/list")))["result"]["tools"][0]  # type: ignore[index]

    assert await tools() == "before"
    await _ask(playback, _rpc("tools/call", name="x", arguments={}))
    assert await tools() == "between"
    await _ask(playback, _rpc("tools/call", name="y", arguments={}))
    assert await tools() == "after"


@pytest.mark.anyio
@pytest.mark.requirement("REC-4")
async def test_trace_context_tokens_and_ids_do_not_matter_but_other_meta_does(tmp_path: Path) -> None:
    call = _rpc("tools/call", name="x", arguments={"b": 1, "a": 2}, _meta={"progressToken": 4})
    recording = _hand_made(
        tmp_path / "call.jsonl", [(0, call, {"content": [1]}), (1, call, {"content": [2]})]
    )
    playback = Playback(recording)
    meta = {"traceparent": "00-aa", "tracestate": "x=y", "baggage": "z", "progressToken": "other"}
    again = _rpc("tools/call", 99, name="x", arguments={"a": 2, "b": 1}, _meta=meta)
    assert await _ask(playback, again) == {"jsonrpc": "2.0", "id": 99, "result": {"content": [1]}}
    marked = _rpc("tools/call", name="x", arguments={"a": 2, "b": 1}, _meta={"tenant": "t"})
    assert "_meta.tenant is missing instead of" in str((await _ask(playback, marked))["error"])


@pytest.mark.anyio
async def test_a_recording_without_a_handshake_still_opens_a_session(tmp_path: Path) -> None:
    listed = {"tools": [{"name": "x", "inputSchema": {"type": "object"}}]}
    call = _rpc("tools/call", name="x", arguments={})
    answers = [(0, _rpc("tools/list"), listed), (1, call, {"content": [{"type": "text", "text": "played"}]})]
    playback = Playback(_hand_made(tmp_path / "bare.jsonl", answers))
    with anyio.fail_after(10):
        async with _client(playback) as client:
            assert _text(await client.call_tool("x", {})) == "played"
    assert playback.misses == []


@pytest.mark.anyio
async def test_what_nothing_depends_on_is_answered_politely(tmp_path: Path) -> None:
    playback = Playback(_hand_made(tmp_path / "x.jsonl", [(0, _rpc("tools/list"), {"tools": []})]))
    async with httpx2.AsyncClient(transport=playback.transport()) as client:
        assert (await client.get(URL)).status_code == 405
        assert (await client.delete(URL)).status_code == 204
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await client.post(URL, json=note)).status_code == 202
        assert (await client.post(URL, json=_rpc("ping"))).json()["result"] == {}
        with pytest.raises(PlaybackMissError):
            await client.post("https://api.example/v1/messages", json={"model": "m"})


@pytest.mark.anyio
async def test_provider_answers_play_too_and_keep_their_parts(tmp_path: Path) -> None:
    path = tmp_path / "provider.jsonl"
    parts = [b"data: one\n\n", b"data: two\n\n"]

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=iter(parts))

    with (
        Recorder(path) as recorder,
        httpx2.Client(transport=SyncCaptureTransport(recorder, httpx2.MockTransport(answer))) as client,
    ):
        client.post("https://api.example/v1/messages", content=b'{"a": 1, "b": 2}')
    playback = Playback(open_recording(path))
    async with (
        httpx2.AsyncClient(transport=playback.transport()) as client_,
        client_.stream("POST", "https://api.example/v1/messages", content=b'{"b":2,"a":1}') as response,
    ):
        assert [part async for part in response.aiter_raw()] == parts

"""Recording while traffic streams."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import httpx2
import orjson
import pytest
import yaml
from vcr.cassette import Cassette

from coldturn.replay.capture.jsonl import JsonlPersister
from coldturn.replay.capture.recorder import Recorder
from coldturn.replay.capture.transport import CaptureTransport, SyncCaptureTransport
from coldturn.replay.errors import (
    BinaryBodyError,
    RecordingExistsError,
    RecordingWarning,
    UnknownFormatError,
)


class SteppingClock:
    """A clock that a test moves."""

    def __init__(self, seconds: float = 1000.0) -> None:
        self.now_ns = int(seconds * 1e9)

    def time_ns(self) -> int:
        return self.now_ns

    def step(self, seconds: float) -> None:
        self.now_ns += int(seconds * 1e9)


class TwoParts(httpx2.AsyncByteStream):
    """Sends the second part only when it is told to."""

    def __init__(self) -> None:
        self.go = anyio.Event()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"data: one\n\n"
        await self.go.wait()
        yield b"data: two\n\n"


async def _post(transport: httpx2.AsyncBaseTransport, **kwargs: object) -> httpx2.Response:
    async with httpx2.AsyncClient(transport=transport) as client:
        return await client.post("https://api.example/v1", **kwargs)  # type: ignore[arg-type]


def _entries(path: Path) -> list[dict[str, object]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.anyio
@pytest.mark.requirement("REC-1", "REC-2")
async def test_parts_arrive_apart_and_are_recorded_with_their_times(tmp_path: Path) -> None:
    stream, clock = TwoParts(), SteppingClock()
    inner = httpx2.MockTransport(
        lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=stream)
    )
    path = tmp_path / "session.jsonl"
    with Recorder(path, clock=clock) as recorder:
        async with (
            httpx2.AsyncClient(transport=CaptureTransport(recorder, inner)) as client,
            client.stream("POST", "https://api.example/v1", json={"a": 1}) as response,
        ):
            parts = response.aiter_raw()
            clock.step(0.25)
            assert await anext(parts) == b"data: one\n\n"  # the second part does not exist yet
            clock.step(1.5)
            stream.go.set()
            assert await anext(parts) == b"data: two\n\n"
            clock.step(0.25)
    entry = _entries(path)[1]
    assert entry["response"]["x-coldturn"] == {  # type: ignore[index]
        "seq": 0,
        "start": 1000.0,
        "end": 1002.0,
        "chunks": [[0.25, 11], [1.75, 11]],
    }
    assert entry["request"]["body"] == '{"a":1}'  # type: ignore[index]


@pytest.mark.anyio
@pytest.mark.requirement("REC-3")
async def test_a_line_is_on_disk_as_soon_as_its_interaction_ended(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    recorder = Recorder(path)
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, content=b"ok"))
    await _post(CaptureTransport(recorder, inner))
    # not closed: what a killed process would leave
    header, entry = _entries(path)
    assert header["coldturn"]["version"] == 1  # type: ignore[index]
    assert entry["response"]["body"] == {"string": "ok"}  # type: ignore[index]
    recorder.close()


@pytest.mark.anyio
async def test_a_response_that_is_left_early_is_recorded_as_far_as_it_came(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    stream = TwoParts()
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, stream=stream))
    with Recorder(path) as recorder:
        async with (
            httpx2.AsyncClient(transport=CaptureTransport(recorder, inner)) as client,
            client.stream("GET", "https://api.example/v1") as response,
        ):
            await anext(response.aiter_raw())
    assert _entries(path)[1]["response"]["body"] == {"string": "data: one\n\n"}  # type: ignore[index]


@pytest.mark.anyio
@pytest.mark.requirement("REC-6")
async def test_only_allowed_headers_are_kept(tmp_path: Path) -> None:
    def answer(_: httpx2.Request) -> httpx2.Response:
        headers = {
            "Set-Cookie": "secret=1",
            "X-Request-Id": "req_1",
            "X-RateLimit-Remaining": "9",
            "Mcp-Session-Id": "s1",
            "X-Amzn-Bedrock-Cache-Read-Input-Token-Count": "4",
            "Openai-Organization": "who",
        }
        return httpx2.Response(200, headers=headers, content=b"ok")

    path = tmp_path / "session.jsonl"
    with Recorder(path) as recorder:
        sent = {
            "Authorization": "Bearer sk-123",
            "Cookie": "a=b",
            "X-Api-Key": "k",
            "MCP-Protocol-Version": "v",
            "Anthropic-Beta": "context-1m",
            "Openai-Project": "who",
        }
        response = await _post(CaptureTransport(recorder, httpx2.MockTransport(answer)), headers=sent)
    assert response.headers["set-cookie"] == "secret=1"  # the client still sees everything
    entry = _entries(path)[1]
    kept = {"mcp-protocol-version": ["v"], "anthropic-beta": ["context-1m"]}
    assert entry["request"]["headers"] == kept  # type: ignore[index]
    assert set(entry["response"]["headers"]) == {  # type: ignore[index]
        "x-request-id",
        "x-ratelimit-remaining",
        "mcp-session-id",
        "x-amzn-bedrock-cache-read-input-token-count",
    }
    assert b"sk-123" not in path.read_bytes()
    assert b"secret" not in path.read_bytes()


@pytest.mark.anyio
async def test_a_compressed_answer_is_stored_readable(tmp_path: Path) -> None:
    import gzip

    packed = gzip.compress(b'{"ok": true}')
    inner = httpx2.MockTransport(
        lambda _: httpx2.Response(200, headers={"content-encoding": "gzip"}, content=packed)
    )
    path = tmp_path / "session.jsonl"
    with Recorder(path) as recorder:
        response = await _post(CaptureTransport(recorder, inner))
    assert response.json() == {"ok": True}
    entry = _entries(path)[1]["response"]
    assert entry["body"] == {"string": '{"ok": true}'}  # type: ignore[index]
    assert [length for _, length in entry["x-coldturn"]["chunks"]] == [12]  # type: ignore[index]


def test_sync_clients_are_recorded_too(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, content=b"ok"))
    with Recorder(path) as recorder, httpx2.Client(transport=SyncCaptureTransport(recorder, inner)) as client:
        assert client.get("https://api.example/v1").text == "ok"
    assert _entries(path)[1]["request"]["method"] == "GET"  # type: ignore[index]


@pytest.mark.anyio
@pytest.mark.requirement("REC-3")
@pytest.mark.parametrize("suffix", [".yaml", ".json"])
async def test_vcrpy_reads_what_we_write(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"session{suffix}"
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, content=b"ok"))
    with Recorder(path, servers={"https://api.example/v1": "api"}) as recorder:
        await _post(CaptureTransport(recorder, inner), content=b'{"b":1,"a":2}')
    text = path.read_text()
    stored = json.loads(text) if suffix == ".json" else yaml.safe_load(text)
    assert stored["version"] == 1
    meta = stored["metadata"]["coldturn"]
    assert meta["version"] == 1
    assert meta["servers"] == {"https://api.example/v1": "api"}
    assert set(meta) == {"version", "created", "mcp", "vcrpy", "servers"}
    from vcr.serializers import jsonserializer, yamlserializer

    cassette = Cassette.load(
        path=str(path), serializer=jsonserializer if suffix == ".json" else yamlserializer
    )
    assert cassette.requests[0].body == b'{"b":1,"a":2}'
    assert cassette.responses[0]["x-coldturn"]["seq"] == 0


@pytest.mark.anyio
@pytest.mark.requirement("REC-3")
async def test_binary_bodies_live_in_jsonl_and_yaml_and_are_refused_by_json(tmp_path: Path) -> None:
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, content=b"\xff\x00"))
    for suffix in (".jsonl", ".yaml"):
        path = tmp_path / f"session{suffix}"
        with Recorder(path) as recorder:
            await _post(CaptureTransport(recorder, inner))
        if suffix == ".jsonl":
            _, responses, metadata = JsonlPersister.load_cassette(path, None)
            assert responses[0]["body"]["string"] == b"\xff\x00"
            assert metadata["coldturn"]["version"] == 1
    path = tmp_path / "session.json"
    recorder = Recorder(path)
    await _post(CaptureTransport(recorder, inner))
    with pytest.raises(BinaryBodyError, match="entry 0"):
        recorder.close()
    assert not path.exists()


@pytest.mark.requirement("REC-3")
def test_a_torn_last_line_is_dropped_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    with Recorder(path) as recorder, httpx2.Client(transport=SyncCaptureTransport(recorder, _OK)) as client:
        client.get("https://api.example/1")
        client.get("https://api.example/2")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.warns(RecordingWarning, match="torn"):
        requests, _, _ = JsonlPersister.load_cassette(path, None)
    assert [request.uri for request in requests] == ["https://api.example/1"]


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text("precious")
    with pytest.raises(RecordingExistsError):
        Recorder(path)
    assert path.read_text() == "precious"
    Recorder(path, overwrite=True).close()
    with pytest.raises(UnknownFormatError):
        Recorder(tmp_path / "session.txt")


_OK = httpx2.MockTransport(lambda _: httpx2.Response(200, content=b"ok"))

"""Recording under a sync client, as its bytes come."""

from __future__ import annotations

import gzip
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

import anthropic
import httpx2
import openai
import pytest

from coldturn.replay.capture.recorder import Recorder
from coldturn.replay.capture.transport import SyncCaptureTransport
from coldturn.replay.capture.unpacking import Unpacker
from coldturn.replay.playback.recording import open_recording
from fake_provider import Say, serving

KEY = "sk-ant-" + "api03-" + "aB3_" * 20


class Gated(httpx2.SyncByteStream):
    """Gives its second part only once the first has been seen."""

    def __init__(self) -> None:
        self.seen = threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        yield b"data: one\n\n"
        assert self.seen.is_set(), "the second part was asked for before the first was handed on"
        yield b"data: two\n\n"


@pytest.mark.requirement("REC-1", "REC-2")
def test_parts_are_handed_on_one_by_one(tmp_path: Path) -> None:
    stream = Gated()
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, stream=stream))
    path = tmp_path / "session.jsonl"
    with (
        Recorder(path) as recorder,
        httpx2.Client(transport=SyncCaptureTransport(recorder, inner)) as client,
        client.stream("GET", "https://api.example/v1") as response,
    ):
        parts = response.iter_raw()
        assert next(parts) == b"data: one\n\n"
        stream.seen.set()
        assert list(parts) == [b"data: two\n\n"]
    (entry,) = open_recording(path).entries
    (first, one), (second, two) = entry.chunks
    assert (one, two) == (11, 11)
    assert 0 <= first <= second <= entry.end - entry.start + 1e-6


@pytest.mark.requirement("REC-1", "REC-6")
def test_the_sync_sdks_are_recorded(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    with serving(Say(["hel", "lo"]), Say(["a", "b"])) as provider, Recorder(path) as recorder:
        http = httpx2.Client(transport=SyncCaptureTransport(recorder))
        with (
            http,
            anthropic.Anthropic(base_url=provider.url, api_key=KEY, http_client=http) as claude,
            claude.messages.stream(
                model="m", max_tokens=9, messages=[{"role": "user", "content": f"echo {KEY}"}]
            ) as stream,
        ):
            assert "".join(stream.text_stream) == "hello"
        http = httpx2.Client(transport=SyncCaptureTransport(recorder))
        with openai.OpenAI(base_url=provider.url + "/v1", api_key=KEY, http_client=http) as gpt:
            assert [event.type for event in gpt.responses.create(model="m", input="q", stream=True)][-1]
    entries = open_recording(path).entries
    assert [entry.request_body for entry in entries] == [
        body.replace(KEY.encode(), b"*" * len(KEY)) for body in provider.bodies
    ]
    assert KEY.encode() not in path.read_bytes()


def _sent(path: Path, answer: httpx2.Response, **request: object) -> None:
    inner = httpx2.MockTransport(lambda _: answer)
    with (
        Recorder(path) as recorder,
        httpx2.Client(transport=SyncCaptureTransport(recorder, inner)) as client,
        client.stream("POST", "https://api.example/v1", **request) as response,  # type: ignore[arg-type] # of the test
    ):
        list(response.iter_raw())


@pytest.mark.requirement("REC-9")
def test_a_packed_request_is_stored_as_it_was_meant(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    packed = gzip.compress(f'{{"key": "{KEY}"}}'.encode())
    _sent(path, httpx2.Response(200), content=packed, headers={"content-encoding": "gzip"})
    (entry,) = open_recording(path).entries
    assert entry.request_body == b'{"key": "' + b"*" * len(KEY) + b'"}'


def test_a_body_that_cannot_be_unpacked_is_left_out_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It could hold a secret that nobody can see."""
    path = tmp_path / "session.jsonl"
    answer = httpx2.Response(
        200, headers={"content-encoding": "zstd"}, stream=httpx2.ByteStream(b"(\xb5/\xfd...")
    )
    _sent(path, answer, content=b"{}")
    (entry,) = open_recording(path).entries
    assert entry.body == b""
    assert entry.chunks == ()
    assert b'"left_out":"it is compressed as zstd"' in path.read_bytes()
    assert "left out of the recording: it is compressed as zstd" in caplog.text


def test_bodies_are_unpacked_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = bytes(range(256)) * 100
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    packed = {
        "gzip": gzip.compress(plain),
        "deflate": zlib.compress(plain),
        " Deflate": raw.compress(plain) + raw.flush(),
        "": plain,
    }
    for encoding, body in packed.items():
        unpacker = Unpacker(encoding)
        parts = [unpacker.part(body[start : start + 7]) for start in range(0, len(body), 7)]
        assert b"".join(parts) == plain, encoding
        assert not unpacker.problem
    damaged = Unpacker("gzip")
    assert damaged.part(packed["gzip"][:20] + b"\xff" * 50) == b""
    assert "damaged" in damaged.problem
    monkeypatch.setattr("coldturn.replay.capture.unpacking.MAX_BODY_UNPACKED", 1_000)
    bomb = Unpacker("gzip")
    assert len(bomb.part(packed["gzip"])) == 1_000
    assert "more than" in bomb.problem

"""The recording proxy: bytes unchanged, parts as they come, no secret written, and it never stops serving."""

from __future__ import annotations

import gzip
import hashlib
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anthropic
import anyio
import httpx2
import openai
import orjson
import pytest

from coldturn.replay.capture.proxy import listen, open_proxy
from coldturn.replay.capture.redaction import Redaction
from coldturn.replay.capture.steady import SteadyRecorder
from coldturn.replay.capture.upstreams import parse_upstreams
from coldturn.replay.errors import PortInUseError, UpstreamError
from coldturn.replay.playback.recording import open_recording
from fake_provider import Say, Stall, serving
from raw_upstream import head, raw_upstream

pytestmark = pytest.mark.anyio

KEY = "sk-ant-" + "api03-" + "Ab1" * 20
QUESTION: Any = [{"role": "user", "content": "hello"}]


class Proxy:
    def __init__(self, url: str, path: Path, recorder: SteadyRecorder, said: list[str]) -> None:
        self.url = url
        self.path = path
        self.recorder = recorder
        self.said = said

    def entries(self) -> list[dict[str, Any]]:
        return [orjson.loads(line) for line in self.path.read_bytes().splitlines()][1:]


@asynccontextmanager
async def proxying(
    tmp_path: Path, *upstreams: str, label: str = "", redaction: Redaction | None = None
) -> AsyncIterator[Proxy]:
    path, said = tmp_path / "session.jsonl", list[str]()
    with SteadyRecorder(path, said.append, shared=True, redaction=redaction) as recorder:
        chosen = parse_upstreams(upstreams, label)
        async with open_proxy(listen(), recorder, chosen, notice=said.append) as url:
            yield Proxy(url, path, recorder, said)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.requirement("REC-8", "REC-9")
async def test_bodies_pass_unchanged_both_ways_and_are_stored_unpacked(tmp_path: Path) -> None:
    asked = b'{ "model":"m",\n"n":1.0, "escaped":"\\u00e9\\/", "raw":"\xff" }'
    plain = b'{"ok" : true, "pad": "' + b"x" * 200_000 + b'"}'
    packed = gzip.compress(plain)
    answer = head("content-type: application/json", "content-encoding: gzip", "x-two: a", "x-two: b")
    async with (
        raw_upstream([answer, packed[:100], packed[100:]]) as upstream,
        proxying(tmp_path, upstream.url + "/base") as proxy,
        httpx2.AsyncClient() as client,
        client.stream(
            "POST",
            proxy.url + "/v1/a%2Fb/%7Euser?q=a+b%20c&q=%C3%A9",
            content=asked,
            headers={
                "accept-encoding": "br, gzip;q=0.8",
                "x-own": "kept",
                "connection": "close, x-hop",
                "x-hop": "1",
            },
        ) as response,
    ):
        got = b"".join([part async for part in response.aiter_raw()])
    request, body = upstream.requests[0]
    assert digest(body) == digest(asked)
    assert digest(got) == digest(packed)
    lines = request.lower().split(b"\r\n")
    assert request.startswith(b"POST /base/v1/a%2Fb/%7Euser?q=a+b%20c&q=%C3%A9 HTTP/1.1\r\n")
    assert b"accept-encoding: gzip;q=0.8" in lines  # what we cannot unpack is not asked for
    assert b"x-own: kept" in lines
    assert b"host: " + upstream.url.removeprefix("http://").encode() in lines
    assert not any(line.startswith(b"x-hop") for line in lines)
    assert response.headers["content-encoding"] == "gzip"
    assert response.headers.get_list("x-two") == ["a", "b"]
    (entry,) = open_recording(proxy.path).entries
    assert entry.request_body == asked
    assert entry.body == plain
    assert sum(length for _, length in entry.chunks) == len(plain)
    assert entry.url == upstream.url + "/base/v1/a%2Fb/%7Euser?q=a+b%20c&q=%C3%A9"


async def test_an_address_passes_as_the_client_spelt_it(tmp_path: Path) -> None:
    odd = b'/v1/a|b\'{c}/"d"?q=[x]&r=`y`'
    async with (
        raw_upstream([head() + b"fine"]) as upstream,
        proxying(tmp_path, upstream.url) as proxy,
        httpx2.AsyncClient() as client,
    ):
        await client.get(proxy.url, extensions={"target": odd})
    assert upstream.requests[0][0].startswith(b"GET " + odd + b" HTTP/1.1\r\n")


@pytest.mark.requirement("REC-1", "REC-8")
async def test_parts_pass_while_the_answer_is_still_being_written(tmp_path: Path) -> None:
    """The upstream sends its second part when the client has seen the first: one that holds parts hangs."""
    seen = anyio.Event()
    parts = [head("content-type: text/event-stream") + b"data: one\n\n", b"data: two\n\n"]
    with anyio.fail_after(10):
        async with (
            raw_upstream(parts, pause=seen.wait) as upstream,
            proxying(tmp_path, upstream.url) as proxy,
            httpx2.AsyncClient() as client,
            client.stream("GET", proxy.url + "/events") as response,
        ):
            stream = response.aiter_raw()
            assert await anext(stream) == b"data: one\n\n"
            seen.set()
            assert await anext(stream) == b"data: two\n\n"
    timing = proxy.entries()[0]["response"]["x-coldturn"]
    (first, _), (second, _) = timing["chunks"]
    assert 0 <= first < second <= timing["end"] - timing["start"] + 1e-6


@pytest.mark.requirement("REC-8")
async def test_the_anthropic_sdk_streams_through_it(tmp_path: Path) -> None:
    with serving(Say(["hel", "lo"], [("add", {"a": 1})]), Say(["again"])) as provider:
        async with proxying(tmp_path, provider.url) as proxy:
            client = anthropic.AsyncAnthropic(base_url=proxy.url, api_key=KEY, max_retries=0)
            async with client, client.messages.stream(model="m", max_tokens=9, messages=QUESTION) as stream:
                texts = [text async for text in stream.text_stream]
                message = await stream.get_final_message()
        assert texts == ["hel", "lo"]
        assert message.content[-1].type == "tool_use"
        assert provider.headers[0]["authorization"] == f"Bearer {KEY}"  # the provider still gets it
    (entry,) = open_recording(proxy.path).entries
    assert entry.request_body == provider.bodies[0]
    assert entry.url == provider.url + "/v1/messages"
    assert KEY.encode() not in proxy.path.read_bytes()


@pytest.mark.requirement("REC-8")
async def test_the_openai_sdk_streams_both_of_its_surfaces_through_it(tmp_path: Path) -> None:
    with serving(Say(["hel", "lo"]), Say(["a", "b"])) as provider:
        async with (
            proxying(tmp_path, provider.url) as proxy,
            openai.AsyncOpenAI(base_url=proxy.url + "/v1", api_key=KEY, max_retries=0) as client,
        ):
            chat = await client.chat.completions.create(model="m", messages=QUESTION, stream=True)
            said = [chunk.choices[0].delta.content async for chunk in chat if chunk.choices]
            events = await client.responses.create(model="m", input="hello", stream=True)
            kinds = [event.type async for event in events]
    assert [text for text in said if text] == ["hel", "lo"]
    assert kinds[-1] == "response.completed"
    entries = open_recording(proxy.path).entries
    assert [entry.request_body for entry in entries] == provider.bodies
    assert [entry.url.removeprefix(provider.url) for entry in entries] == [
        "/v1/chat/completions",
        "/v1/responses",
    ]


@pytest.mark.requirement("REC-8")
async def test_one_proxy_stands_for_several_servers(tmp_path: Path) -> None:
    reply = [head("content-type: application/json") + b"{}"]
    async with (
        raw_upstream(reply) as api,
        raw_upstream(reply, reply) as docs,
        httpx2.AsyncClient() as client,
        proxying(tmp_path, api.url, f"docs={docs.url}/mcp", label="api") as proxy,
    ):
        await client.post(proxy.url + "/docs", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        await client.post(proxy.url + "/docs/more", json={"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        await client.post(proxy.url + "/documents", json={})
    assert [request.split(b" ")[1] for request, _ in docs.requests] == [b"/mcp", b"/mcp/more"]
    assert [request.split(b" ")[1] for request, _ in api.requests] == [b"/documents"]
    entries = open_recording(proxy.path).entries
    assert [entry.server for entry in entries] == ["docs", "docs", "api"]
    assert entries[0].url == docs.url + "/mcp"


@pytest.mark.requirement("REC-8")
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "[::1]", ""])
async def test_another_host_is_refused(tmp_path: Path, host: str) -> None:
    async with (
        raw_upstream() as upstream,
        proxying(tmp_path, upstream.url) as proxy,
        httpx2.AsyncClient() as client,
    ):
        response = await client.post(proxy.url + "/v1/messages", headers={"host": host}, content=b"{}")
    assert response.status_code == 400
    assert upstream.requests == []
    assert proxy.entries() == []


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1.evil.example:8484"])
async def test_a_page_of_the_web_is_refused(tmp_path: Path, origin: str) -> None:
    async with (
        raw_upstream([head() + b"fine"]) as upstream,
        proxying(tmp_path, upstream.url) as proxy,
        httpx2.AsyncClient() as client,
    ):
        refused = await client.post(proxy.url + "/mcp", headers={"origin": origin}, content=b"{}")
        own = await client.post(proxy.url + "/mcp", headers={"origin": proxy.url}, content=b"{}")
    assert (refused.status_code, own.status_code) == (403, 200)
    assert len(upstream.requests) == 1


@pytest.mark.requirement("REC-8")
def test_it_listens_on_this_machine_only() -> None:
    with listen() as listening:
        host, port = listening.getsockname()
        assert host == "127.0.0.1"
        assert listening.proto == socket.IPPROTO_TCP  # else asyncio holds small parts back for 40 ms
        with pytest.raises(PortInUseError, match=str(port)):
            listen(port)


async def test_websockets_are_refused_so_that_clients_fall_back(tmp_path: Path) -> None:
    async with (
        raw_upstream() as upstream,
        proxying(tmp_path, upstream.url) as proxy,
        httpx2.AsyncClient() as client,
    ):
        upgrade = {
            "connection": "Upgrade",
            "upgrade": "websocket",
            "sec-websocket-version": "13",
            "sec-websocket-key": "a",
        }
        response = await client.get(proxy.url + "/v1/responses", headers=upgrade)
    assert response.status_code == 426
    assert response.headers["connection"] == "close"


@pytest.mark.requirement("REC-8")
async def test_a_dead_upstream_is_a_502_in_one_sentence_and_the_next_request_is_served(
    tmp_path: Path,
) -> None:
    with listen() as unused:
        dead = f"http://127.0.0.1:{unused.getsockname()[1]}"
    async with (
        raw_upstream([head() + b"fine"]) as alive,
        httpx2.AsyncClient() as client,
        proxying(tmp_path, dead, f"alive={alive.url}") as proxy,
    ):
        failed = await client.post(proxy.url + f"/v1/messages?key={KEY}", content=b"{}")
        served = await client.get(proxy.url + "/alive/x")
    assert failed.status_code == 502
    assert failed.text.startswith(f"coldturn: {dead} does not answer: ")
    assert failed.text.count("\n") == 1
    assert KEY not in failed.text + "".join(proxy.said)
    assert served.text == "fine"
    assert [entry["request"]["uri"] for entry in proxy.entries()] == [
        alive.url + "/x"
    ]  # nobody answered with a 502


async def test_an_answer_that_breaks_off_breaks_off_for_the_client_too(tmp_path: Path) -> None:
    begun = head("content-type: text/event-stream", "content-length: 100") + b"data: begun\n\n"
    async with (
        raw_upstream([begun], [head() + b"fine"]) as upstream,
        httpx2.AsyncClient() as client,
        proxying(tmp_path, upstream.url) as proxy,
    ):
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.post(proxy.url + "/v1/messages", content=b"{}")
        assert (await client.get(proxy.url + "/next")).text == "fine"
    assert proxy.entries()[0]["response"]["body"] == {"string": "data: begun\n\n"}
    assert "broke off" in proxy.said[0]


@pytest.mark.requirement("REC-8")
async def test_a_client_that_leaves_ends_the_request_upstream(tmp_path: Path) -> None:
    with serving(Stall("wait for me"), Say(["fine"])) as provider, anyio.fail_after(10):
        async with proxying(tmp_path, provider.url) as proxy, httpx2.AsyncClient() as client:
            async with client.stream("POST", proxy.url + "/v1/messages", content=b"{}") as response:
                first = await anext(response.aiter_raw())
            await anyio.to_thread.run_sync(provider.gone.wait)
            assert (await client.post(proxy.url + "/v1/messages", content=b"{}")).status_code == 200
    entries = proxy.entries()
    assert entries[0]["response"]["body"]["string"].encode().startswith(first)
    assert len(entries) == 2


@pytest.mark.requirement("REC-8")
async def test_what_is_under_way_when_it_ends_is_recorded(tmp_path: Path) -> None:
    with serving(Stall("wait for me")) as provider, anyio.fail_after(10):
        async with httpx2.AsyncClient() as client:
            async with proxying(tmp_path, provider.url) as proxy:
                request = client.build_request("POST", proxy.url + "/v1/messages", content=b"{}")
                response = await client.send(request, stream=True)
                await anext(response.aiter_raw())
            await response.aclose()
    (entry,) = proxy.entries()
    assert "message_start" in entry["response"]["body"]["string"]


@pytest.mark.requirement("REC-6")
async def test_planted_keys_reach_no_cassette_and_no_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In headers, bodies and query strings, asked and answered, whole and in pieces of a stream, packed."""
    caplog.set_level(logging.DEBUG)
    named, shaped, sent = 'hunter2/of"odd é', "ghp_" + "a1B2" * 9, "opaque-credential-0123456789"
    pieces = [shaped[:7], shaped[7:20], shaped[20:]]
    with serving(Say(pieces)) as provider:
        echoed = orjson.dumps({"you sent": [named, shaped, sent, KEY]})
        answer = head(
            f"x-request-id: {shaped}",
            "content-type: application/json",
            "content-encoding: gzip",
            f"set-cookie: {KEY}",
        )
        async with raw_upstream([answer + gzip.compress(echoed)]) as upstream, httpx2.AsyncClient() as client:
            redaction = Redaction([named])
            async with proxying(tmp_path, provider.url, f"echo={upstream.url}", redaction=redaction) as proxy:
                headers = {
                    "authorization": f"Bearer {sent}",
                    "x-api-key": KEY,
                    "cookie": f"k={KEY}",
                    "x-request-id": shaped,
                }
                body = {"q": f"1. {named}\n{shaped}\t{KEY}", "nested": orjson.dumps({"in": named}).decode()}
                asked = await client.post(
                    proxy.url + "/echo",
                    params={"key": KEY, "named": named, "q": sent},
                    json=body,
                    headers=headers,
                )
                streamed = await client.post(proxy.url + "/v1/messages", json={"model": "m"}, headers=headers)
    assert asked.json() == orjson.loads(echoed)  # the client sees everything
    assert shaped[:7] in streamed.text
    written = proxy.path.read_bytes()
    for secret in (shaped, sent, KEY, "hunter2", *pieces[1:]):
        assert secret.encode() not in written, secret
    ours = [record for record in caplog.records if not record.name.startswith(("httpx2", "httpcore2"))]
    logged = "\n".join([*(record.getMessage() for record in ours), *proxy.said])
    assert "github_token" in logged
    assert not any(secret in logged for secret in (named, "hunter2", shaped, sent, KEY))
    assert "nested" not in logged  # nor any body
    first, second = open_recording(proxy.path).entries
    assert len(first.request_body) == len(upstream.requests[0][1])
    assert len(first.body) == len(echoed)
    assert len(second.body) == len(streamed.content)
    assert set(redaction.counts) >= {"secret", "github_token", "credential"}


async def test_keys_stay_when_that_is_asked_for_and_named_ones_never(tmp_path: Path) -> None:
    async with raw_upstream([head() + b"fine"]) as upstream, httpx2.AsyncClient() as client:
        redaction = Redaction(["named-secret"], shapes=False)
        async with proxying(tmp_path, upstream.url, redaction=redaction) as proxy:
            await client.post(proxy.url, content=f"{KEY} named-secret".encode())
    written = proxy.path.read_bytes()
    assert KEY.encode() in written
    assert b"named-secret" not in written


@pytest.mark.parametrize(
    "addresses",
    [
        ["ftp://host"],
        ["host"],
        ["https://"],
        ["https://u:p@host"],
        ["https://host/?key=1"],
        ["https://a", "https://b"],
    ],
)
def test_upstreams_that_cannot_be(addresses: list[str]) -> None:
    with pytest.raises(UpstreamError):
        parse_upstreams(addresses)

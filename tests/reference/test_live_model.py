"""The live model against a provider on 127.0.0.1."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import pytest

from coldturn.reference.connections import Backoff
from coldturn.reference.live import (
    DroppedReplyError,
    LiveModel,
    ProviderStatusError,
    ProviderUnreachableError,
    Retries,
    endpoint_of,
    open_client,
)
from coldturn.reference.model import ModelRequest
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire.errors import ProviderError, UnreadableReplyError
from coldturn.reference.wire.model import RENDERED_SURFACES, Reply
from fake_provider import PATHS, Answer, FakeProvider, Raw, Refuse, Say, events, serving

KEY = "sk-test-0123456789abcdef"
BODY = b'{"model" : "m",  "odd":1.50, "stream":true}'
ALL = pytest.mark.parametrize("surface", list(RENDERED_SURFACES))


@dataclass
class Asked:
    """A model at a fake provider, and what it reported."""

    provider: FakeProvider
    texts: list[str] = field(default_factory=list)
    waits: list[tuple[str, float]] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)

    async def reply(self, surface: Surface, *, retries: Retries | None = None) -> Reply:
        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)

        patience = replace(retries or Retries(backoff=Backoff(first=0.5, jitter=0.0)), sleep=sleep)
        endpoint = endpoint_of(surface, self.provider.environment(KEY))
        async with open_client() as client:
            model = LiveModel(
                endpoint,
                client,
                on_text=self.texts.append,
                on_wait=lambda error, seconds: self.waits.append((error.slug, seconds)),
                retries=patience,
            )
            return await model.respond(ModelRequest(surface, BODY, 0, 0, ()))


async def ask(surface: Surface, *script: Answer) -> tuple[Reply, Asked]:
    with serving(*script) as provider:
        asked = Asked(provider)
        return await asked.reply(surface), asked


async def fails(
    surface: Surface, *script: Answer, kind: type[ColdturnError], retries: Retries | None = None
) -> tuple[ColdturnError, Asked]:
    with serving(*script) as provider:
        asked = Asked(provider)
        with pytest.raises(kind) as raised:
            await asked.reply(surface, retries=retries)
    assert KEY not in str(raised.value)
    return raised.value, asked


@ALL
@pytest.mark.anyio
async def test_bytes_go_out_as_they_are_and_the_stream_comes_back(surface: Surface) -> None:
    say = Say(["Look", "ing… ", "ok"], [("read", {"path": "a"}), ("add", {"a": 1})], read=900, written=50)
    reply, asked = await ask(surface, say)
    assert asked.provider.bodies == [BODY]
    headers = asked.provider.headers[0]
    assert headers["content-type"] == "application/json"
    if surface is Surface.MESSAGES:
        assert (headers["x-api-key"], headers["anthropic-version"]) == (KEY, "2023-06-01")
        assert "authorization" not in headers
    else:
        assert headers["authorization"] == f"Bearer {KEY}"
    assert reply.text == "".join(asked.texts) == "Looking… ok"
    assert len(asked.texts) >= 1
    assert [(call.name, call.arguments) for call in reply.calls] == [
        ("read", '{"path":"a"}'),
        ("add", '{"a":1}'),
    ]
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.cache_read_tokens) == (1050, 900)
    assert (reply.usage.cache_write_tokens, reply.usage.output_tokens) == (50, 7)


@ALL
@pytest.mark.anyio
async def test_text_is_shown_before_the_reply_is_whole(surface: Surface) -> None:
    shown_after: list[int] = []
    parts = list(events(surface.value, Say(["one", "two"]), 1))

    class Stream(httpx2.AsyncByteStream):
        async def __aiter__(self) -> Any:  # noqa: ANN401 - an async generator
            for index, part in enumerate(parts):
                data = part.encode()
                yield data[:9]  # an event may come in pieces
                yield data[9:]
                shown_after.append(index) if len(texts) == 1 else None

    texts: list[str] = []
    transport = httpx2.MockTransport(
        lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Stream())
    )
    environment = {"OPENAI_BASE_URL": "http://h.invalid", "ANTHROPIC_BASE_URL": "http://h.invalid"}
    async with open_client(transport) as client:
        model = LiveModel(endpoint_of(surface, environment), client, on_text=texts.append)
        reply = await model.respond(ModelRequest(surface, BODY, 0, 0, ()))
    assert texts == ["one", "two"]
    assert reply.text == "onetwo"
    assert shown_after[0] < len(parts) - 2


@pytest.mark.anyio
async def test_a_server_that_does_not_stream_is_understood() -> None:
    body = (
        '{"id":"c","choices":[{"message":{"content":"whole"},"finish_reason":"stop"}],'
        '"usage":{"prompt_tokens":5}}'
    )
    reply, asked = await ask(Surface.CHAT_COMPLETIONS, Raw([body], "application/json"))
    assert asked.texts == ["whole"]
    assert reply.usage is not None
    assert reply.usage.input_tokens == 5


@pytest.mark.anyio
async def test_a_refused_key_is_named_by_its_variable_and_never_shown() -> None:
    echo = f'{{"error": {{"message": "Incorrect API key provided: {KEY}.", "type": "invalid"}}}}'
    error, asked = await fails(Surface.RESPONSES, Refuse(401, echo), kind=ProviderStatusError)
    assert "answered 401" in str(error)
    assert "check the key in OPENAI_API_KEY" in str(error)
    assert "Incorrect API key provided: ****" in str(error)
    assert asked.slept == []


@pytest.mark.anyio
async def test_a_rate_limit_is_waited_for_as_long_as_the_provider_says() -> None:
    reply, asked = await ask(
        Surface.MESSAGES,
        Refuse(429, headers={"retry-after": "7"}),
        Refuse(
            529,
            headers={
                "date": "Mon, 30 Nov 2026 10:00:00 GMT",
                "retry-after": "Mon, 30 Nov 2026 10:00:09 GMT",
            },
        ),
        Say(["at last"]),
    )
    assert reply.text == "at last"
    assert asked.slept == [7.0, 9.0]
    assert asked.waits == [("provider-status", 7.0), ("provider-status", 9.0)]
    assert asked.provider.bodies == [BODY] * 3


@pytest.mark.anyio
async def test_a_wait_that_is_too_long_ends_the_turn_instead() -> None:
    error, asked = await fails(
        Surface.RESPONSES, Refuse(429, headers={"retry-after": "3600"}), kind=ProviderStatusError
    )
    assert asked.slept == []
    assert isinstance(error, ProviderStatusError)
    assert error.retry_after == 3600


@pytest.mark.anyio
async def test_a_failing_provider_is_tried_three_times() -> None:
    error, asked = await fails(
        Surface.CHAT_COMPLETIONS, *[Refuse(500, "<html>oops</html>")] * 3, kind=ProviderStatusError
    )
    assert asked.slept == [0.5, 1.0]
    assert "answered 500 (<html>oops</html>); the trouble is the provider's" in str(error)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (400, "mend what the provider names"),
        (404, "OPENAI_BASE_URL"),
        (504, "try again later"),
        (307, "OPENAI_BASE_URL"),
    ],
)
async def test_what_may_have_been_answered_or_cannot_get_better_is_not_repeated(
    status: int, advice: str
) -> None:
    error, asked = await fails(Surface.RESPONSES, Refuse(status), kind=ProviderStatusError)
    assert advice in str(error)
    assert len(asked.provider.bodies) == 1


@ALL
@pytest.mark.anyio
@pytest.mark.parametrize("broken", [True, False], ids=["connection lost", "stream just ends"])
async def test_a_dropped_stream_is_an_error_and_is_not_asked_again(surface: Surface, broken: bool) -> None:
    whole = list(events(surface.value, Say(["half an answer"]), 1))
    begun = whole[: 1 + next(index for index, event in enumerate(whole) if "half an answer" in event)]
    error, asked = await fails(surface, Raw(begun, broken=broken), kind=DroppedReplyError)
    assert "broke off after" in str(error)
    assert "it was not asked for again" in str(error)
    assert asked.texts == ["half an answer"]
    assert len(asked.provider.bodies) == 1


@ALL
@pytest.mark.anyio
async def test_invalid_json_is_an_error_that_names_the_surface(surface: Surface) -> None:
    error, _ = await fails(surface, Raw(["{oops"], "application/json"), kind=UnreadableReplyError)
    assert surface.value in str(error)


@ALL
@pytest.mark.anyio
async def test_an_error_inside_the_stream_is_the_providers(surface: Surface) -> None:
    event = '{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'
    if surface is Surface.RESPONSES:
        event = '{"type": "error", "code": "overloaded_error", "message": "Overloaded"}'
    error, _ = await fails(surface, Raw([f"event: error\ndata: {event}\n\n"]), kind=ProviderError)
    assert "Overloaded" in str(error)


@pytest.mark.anyio
async def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        provider = FakeProvider([], url=f"http://127.0.0.1:{taken.getsockname()[1]}")
        asked = Asked(provider)
        with pytest.raises(ProviderUnreachableError) as raised:
            await asked.reply(Surface.MESSAGES)
    assert provider.url + PATHS["messages"] in str(raised.value)
    assert "ANTHROPIC_BASE_URL" in str(raised.value)
    assert len(asked.slept) == 2


@pytest.mark.anyio
@pytest.mark.parametrize(
    "retry_after", ["soon", "", "Mon, 30 Nov 2026 10:00:09 GMT"], ids=["word", "empty", "date without date"]
)
async def test_an_unreadable_retry_after_falls_back_to_our_own_waits(retry_after: str) -> None:
    _, asked = await ask(Surface.RESPONSES, Refuse(503, headers={"retry-after": retry_after}), Say(["fine"]))
    assert asked.slept == [0.5]


def test_a_key_stands_in_no_representation() -> None:
    endpoint = endpoint_of(Surface.RESPONSES, {"OPENAI_API_KEY": KEY})
    assert KEY not in repr(endpoint)
    assert endpoint.url == "https://api.openai.com/v1/responses"


Environment = dict[str, str]


@pytest.mark.parametrize(
    ("surface", "environment", "url"),
    [
        (Surface.MESSAGES, {"ANTHROPIC_API_KEY": "k"}, "https://api.anthropic.com/v1/messages"),
        (
            Surface.CHAT_COMPLETIONS,
            {"OPENAI_BASE_URL": "http://127.0.0.1:8080/v1/"},
            "http://127.0.0.1:8080/v1/chat/completions",
        ),
    ],
)
def test_addresses_are_those_of_the_official_sdks(
    surface: Surface, environment: Environment, url: str
) -> None:
    endpoint = endpoint_of(surface, environment)
    assert endpoint.url == url
    assert ("authorization" in endpoint.headers) is (surface is not Surface.MESSAGES and bool(endpoint.key))


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "OPENAI_API_KEY is not set"),
        ({"OPENAI_BASE_URL": "localhost:80"}, "OPENAI_BASE_URL is no address"),
        ({"OPENAI_BASE_URL": "http://h:nine/"}, "OPENAI_BASE_URL is no address"),
        ({"OPENAI_BASE_URL": "https://me:pass@h/v1"}, "holds a user, a password"),
        ({"OPENAI_BASE_URL": "https://h/v1?key=abc"}, "a query"),
        ({"OPENAI_API_KEY": "sk-two\nlines"}, "OPENAI_API_KEY holds a character"),
    ],
)
def test_what_cannot_be_addressed_is_said(environment: Environment, said: str) -> None:
    with pytest.raises(ColdturnError) as raised:
        endpoint_of(Surface.RESPONSES, environment)
    assert said in str(raised.value)
    assert raised.value.slug == "endpoint"
    assert "pass@" not in str(raised.value)

"""A provider on 127.0.0.1 that streams a script, in the event streams of the three surfaces."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

MODEL = "fake-model-1"
_BEFORE_TEXT = {"messages": 2, "chat_completions": 1, "responses": 3}
"""Events in front of the first text."""
PATHS = {
    "messages": "/v1/messages",
    "chat_completions": "/v1/chat/completions",
    "responses": "/v1/responses",
}


@dataclass(frozen=True)
class Say:
    """One reply: text in pieces, calls as (name, arguments), reported tokens."""

    texts: Sequence[str] = ()
    calls: Sequence[tuple[str, Mapping[str, Any]]] = ()
    read: int = 0
    written: int = 0
    fresh: int = 100
    output: int = 7
    usage: bool = True


@dataclass(frozen=True)
class Refuse:
    """An answer with an error status."""

    status: int
    body: str = '{"error": {"type": "some_error", "message": "No."}}'
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """A response as it is: `broken` ends it in the middle of the connection."""

    parts: Sequence[str]
    content_type: str = "text/event-stream"
    broken: bool = False


@dataclass(frozen=True)
class Stall:
    """A reply that begins and goes on only when the test lets it."""

    first: str


Answer: TypeAlias = Say | Refuse | Raw | Stall


class BrokenReply(Exception):  # noqa: N818 - it is no error of ours
    """Ends a response without its end."""


@dataclass
class FakeProvider:
    """What was asked, and what is going to be answered.

    Attributes:
        bodies: Of the requests, in order, as they arrived.
        headers: Of the requests.
        gone: Set when a `Stall` is no longer listened to.
    """

    script: list[Answer]
    url: str = ""
    bodies: list[bytes] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    gone: threading.Event = field(default_factory=threading.Event)

    def environment(self, key: str = "sk-test-0123456789abcdef") -> dict[str, str]:
        """What points both providers' variables here."""
        return {
            "OPENAI_BASE_URL": self.url + "/v1",
            "OPENAI_API_KEY": key,
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": key,
        }

    def app(self) -> Starlette:
        """The program."""
        return Starlette(
            routes=[Route(path, self._handler(surface), methods=["POST"]) for surface, path in PATHS.items()]
        )

    def _handler(self, surface: str) -> Any:  # noqa: ANN401 - an endpoint, as Starlette types it
        async def handle(request: Request) -> Response:
            self.bodies.append(await request.body())
            self.headers.append(dict(request.headers))
            answer = self.script[len(self.bodies) - 1]
            if isinstance(answer, Refuse):
                headers = {"content-type": "application/json", **answer.headers}
                return Response(answer.body, answer.status, headers)
            content_type = answer.content_type if isinstance(answer, Raw) else "text/event-stream"
            return StreamingResponse(self._stream(surface, answer), media_type=content_type)

        return handle

    async def _stream(self, surface: str, answer: Answer) -> AsyncIterator[str]:
        if isinstance(answer, Raw):
            for part in answer.parts:
                yield part
            if answer.broken:
                raise BrokenReply
        elif isinstance(answer, Stall):
            async for part in self._stalled(surface, answer):
                yield part
        elif isinstance(answer, Say):
            for event in events(surface, answer, len(self.bodies)):
                yield event

    async def _stalled(self, surface: str, answer: Stall) -> AsyncIterator[str]:
        import anyio

        *begun, _last = list(events(surface, Say([answer.first]), len(self.bodies)))
        try:
            for event in begun[: _BEFORE_TEXT[surface] + 1]:
                yield event
            await anyio.sleep_forever()
        finally:
            self.gone.set()


def events(surface: str, say: Say, number: int) -> Iterator[str]:
    """The event stream of a reply."""
    return {"messages": _messages, "chat_completions": _chat, "responses": _responses}[surface](say, number)


def _event(data: Mapping[str, Any], *, named: bool = True) -> str:
    head = f"event: {data['type']}\n" if named else ""
    return f"{head}data: {json.dumps(data)}\n\n"


def _halves(text: str) -> tuple[str, str]:
    middle = len(text) // 2
    return text[:middle], text[middle:]


def _messages(say: Say, number: int) -> Iterator[str]:
    usage: dict[str, Any] = {}
    if say.usage:
        usage = {
            "input_tokens": say.fresh,
            "cache_creation_input_tokens": say.written,
            "cache_read_input_tokens": say.read,
            "output_tokens": 1,
        }
    message: dict[str, Any] = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "usage": usage,
    }
    yield _event({"type": "message_start", "message": message})
    index = 0
    if say.texts:
        block = {"type": "text", "text": ""}
        yield _event({"type": "content_block_start", "index": 0, "content_block": block})
        for text in say.texts:
            delta = {"type": "text_delta", "text": text}
            yield _event({"type": "content_block_delta", "index": 0, "delta": delta})
        yield _event({"type": "content_block_stop", "index": 0})
        index = 1
    for place, (name, arguments) in enumerate(say.calls, index):
        identity = {"type": "tool_use", "id": f"toolu_{number}_{place}", "name": name}
        yield _event(
            {"type": "content_block_start", "index": place, "content_block": {**identity, "input": {}}}
        )
        for half in _halves(json.dumps(arguments, separators=(",", ":"))):
            delta = {"type": "input_json_delta", "partial_json": half}
            yield _event({"type": "content_block_delta", "index": place, "delta": delta})
        yield _event({"type": "content_block_stop", "index": place})
    ending: dict[str, Any] = {"stop_reason": "tool_use" if say.calls else "end_turn", "stop_sequence": None}
    reported = {"output_tokens": say.output} if say.usage else {}
    yield _event({"type": "message_delta", "delta": ending, "usage": reported})
    yield _event({"type": "message_stop"})


def _chat(say: Say, number: int) -> Iterator[str]:
    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _event({**_CHUNK, "id": f"chatcmpl-{number}", "choices": [choice]}, named=False)

    yield chunk({"role": "assistant", "content": ""})
    for text in say.texts:
        yield chunk({"content": text})
    for index, (name, arguments) in enumerate(say.calls):
        first, second = _halves(json.dumps(arguments, separators=(",", ":")))
        call = {"index": index, "id": f"call_{number}_{index}", "type": "function"}
        yield chunk({"tool_calls": [{**call, "function": {"name": name, "arguments": first}}]})
        yield chunk({"tool_calls": [{"index": index, "function": {"arguments": second}}]})
    yield chunk({}, "tool_calls" if say.calls else "stop")
    if say.usage:
        usage = {
            "prompt_tokens": say.fresh + say.read + say.written,
            "completion_tokens": say.output,
            "prompt_tokens_details": {"cached_tokens": say.read, "cache_write_tokens": say.written},
        }
        yield _event({**_CHUNK, "id": f"chatcmpl-{number}", "choices": [], "usage": usage}, named=False)
    yield "data: [DONE]\n\n"


_CHUNK = {"object": "chat.completion.chunk", "created": 1, "model": MODEL}


def _responses(say: Say, number: int) -> Iterator[str]:
    response: dict[str, Any] = {"id": f"resp_{number}", "object": "response", "model": MODEL}
    started = {**response, "status": "in_progress", "output": []}
    yield _event({"type": "response.created", "response": started})
    output: list[dict[str, Any]] = []
    if say.texts:
        item: dict[str, Any] = {"type": "message", "id": f"msg_{number}", "role": "assistant"}
        added = {**item, "status": "in_progress", "content": []}
        yield _event({"type": "response.output_item.added", "output_index": 0, "item": added})
        place: dict[str, Any] = {"output_index": 0, "content_index": 0, "item_id": item["id"]}
        empty = {"type": "output_text", "text": "", "annotations": []}
        yield _event({"type": "response.content_part.added", **place, "part": empty})
        for text in say.texts:
            yield _event({"type": "response.output_text.delta", **place, "delta": text})
        part = {**empty, "text": "".join(say.texts)}
        output.append({**item, "status": "completed", "content": [part]})
        yield _event({"type": "response.output_item.done", "output_index": 0, "item": output[-1]})
    for name, arguments in say.calls:
        text = json.dumps(arguments, separators=(",", ":"))
        identity = {"id": f"fc_{number}_{len(output)}", "call_id": f"call_{number}_{len(output)}"}
        call = {"type": "function_call", **identity, "name": name}
        added = {**call, "status": "in_progress", "arguments": ""}
        yield _event({"type": "response.output_item.added", "output_index": len(output), "item": added})
        place = {"output_index": len(output), "item_id": identity["id"]}
        for half in _halves(text):
            yield _event({"type": "response.function_call_arguments.delta", **place, "delta": half})
        output.append({**call, "status": "completed", "arguments": text})
        yield _event(
            {"type": "response.output_item.done", "output_index": len(output) - 1, "item": output[-1]}
        )
    usage = {
        "input_tokens": say.fresh + say.read + say.written,
        "input_tokens_details": {"cached_tokens": say.read, "cache_write_tokens": say.written},
        "output_tokens": say.output,
    }
    done = {**response, "status": "completed", "output": output, "usage": usage if say.usage else None}
    yield _event({"type": "response.completed", "response": done})


@contextmanager
def serving(*script: Answer) -> Iterator[FakeProvider]:
    """Serve a script from a thread of its own; one answer a request."""
    provider = FakeProvider(list(script))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        provider.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        config = uvicorn.Config(
            provider.app(),
            date_header=False,
            log_config=None,
            log_level="critical",
            timeout_graceful_shutdown=1,
            lifespan="off",
        )
        program = uvicorn.Server(config)
        thread = threading.Thread(target=program.run, kwargs={"sockets": [listening]}, daemon=True)
        listening.listen()
        thread.start()
        try:
            yield provider
        finally:
            program.should_exit = True
            thread.join(10)

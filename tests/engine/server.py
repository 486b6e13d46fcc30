"""A running engine, and what it tells of the requests that it is asked."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire import decode_reply
from coldturn.reference.wire.model import Reply

PATHS = {
    Surface.CHAT_COMPLETIONS: "/v1/chat/completions",
    Surface.RESPONSES: "/v1/responses",
    Surface.MESSAGES: "/v1/messages",
}
CONTEXT = 1 << 16
"""Tokens, which are bytes, that a slot holds."""

SIMILARITY = 0.1
"""The engine's default: the share of a prompt that a slot must hold to be chosen for it."""

_PATIENCE = 60.0
"""Seconds after which a start or an answer counts as hung; both take milliseconds."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as the engine saw it.

    Attributes:
        rendered: The prompt that the chat template made of the request.
        slot: The slot that served it.
        reply: What it answered; `usage` is what it reports.
        reads: Tokens that it reports as read from its cache.
    """

    rendered: bytes
    slot: int
    reply: Reply
    reads: int


class Engine:
    """Speaks to one engine over HTTP; one request at a time.

    Attributes:
        address: Where it listens.
        slots: How many prompts it keeps.
        similarity: Its threshold for choosing a slot by its content.
    """

    def __init__(self, address: str, slots: int, similarity: float) -> None:
        self.address = address
        self.slots = slots
        self.similarity = similarity
        self._http = httpx2.Client(base_url=address, timeout=_PATIENCE, trust_env=False)

    def ask(self, surface: Surface, body: bytes) -> Asked:
        """Post `body`, byte for byte, and learn how it was rendered and what was read."""
        answer = self._post(PATHS[surface], body)
        reply = decode_reply(surface, answer.content, answer.headers["content-type"])
        assert reply.usage is not None
        assert reply.usage.cache_read_tokens is not None
        slots = self._http.get("/slots").json()
        last = max(slots, key=lambda slot: slot.get("id_task", -1))
        rendered = last["prompt"].encode()
        assert len(rendered) == reply.usage.input_tokens, f"one token is one byte: {reply.usage} {rendered!r}"
        return Asked(rendered, last["id"], reply, reply.usage.cache_read_tokens)

    def render(self, chat_body: bytes) -> bytes:
        """Render a body of Chat Completions without running it."""
        text: str = self._post("/apply-template", chat_body).json()["prompt"]
        return text.encode()

    def _post(self, path: str, body: bytes) -> Any:  # noqa: ANN401 - JSON
        answer = self._http.post(path, content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.text}"
        return answer

    def close(self) -> None:
        """Close the connection."""
        self._http.close()


@contextmanager
def running_engine(model: Path, *, slots: int = 1, similarity: float = SIMILARITY) -> Iterator[Engine]:
    """Start an engine with empty slots; it ends with the block, or with this process."""
    log = model.with_name(f"engine-{slots}-{similarity}.log")
    arguments = [str(model), str(slots), str(similarity), str(CONTEXT)]
    with (
        log.open("wb") as errors,
        subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, str(Path(__file__).with_name("serve.py")), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            # `/slots` then tells the prompts.
            env={**os.environ, "LLAMA_SERVER_SLOTS_DEBUG": "1"},
        ) as process,
    ):
        try:
            engine = Engine(_address(process, log), slots, similarity)
            try:
                yield engine
            finally:
                engine.close()
        finally:
            process.kill()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], _PATIENCE)
    line: bytes = process.stdout.readline() if ready else b""
    assert line, f"the engine did not start: {log.read_text(errors='replace')[-2_000:]}"
    return line.decode().strip()

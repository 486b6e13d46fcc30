"""The providers' SDKs through the recording proxy against a real engine: its cache tells if bytes moved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire import decode_reply
from coldturn.reference.wire.model import Usage
from coldturn.replay.playback.recording import open_recording
from engine.server import PATHS, Engine
from recording_proxy import recording

EngineOf = Callable[..., Engine]
QUESTION: Any = [{"role": "user", "content": "What is a prefix? " * 8}]


@pytest.mark.requirement("REC-8", "REC-9")
def test_the_sdks_through_the_proxy_hit_the_engines_cache_as_if_it_were_not_there(
    engine_of: EngineOf, tmp_path: Path
) -> None:
    engine, path = engine_of(), tmp_path / "session.jsonl"
    with recording(path, engine.address) as proxy:
        claude = anthropic.Anthropic(base_url=proxy.url, api_key="engine-needs-none", max_retries=0)
        gpt = openai.OpenAI(base_url=proxy.url + "/v1", api_key="engine-needs-none", max_retries=0)
        with claude, gpt:
            with claude.messages.stream(model="tiny", max_tokens=2, messages=QUESTION) as stream:
                assert stream.get_final_message().usage.output_tokens > 0
            chat = gpt.chat.completions.create(
                model="tiny",
                max_tokens=2,
                messages=QUESTION,
                stream=True,
                stream_options={"include_usage": True},
            )
            assert [chunk.object for chunk in chat][-1] == "chat.completion.chunk"
            events = gpt.responses.create(model="tiny", max_output_tokens=2, input=QUESTION, stream=True)
            assert [event.type for event in events][-1] == "response.completed"
        proxy.end()
    surfaces = [Surface.MESSAGES, Surface.CHAT_COMPLETIONS, Surface.RESPONSES]
    entries = open_recording(path).entries
    assert len(entries) == len(surfaces)
    for surface, entry in zip(surfaces, entries, strict=True):
        usage = _usage(engine, surface, entry.request_body)  # what was recorded, sent without the proxy
        assert usage.input_tokens is not None
        assert usage.cache_read_tokens == usage.input_tokens - 1, surface


def _usage(engine: Engine, surface: Surface, body: bytes) -> Usage:
    answer = httpx2.post(
        engine.address + PATHS[surface],
        content=body,
        headers={"content-type": "application/json"},
        timeout=60,
        trust_env=False,
    )
    usage = decode_reply(surface, answer.content, answer.headers["content-type"]).usage
    assert usage is not None
    return usage

"""`coldturn run` against a real engine: what it streams is understood, what it reports is shown."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
import xxhash

from coldturn.reference.prefix.model import Surface
from coldturn.reference.wire.model import RENDERED_SURFACES
from coldturn.replay.cli.app import main
from coldturn.replay.playback.recording import open_recording
from coldturn.traces import names
from coldturn.traces.span_reader import read_spans
from engine.conftest import EngineOf

AGENT = """
[spec]
surface = "{surface}"
model = "tiny"
instructions = "{instructions}"
max_output_tokens = 8
"""
TURN = re.compile(
    r"turn (\d): 1 step; tokens reported: input ([\d,]+), read ([\d,]+), written .*; breaks: none"
)


@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
def test_a_live_conversation_reads_what_came_before(
    engine_of: EngineOf,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    surface: Surface,
) -> None:
    agent, tape, trace = tmp_path / "agent.toml", tmp_path / "tape.jsonl", tmp_path / "trace.jsonl"
    agent.write_text(AGENT.format(surface=surface.value, instructions="Be brief. " * 50), encoding="utf-8")
    engine = engine_of()
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", engine.address + "/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", engine.address)
    monkeypatch.setattr("sys.stdin", io.StringIO("Who are you?\nAnd who am I?\n"))
    with pytest.raises(SystemExit) as left:
        main(["run", str(agent), "--record", str(tape), "--trace", str(trace)])
    notes = capsys.readouterr().err
    assert left.value.code == 0, notes
    (_, first, none), (_, second, read) = [
        (int(turn), int(tokens.replace(",", "")), int(cached.replace(",", "")))
        for turn, tokens, cached in TURN.findall(notes)
    ]
    assert none == 0
    # Behind the first turn's trailing message, which moves on, everything is new to the engine.
    assert 0 < first - read < 400
    assert second > read
    sent = [entry.request_body for entry in open_recording(tape).entries]
    chats = sorted((s for s in read_spans(trace) if names.WIRE_HASH in s.attributes), key=lambda s: s.start)
    assert [chat.attributes[names.WIRE_HASH] for chat in chats] == list(map(xxhash.xxh3_128_hexdigest, sent))
    assert all(json.loads(body)["stream"] is True for body in sent)

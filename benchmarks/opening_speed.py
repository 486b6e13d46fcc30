"""Opening a long recording of small exchanges: JSON lines held against YAML read with libyaml, in one run.

The same exchanges in both formats, written by `coldturn convert` and opened as a replay opens them.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx2
import orjson
import yaml
from vcr.persisters.filesystem import FilesystemPersister
from vcr.serializers import yamlserializer

from coldturn.replay.capture.recorder import Recorder
from coldturn.replay.capture.transport import SyncCaptureTransport
from coldturn.replay.files.convert import convert_file
from coldturn.replay.playback.recording import open_recording

ENTRIES = 14_000
ANSWER_BYTES = 700
ROUNDS = 3
HEADERS = {
    "content-type": "application/json",
    "mcp-method": "tools/call",
    "mcp-name": "read_file",
    "mcp-protocol-version": "2026-07-28",
    "mcp-session-id": "7d1a7c1e0f4b4a0e9c55a3a1",
}
"""Those of the SDK's client that a recording keeps."""
LEAST = 5.0
"""JSON lines open at least so many times faster."""


def write(path: Path, entries: int = ENTRIES) -> None:
    """Record small calls of one server, about 1.4 KB each as a line."""
    count = iter(range(entries))

    def answer(_: httpx2.Request) -> httpx2.Response:
        text = f"line {next(count)}: " + "all is as it should be, and more of it. " * (ANSWER_BYTES // 40)
        content = [{"type": "text", "text": text}]
        return httpx2.Response(200, json={"jsonrpc": "2.0", "id": 1, "result": {"content": content}})

    with (
        Recorder(path, servers={"http://stdio.files.invalid/mcp": "files"}) as recorder,
        httpx2.Client(transport=SyncCaptureTransport(recorder, httpx2.MockTransport(answer))) as client,
    ):
        for number in range(entries):
            params = {"name": "read_file", "arguments": {"path": f"src/module_{number}.py"}}
            call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            client.post("http://stdio.files.invalid/mcp", content=orjson.dumps(call), headers=HEADERS)


def seconds_to_open(path: Path, entries: int, rounds: int = ROUNDS) -> float:
    """The best of some rounds, by the processor's time."""
    taken = []
    for _ in range(rounds):
        gc.collect()
        begin = time.process_time()
        found = len(open_recording(path).entries)
        taken.append(time.process_time() - begin)
        assert found == entries
    return min(taken)


@dataclass(frozen=True, slots=True)
class Opened:
    """Bytes of the JSON lines, and seconds: to open them, and the YAML, as we do and as vcrpy does."""

    size: int
    lines: float
    yaml: float
    vcrpy_yaml: float


def measure(entries: int = ENTRIES, rounds: int = ROUNDS) -> Opened:
    """Write and open a recording in both formats."""
    assert yaml.__with_libyaml__
    with tempfile.TemporaryDirectory() as folder:
        lines, slow = Path(folder) / "long.jsonl", Path(folder) / "long.yaml"
        write(lines, entries)
        convert_file(lines, slow)
        begin = time.process_time()
        requests, *_ = FilesystemPersister.load_cassette(slow, yamlserializer)
        by_vcrpy = time.process_time() - begin
        assert len(requests) == entries
        return Opened(
            size=lines.stat().st_size,
            lines=seconds_to_open(lines, entries, rounds),
            yaml=seconds_to_open(slow, entries, rounds),
            vcrpy_yaml=by_vcrpy,
        )


def run() -> Mapping[str, float]:
    """Times and their ratio; the limit is the inverse of what is asked for."""
    opened = measure()
    return {
        "entries": ENTRIES,
        "megabytes": opened.size / 1e6,
        "seconds_json_lines": opened.lines,
        "seconds_yaml": opened.yaml,
        "seconds_yaml_by_vcrpy": opened.vcrpy_yaml,
        "vcrpy_yaml_over_json_lines": opened.vcrpy_yaml / opened.lines,
        "yaml_over_json_lines": opened.yaml / opened.lines,
        "json_lines_over_yaml": opened.lines / opened.yaml,
        "json_lines_over_yaml_limit": 1 / LEAST,
    }

"""Records into many files and is killed at a random point of each. A program of `test_kill.py`, no test.

Arguments: a folder, how many recordings, a seed. Prints a JSON list: for each recording its file, and how
many exchanges had been answered to the client when the process died.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path

import httpx2
import orjson

from coldturn.replay.capture.recorder import Recorder
from coldturn.replay.capture.transport import SyncCaptureTransport

URL = "http://stdio.files.invalid/mcp"
SIZES = (10, 1_000, 20_000, 200_000)


def answer(request: httpx2.Request) -> httpx2.Response:
    asked = orjson.loads(request.content)
    match asked["method"]:
        case "initialize":
            result: dict[str, object] = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "files", "version": "1"},
            }
        case "tools/list":
            result = {"tools": [{"name": "read", "inputSchema": {"type": "object"}}]}
        case _:
            size = asked["params"]["arguments"]["size"]
            result = {"content": [{"type": "text", "text": "x" * size}]}
    return httpx2.Response(200, json={"jsonrpc": "2.0", "id": asked["id"], "result": result})


def record(path: Path, told: int, chance: random.Random) -> None:
    """Record until the end of the process."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    recorder = Recorder(path)
    with httpx2.Client(transport=SyncCaptureTransport(recorder, httpx2.MockTransport(answer))) as client:
        number = 0
        while True:
            method = ("initialize", "tools/list", "tools/call")[min(number, 2)]
            call = {"name": "read", "arguments": {"size": chance.choice(SIZES), "n": number}}
            params = {"initialize": hello, "tools/list": {}, "tools/call": call}[method]
            client.post(URL, json={"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            os.write(told, b".")
            number += 1


def killed(path: Path, chance: random.Random) -> int:
    """Start a recorder, kill it after some exchanges, at any point of the next one."""
    heard, told = os.pipe()
    process = os.fork()
    if not process:
        record(path, told, chance)
    os.close(told)
    answered = 0
    for _ in range(chance.randint(3, 12)):
        answered += len(os.read(heard, 1))
    for _ in range(chance.randint(0, 200_000)):
        pass
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    while data := os.read(heard, 4096):
        answered += len(data)
    os.close(heard)
    return answered


if __name__ == "__main__":
    folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    dice = random.Random(seed)  # noqa: S311 - where to kill is no secret
    files = [folder / f"{number}.jsonl" for number in range(count)]
    sys.stdout.write(orjson.dumps([[str(file), killed(file, dice)] for file in files]).decode())

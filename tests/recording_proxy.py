"""`coldturn record proxy` as a process of its own."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

PROGRAM = [sys.executable, "-m", "coldturn.replay.cli.app", "record", "proxy", "--port", "0"]
KEY = "sk-" + "proj-" + "aB3_" * 20
QUESTION = {"model": "m", "messages": [{"role": "user", "content": f"a secret {KEY}"}]}


@dataclass
class Running:
    process: subprocess.Popen[str]
    url: str

    def post(self, client: httpx2.Client, body: object = None) -> httpx2.Response:
        return client.post(
            f"{self.url}/v1/messages?key={KEY}",
            json=body or QUESTION,
            headers={"authorization": f"Bearer {KEY}"},
        )

    def line(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.readline()

    def end(self, number: signal.Signals = signal.SIGINT) -> str:
        """Everything that it said after its address."""
        self.process.send_signal(number)
        return self.process.communicate(timeout=120)[1]


@contextmanager
def recording(out: Path, upstream: str, *options: str) -> Iterator[Running]:
    command = [*PROGRAM, "--upstream", upstream, "--out", str(out), *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:  # noqa: S603 - ours
        try:
            assert process.stderr is not None
            found = re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline())
            assert found
            assert "Ctrl-C" in process.stderr.readline()
            yield Running(process, found[0])
        finally:
            process.kill()

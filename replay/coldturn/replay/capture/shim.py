"""A program that stands in for a stdio MCP server: it starts the server, passes every byte on, and records.

Two plain threads carry the bytes, so that traffic never waits for the recording; they hand copies to the tape
in the order in which they pass them on.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from enum import StrEnum
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import TYPE_CHECKING

from anyio.from_thread import BlockingPortal, start_blocking_portal

from coldturn.replay.errors import StdioServerError

if TYPE_CHECKING:
    # What records is slow to import: the server starts meanwhile.
    from coldturn.replay.capture.stdio_tape import StdioTape

_CHUNK = 65_536
_DRAIN_SECONDS = 2.0
_FINISH_SECONDS = 10.0
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Side(StrEnum):
    """Who wrote something."""

    HOST = "host"
    SERVER = "server"


def server_name(command: Sequence[str]) -> str:
    """What to call a server when nobody says: its program, without folder and ending."""
    return Path(command[0]).stem or "server"


def start_server(command: Sequence[str], name: str) -> subprocess.Popen[bytes]:
    """Start the server; it gets our environment, folder and standard error. Signals go on to it from now on.

    Raises:
        StdioServerError: The program cannot be started.
    """
    try:
        # The command is the user's own, as a list: no shell reads it.
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)  # noqa: S603
    except OSError as error:
        raise StdioServerError.unstarted(name, error) from error
    for number in _FORWARDED:
        signal.signal(number, _forwarding(server))
    return server


def run_shim(server: subprocess.Popen[bytes], tape: StdioTape, notice: Callable[[str], None]) -> int:
    """Stand between our standard streams and a server until it ends.

    Args:
        server: From `start_server`.
        tape: Takes what passes; its recorder stays open, the caller closes it.
        notice: Told in a sentence when something could not be recorded.

    Returns:
        The exit code to end with: the server's, or 128 and the signal that ended it.
    """
    with start_blocking_portal() as portal:
        code = _Shim(server, portal, tape, notice).run()
    return code if code >= 0 else 128 - code


class _Shim:
    def __init__(
        self,
        server: subprocess.Popen[bytes],
        portal: BlockingPortal,
        tape: StdioTape,
        notice: Callable[[str], None],
    ) -> None:
        self._notice = notice
        self._server = server
        self._portal = portal
        self._tape = tape

    def run(self) -> int:
        recorded: Future[None] = self._portal.start_task_soon(self._tape.run)
        Thread(target=self._host_to_server, daemon=True).start()
        answers = Thread(target=self._server_to_host, daemon=True)
        answers.start()
        code = self._server.wait()
        # Something that the server started may hold its output open.
        answers.join(_DRAIN_SECONDS)
        self._portal.start_task_soon(self._tape.end)
        try:
            recorded.result(_FINISH_SECONDS)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong here, the agent has got its answers
            recorded.cancel()
            self._notice(f"the recording is incomplete: {type(error).__name__} {error}")
        return code

    def _host_to_server(self) -> None:
        stdin = self._server.stdin
        if stdin is None:
            return
        try:
            self._carry(Side.HOST, sys.stdin.fileno(), stdin.fileno())
        finally:
            stdin.close()

    def _server_to_host(self) -> None:
        stdout = self._server.stdout
        if stdout is None:
            return
        try:
            self._carry(Side.SERVER, stdout.fileno(), sys.stdout.fileno())
        finally:
            stdout.close()

    def _carry(self, side: Side, source: int, target: int) -> None:
        """Pass bytes on until one end is closed."""
        try:
            while data := os.read(source, _CHUNK):
                self._portal.start_task_soon(self._tape.feed, side, data)
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(target, rest) :]
        except OSError:
            return


def _forwarding(server: subprocess.Popen[bytes]) -> Callable[[int, FrameType | None], None]:
    def forward(number: int, frame: FrameType | None) -> None:
        del frame
        server.send_signal(number)

    return forward

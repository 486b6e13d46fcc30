"""Make the recording that ships with the package: ``make record-demo``.

The script is the session file ``recordings/demo.session.toml``. This program installs the servers, prepares
the repository that the script works on, starts each server behind the stdio bridge and plays the script
against them with the runtime's own connections, recording the traffic. Everything it writes is below
``/tmp/coldturn-demo``, except the recording itself.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterable
from datetime import datetime
from functools import partial
from pathlib import Path

import anyio
from mcp import MCPError

from coldturn.reference.catalogue.walk import walk
from coldturn.reference.connections.connection import Limits
from coldturn.reference.connections.hub import Hub
from coldturn.reference.policy import POLICIES
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.spec import ConnectionSpec
from coldturn.replay.capture.clients import captured_stdio
from coldturn.replay.capture.recorder import Recorder
from coldturn.replay.capture.stdio_bridge import stdio_url
from coldturn.replay.demo_recording.scrub import ensure_clean, machine_names, scrub
from coldturn.replay.demo_recording.servers import install, launch, quiet_environment
from coldturn.replay.demo_recording.workspace import build_workspace
from coldturn.replay.errors import RecordingError, StdioServerError
from coldturn.replay.runs.runner import replay_policy
from coldturn.replay.sessions.loading import open_replayable, read_session
from coldturn.replay.sessions.session import Decision, Session, Turn

ROOT = Path("/tmp/coldturn-demo")  # noqa: S108 - a neutral path that the script names; paths are part of results
RECORDINGS = Path(__file__).parent.parent / "recordings"

logger = logging.getLogger(__name__)


class RecordingNotPlayedError(RecordingError):
    """A new recording holds exchanges that its own script does not play."""

    slug = "recording-not-played"

    def __init__(self, path: str, leftover: tuple[str, ...]) -> None:
        self.path = path
        self.leftover = leftover
        super().__init__(
            f"{path} was written, but its script does not play {'; '.join(leftover)}: record again"
        )


class ScriptedClock:
    """The machine's clock, set to the script's start and moved on by its gaps, which nobody waits for."""

    def __init__(self, start: datetime) -> None:
        self._offset_ns = int(start.timestamp()) * 1_000_000_000 - time.monotonic_ns()

    def skip(self, seconds: float) -> None:
        """Move on by a gap of the script."""
        self._offset_ns += int(seconds * 1e9)

    def time_ns(self) -> int:
        """Nanoseconds since the epoch."""
        return time.monotonic_ns() + self._offset_ns


class Performance:
    """One run of the script against the real servers."""

    def __init__(self, session: Session, hub: Hub, recorder: Recorder, clock: ScriptedClock) -> None:
        self._session = session
        self._hub = hub
        self._recorder = recorder
        self._clock = clock
        self._connections = {spec.id: spec for spec in session.spec.connections}

    async def play(self) -> None:
        """Connect, then follow turns and steps; calls of one step run at the same time."""
        for id_, spec in self._connections.items():
            if id_ not in self._session.late:
                await self._connect(spec)
        for number, turn in enumerate(self._session.turns):
            self._clock.skip(turn.after)
            await self._turn(turn)
            logger.info("turn %d: %d calls", number, sum(len(step.calls) for step in turn.steps))

    async def _turn(self, turn: Turn) -> None:
        for id_ in turn.connect:
            await self._connect(self._connections[id_])
        for id_ in turn.disconnect:
            await self._hub.disconnect(id_)
        await self._refresh()
        for step in turn.steps:
            self._clock.skip(step.after)
            async with anyio.create_task_group() as tasks:
                for call in step.calls:
                    if call.server is not None:
                        tasks.start_soon(self._call, call)

    async def _connect(self, spec: ConnectionSpec) -> None:
        started = launch(ROOT, spec.command, f"{int(self._session.start.timestamp())} +0000")
        await self._hub.connect(
            spec,
            lambda: captured_stdio(
                self._recorder, spec.id, started.command, env=started.environment, cwd=ROOT / "workspace"
            ),
        )
        if reason := self._hub.reason(spec.id):
            raise StdioServerError(spec.id, f"could not be connected: {reason}")

    async def _refresh(self) -> None:
        """List the tools of every server that connected or announced a change, as the runtime does."""
        await self._hub.settle()
        for id_, trigger in self._hub.take_pending():
            listing = await walk(id_, partial(self._hub.list_page, id_))
            logger.info("%s: %d tools (%s)", id_, len(listing.definitions), trigger)

    async def _call(self, call: Decision) -> None:
        try:
            result = await self._hub.call_tool(call.server or "", call.tool, dict(call.arguments))
        except MCPError as error:
            logger.info("%s.%s: %s", call.server, call.tool, error)
        else:
            logger.info("%s.%s: %s", call.server, call.tool, "error" if result.is_error else "fine")


async def record(session: Session, target: Path) -> None:
    """Play `session` against the installed servers and write the recording to `target`, scrubbed.

    Raises:
        UncleanRecordingError: Something of this machine is left; nothing is written then.
    """
    await build_workspace(ROOT, quiet_environment(ROOT))
    raw = ROOT / target.name
    clock = ScriptedClock(session.start)
    servers = {stdio_url(spec.id): spec.id for spec in session.spec.connections}
    with Recorder(raw, clock=clock, servers=servers, overwrite=True) as recorder:
        async with Hub(Limits(backoff=None)) as hub:
            await Performance(session, hub, recorder, clock).play()
    _ship(raw, target)


def _ship(raw: Path, target: Path) -> None:
    names = machine_names()
    clean = scrub(raw.read_bytes(), names)
    ensure_clean(clean, names)
    target.write_bytes(clean)


async def _main(arguments: Iterable[str]) -> None:
    if "--installed" not in arguments:
        await install(ROOT)
    session = read_session(RECORDINGS / "demo.session.toml")
    target = RECORDINGS / session.cassette
    await record(session, target)
    logger.info("%s: %d bytes", target, target.stat().st_size)
    played = (await replay_policy(open_replayable(target), POLICIES["stable"])).playback
    if played.unplayed:
        raise RecordingNotPlayedError(str(target), played.leftover)
    logger.info("replayed under stable: all %d exchanges were played", played.played)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for name in ("httpx2", "mcp", "vcr"):
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        anyio.run(_main, sys.argv[1:])
    except ColdturnError as error:
        sys.exit(f"record-demo: {error}")

"""Replay: a recording's servers and decisions through the reference runtime, under one policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from coldturn.analysis.breaks.pair import PairOptions
from coldturn.reference.catalogue import CatalogueStore
from coldturn.reference.connections import ConnectionState, Hub, Limits
from coldturn.reference.loop import run_turn
from coldturn.reference.observer import NullObserver, Observer
from coldturn.reference.policy import Policy
from coldturn.reference.run import Host, Run, open_run
from coldturn.reference.spec import ConnectionSpec
from coldturn.reference.surface.toolbox import Toolbox
from coldturn.replay.capture.clients import over_http
from coldturn.replay.errors import RecordingExistsError
from coldturn.replay.playback.transport import Playback
from coldturn.replay.runs.policies import file_name
from coldturn.replay.runs.replay_clock import ReplayClock
from coldturn.replay.runs.replay_model import LocalResults, ReplayModel
from coldturn.replay.runs.results import PolicyResult
from coldturn.replay.runs.step_log import StepLog, Watch
from coldturn.replay.sessions.implied import IDLE_SECONDS
from coldturn.replay.sessions.loading import OpenedRecording
from coldturn.replay.sessions.session import Turn
from coldturn.traces.otlp import SpanFile, TraceFileError
from coldturn.traces.spans import SpanObserver
from coldturn.traces.whole_file import is_request_dump, is_trace, need_place, written_whole

_UNHURRIED = Limits(connect=300.0, call=300.0, close=30.0, backoff=None)
"""Answers come from memory; a limit only ends a replay that has gone wrong."""


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """How a replay reports.

    Attributes:
        out: Folder for traces; None writes none.
        findings: What a step's break carries.
        requests: Policies whose requests are written into `out` too, as JSON lines that `explain` reads.
        idle_seconds: Without model exchanges and session file: a gap between calls that parts two turns.
        watch: Is told of every request as it is about to be sent. In this process only: `replay` with several
            jobs cannot pass it on.
    """

    out: Path | None = None
    findings: PairOptions = field(default_factory=PairOptions)
    requests: frozenset[str] = frozenset()
    idle_seconds: float = IDLE_SECONDS
    watch: Watch | None = None


def requests_file(folder: Path, label: str, policy: str) -> Path:
    """Where a replay writes requests. They are no trace, so the name does not end like one."""
    return folder / f"{label}.{policy}.requests.ndjson"


def need_places(opened: OpenedRecording, policies: Iterable[Policy], options: ReplayOptions) -> None:
    """Refuse what cannot be written before anything is replayed.

    Raises:
        RecordingExistsError: A trace would replace the recording.
        TraceFileError: The folder cannot be made or written.
        ForeignFileError: A file that would be replaced is somebody else's.
    """
    if options.out is None:
        return
    for policy in policies:
        need_place(_trace_file(opened, policy, options.out), "trace", is_trace)
        if policy.name in options.requests:
            requests = requests_file(options.out, opened.label, policy.name)
            need_place(requests, "dump of requests", is_request_dump)


def _trace_file(opened: OpenedRecording, policy: Policy, folder: Path) -> Path:
    path = folder / f"{opened.label}.{file_name(policy)}.jsonl"
    if path.resolve() in {Path(opened.source).resolve(), Path(opened.recording.source).resolve()}:
        raise RecordingExistsError(str(path))
    return path


class _Replay:
    """One recording under one policy, in motion."""

    def __init__(self, opened: OpenedRecording, policy: Policy, options: ReplayOptions) -> None:
        self._opened = opened
        self._policy = policy
        self._options = options
        self._session = opened.script.session
        clocked = opened.script.clocked
        self.playback = Playback(opened.recording, clocked=clocked)
        self._clock = ReplayClock(self._session.start, self.playback.advance_to if clocked else None)
        self._specs = {spec.id: spec for spec in self._session.spec.connections}
        self._hub = Hub(_UNHURRIED)

    async def run(self) -> PolicyResult:
        results = LocalResults()
        model = ReplayModel(self._session, self._clock, results)
        local = tuple(results.host_tool(spec) for spec in self._session.spec.local_tools)
        async with AsyncExitStack() as stack:
            observer, trace = self._observer(stack)
            keep = self._request_writer(stack)
            log = StepLog(observer, self._opened.source, self._options.findings, keep, self._options.watch)
            store = CatalogueStore(":memory:")
            stack.callback(store.close)
            await stack.enter_async_context(self._hub)
            for id_, spec in self._specs.items():
                if id_ not in self._session.late:
                    await self._connect(spec)
            host = Host(self._hub, store, local)
            spec_, policy, memory = self._session.spec, self._policy, self._session.memory
            run = open_run(spec_, policy, host, model, log, self._clock, "run-1", memory)
            model.bind(run)
            log.bind(run)
            for turn in self._session.turns:
                await self._turn(run, turn)
            notes = tuple(self._unreachable())
        return PolicyResult(
            policy=self._policy.name,
            turns=run.turns,
            steps=tuple(log.steps),
            extra_steps=model.extra_steps,
            trace=trace,
            playback=self.playback.report(),
            notes=notes,
        )

    def _unreachable(self) -> Iterator[str]:
        """Servers whose recorded handshake the client did not accept: calls of their tools failed."""
        for id_ in self._hub.ids:
            if self._hub.state(id_) is ConnectionState.UNREACHABLE:
                yield f"{id_} could not be reached ({self._hub.reason(id_)}); calls of its tools failed"

    def _observer(self, stack: AsyncExitStack) -> tuple[Observer, str | None]:
        if self._options.out is None:
            return NullObserver(), None
        label, policy = self._opened.label, self._policy.name
        path = _trace_file(self._opened, self._policy, self._options.out)
        writer = SpanFile(stack.enter_context(written_whole(path, "trace", is_trace)), mode="replace")
        stack.push(lambda *_: _refuse_gaps(writer, path))
        observer = SpanObserver(writer, clock=self._clock, recording=label, policy=policy)
        return stack.enter_context(observer), str(path)

    def _request_writer(self, stack: AsyncExitStack) -> Callable[[bytes], object] | None:
        out, policy = self._options.out, self._policy.name
        if out is None or policy not in self._options.requests:
            return None
        path = requests_file(out, self._opened.label, policy)
        partial = stack.enter_context(written_whole(path, "dump of requests", is_request_dump))
        file = stack.enter_context(partial.open("wb"))

        def write(body: bytes) -> None:
            started = self._clock.time_ns() / 1e9
            file.write(b'{"started":%.6f,"request":%b}\n' % (started, body))

        return write

    async def _connect(self, spec: ConnectionSpec) -> None:
        url = self._opened.addresses[spec.id]
        await self._hub.connect(spec, lambda: over_http(url, self.playback.transport()))

    async def _turn(self, run: Run, turn: Turn) -> None:
        self._clock.advance(turn.after)
        for id_ in turn.disconnect:
            await self._hub.disconnect(id_)
        for id_ in turn.connect:
            await self._connect(self._specs[id_])
        await self._refresh_quiet(run)
        # Each recorded step may need a list, a search and a description before it.
        run.max_steps = 4 * len(turn.steps) + 1
        outcome = await run_turn(run, turn.user)
        if self.playback.misses:
            raise self.playback.misses[0]
        if outcome.error is not None:
            raise outcome.error

    async def _refresh_quiet(self, run: Run) -> None:
        """Servers that announce nothing are asked again where the recording shows a newer listing."""
        toolbox = run.toolbox
        if isinstance(toolbox, Toolbox):
            for id_ in self._hub.ids:
                if self.playback.has_unannounced_listing(self._opened.addresses[id_]):
                    await toolbox.refresher.refresh(id_, "demand")


def _refuse_gaps(writer: SpanFile, path: Path) -> None:
    """A trace that the disk did not take whole gets no name.

    Raises:
        TraceFileError: Spans are missing.
    """
    if writer.lost:
        raise TraceFileError(path, f"{writer.lost} spans did not fit on the disk")


async def replay_policy(
    opened: OpenedRecording, policy: Policy, options: ReplayOptions | None = None
) -> PolicyResult:
    """Replay one recording under one policy.

    Raises:
        PlaybackMissError: The runtime asked for something that the recording does not hold.
        ColdturnError: A turn failed for another reason.
    """
    return await _Replay(opened, policy, options or ReplayOptions()).run()

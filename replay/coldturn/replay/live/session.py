"""A live Run with everything around it: a provider, real servers, a recording and a trace if asked for."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import httpx2
from mcp import StdioServerParameters

from coldturn.reference.catalogue import CatalogueStore
from coldturn.reference.clock import SystemClock
from coldturn.reference.connections import ConnectionState, Hub, TransportFactory, sweeping
from coldturn.reference.live import Endpoint, LiveModel, endpoint_of, open_client, streaming_settings
from coldturn.reference.loop import TurnOutcome, run_turn
from coldturn.reference.observer import NullObserver, Observer
from coldturn.reference.policy import Policy
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.run import Host, Run, open_run
from coldturn.reference.spec import ConnectionSpec
from coldturn.reference.surface.toolbox import Toolbox
from coldturn.replay.capture.clients import BearerTransport, captured_stdio, over_http
from coldturn.replay.capture.recorder import Recorder
from coldturn.replay.capture.redaction import Redaction
from coldturn.replay.capture.stdio_bridge import stdio_url
from coldturn.replay.capture.transport import CaptureTransport
from coldturn.replay.live.agent_file import AgentFile
from coldturn.replay.live.host_tools import HostTools
from coldturn.replay.live.view import LiveView
from coldturn.replay.sessions.recorded_agent import agent_metadata
from coldturn.traces.otlp import SpanFile
from coldturn.traces.spans import SpanObserver
from coldturn.traces.whole_file import need_trace


class MissingVariableError(ColdturnError):
    """The agent file names an environment variable that is not set."""

    slug = "missing-variable"

    def __init__(self, variable: str, connection: str) -> None:
        self.variable = variable
        super().__init__(
            f"the environment variable {variable}, which connection {connection!r} needs, is not set: "
            "set it, or take it out of the agent file"
        )


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """What is written down of a live Run, and how prompts are assembled.

    Attributes:
        record: A cassette for all traffic, of the provider and of MCP servers.
        trace: A file that spans are added to.
    """

    policy: Policy
    record: Path | None = None
    trace: Path | None = None


class LiveAgent:
    """A Run that a person talks to, a turn at a time."""

    def __init__(self, run: Run, view: LiveView) -> None:
        self.run = run
        self._view = view
        self._scope: anyio.CancelScope | None = None

    async def turn(self, text: str) -> TurnOutcome | None:
        """Take a turn, and show what it came to; None when it was stopped.

        Raises:
            RunEndedError: The Run has failed.
        """
        outcome: TurnOutcome | None = None
        with anyio.CancelScope() as self._scope:
            # The first turn reads every catalogue anyway.
            if self.run.turns and isinstance(self.run.toolbox, Toolbox):
                await self.run.toolbox.refresher.sweep()
            outcome = await run_turn(self.run, text)
        self._view.close_turn()
        return outcome

    def stop(self) -> None:
        """End the current turn; the Run goes on with the next one."""
        if self._scope is not None:
            self._scope.cancel()


@asynccontextmanager
async def open_live(
    agent: AgentFile,
    options: LiveOptions,
    environment: Mapping[str, str],
    show: Callable[[Observer], LiveView],
) -> AsyncIterator[LiveAgent]:
    """Connect everything and start a Run. A server that cannot be reached stops nothing.

    Args:
        agent: What to run.
        options: How, and what to write down.
        environment: Holds addresses, keys and tokens, such as ``os.environ``.
        show: Makes the view around the observer that writes spans.

    Raises:
        EndpointError: The provider cannot be addressed.
        MissingVariableError: A connection needs a variable that is not set.
        RecordingExistsError: The recording would overwrite a file.
        TraceFileError: The trace cannot be written.
        ForeignFileError: What stands there is no trace.
    """
    spec = agent.spec
    endpoint = endpoint_of(spec.surface, environment)
    given = _Given.of(agent, environment)
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        recorder = None
        if options.record is not None:
            redaction = Redaction([endpoint.key, *given.secrets])
            about = agent_metadata(spec, agent.memory, redaction)
            recorder = Recorder(
                options.record, servers=_labels(spec.connections), redaction=redaction, about=about
            )
            stack.callback(recorder.close)
        observer: Observer = NullObserver()
        if options.trace is not None:
            need_trace(options.trace)
            observer = stack.enter_context(SpanObserver(SpanFile(options.trace), clock=clock))
        view = show(observer)
        view.note(f"{spec.name}: {spec.model} at {endpoint.url}, policy {options.policy.name}")
        store = CatalogueStore(":memory:")
        stack.callback(store.close)
        client = await stack.enter_async_context(_client(recorder))
        hub = await stack.enter_async_context(Hub())
        await _connect(hub, spec.connections, given, recorder, view)
        tools = HostTools()
        host = Host(
            hub, store, tuple(map(tools.tool, spec.local_tools)), dict(streaming_settings(spec.surface))
        )
        model = _model(endpoint, client, view)
        run_id = f"run-{secrets.token_hex(4)}"
        run = open_run(spec, options.policy, host, model, view, clock, run_id, agent.memory)
        stack.callback(run.close)
        tools.bind(run)
        if isinstance(run.toolbox, Toolbox):
            await stack.enter_async_context(sweeping(run.toolbox.refresher))
        yield LiveAgent(run, view)


@dataclass(frozen=True, slots=True)
class _Given:
    """What the environment holds for the connections, by connection id."""

    variables: Mapping[str, Mapping[str, str]]
    tokens: Mapping[str, str]

    @classmethod
    def of(cls, agent: AgentFile, environment: Mapping[str, str]) -> _Given:
        def value(connection: str, name: str) -> str:
            found = environment.get(name, "").strip()
            if not found:
                raise MissingVariableError(name, connection)
            return found

        return cls(
            {id_: {name: value(id_, name) for name in names} for id_, names in agent.environment.items()},
            {id_: value(id_, name) for id_, name in agent.tokens.items()},
        )

    @property
    def secrets(self) -> list[str]:
        return [*self.tokens.values(), *(v for values in self.variables.values() for v in values.values())]


def _client(recorder: Recorder | None) -> httpx2.AsyncClient:
    return open_client(CaptureTransport(recorder) if recorder is not None else None)


def _model(endpoint: Endpoint, client: httpx2.AsyncClient, view: LiveView) -> LiveModel:
    return LiveModel(endpoint, client, on_text=view.text, on_wait=view.waiting)


def _labels(connections: tuple[ConnectionSpec, ...]) -> dict[str, str]:
    """Names of the servers by the addresses under which the recording keeps them."""
    return {one.url or stdio_url(one.id): one.id for one in connections}


async def _connect(
    hub: Hub,
    connections: tuple[ConnectionSpec, ...],
    given: _Given,
    recorder: Recorder | None,
    view: LiveView,
) -> None:
    """Dial all servers at once and say how it went."""
    if connections:
        view.note(f"  connecting to {', '.join(spec.id for spec in connections)}")
    async with anyio.create_task_group() as tasks:
        for spec in connections:
            tasks.start_soon(hub.connect, spec, _dial(spec, given, recorder))
    for spec in connections:
        if hub.state(spec.id) is not ConnectionState.READY:
            reason = hub.reason(spec.id)
            view.note(f"  {spec.id}: cannot be reached ({reason}); it is tried again while the agent runs")


def _dial(spec: ConnectionSpec, given: _Given, recorder: Recorder | None) -> TransportFactory | None:
    """How to reach a server; None leaves it to the Spec."""
    if spec.url is None:
        variables = dict(given.variables.get(spec.id, {}))
        if recorder is not None:
            return partial(captured_stdio, recorder, spec.id, spec.command, env=variables)
        command, *arguments = spec.command
        return lambda: StdioServerParameters(command=command, args=arguments, env=variables)
    url, token = spec.url, given.tokens.get(spec.id)
    if token is None and recorder is None:
        return None

    def over() -> httpx2.AsyncBaseTransport:
        sent = BearerTransport(token) if token is not None else httpx2.AsyncHTTPTransport()
        return CaptureTransport(recorder, sent) if recorder is not None else sent

    return lambda: over_http(url, over())

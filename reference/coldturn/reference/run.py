"""A Run: one conversation under one Spec version, and what it carries from step to step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import anyio

from coldturn.reference.catalogue import CatalogueStore
from coldturn.reference.clock import Clock, SystemClock
from coldturn.reference.connections import Hub
from coldturn.reference.model import Model
from coldturn.reference.observer import NullObserver, Observer
from coldturn.reference.policy import Policy
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.prefix.running_ledger import RunningLedger
from coldturn.reference.prompt.assembly import Assembly
from coldturn.reference.prompt.reader import reader_tool
from coldturn.reference.prompt.skills import skill_tool
from coldturn.reference.records import Record, RecordLog
from coldturn.reference.spec import AgentSpec
from coldturn.reference.surface.model import CallOutcome, HostTool, ToolSurface
from coldturn.reference.surface.toolbox import Toolbox
from coldturn.reference.wire import Fragments
from coldturn.reference.wire.model import Setting, ToolCall


class RunEndedError(ColdturnError):
    """A turn was asked of a Run that has failed or was closed."""

    slug = "run-ended"

    def __init__(self, run_id: str, reason: str) -> None:
        self.run_id = run_id
        super().__init__(
            f"run {run_id!r} takes no more turns: {reason}; its records stay readable, start a new run"
        )


class Tools(Protocol):
    """What a Run asks of its tools; `Toolbox` is the real one."""

    async def start_turn(self, turn: int) -> ToolSurface:
        """Resolve the surface for a turn, and give it for the first step."""
        ...

    def step_surface(self, turn: int, step: int) -> ToolSurface:
        """Give the surface of a later step."""
        ...

    async def call(self, call: ToolCall, *, turn: int, step: int, handle: str = "") -> CallOutcome:
        """Carry out a call; failures of a tool are outcomes, a `ColdturnError` ends the Run."""
        ...

    def arrived(self, handle: str) -> CallOutcome | None:
        """Give what a cancelled call had returned by then, if it had."""
        ...


@dataclass(frozen=True, slots=True)
class SentRequest:
    """The last request that a Run sent, and where in the conversation."""

    request: PromptRequest
    turn: int
    step: int


class Run:
    """The state of one conversation. `coldturn.reference.loop.run_turn` moves it on.

    Args:
        spec: The agent, of one version.
        policy: How prompts are assembled.
        toolbox: The tools; their `read_tool_output` must read `log`. `open_run` makes both fit.
        model: Answers the requests.
        observer: Is told of turns and steps.
        clock: What the prompt's date and time are taken from.
        run_id: Distinguishes Runs.
        memory: What is remembered of the user at the start.
        log: Where records go; a new one by default.
        max_steps: Model calls that one turn may take.
        settings: Members of every request that are no prompt, such as ``stream``.
        system_prompt: Stands for the Spec's instructions, skills index and roster when it is not None; what
            tells of servers and tools follows it all the same.

    Attributes:
        failure: The error that ended the Run, or None.
        turns: How many turns have been started.
        sent: The last request, which the next one is compared with.
        turn_lock: Held while a turn runs: a message that arrives meanwhile waits for the next turn.
    """

    def __init__(  # noqa: PLR0913 - a conversation has this many parts; all but four have defaults
        self,
        spec: AgentSpec,
        policy: Policy,
        toolbox: Tools,
        model: Model,
        observer: Observer | None = None,
        clock: Clock | None = None,
        run_id: str = "run-1",
        memory: str = "",
        *,
        log: RecordLog | None = None,
        max_steps: int = 100,
        settings: Mapping[str, Setting] | None = None,
        system_prompt: str | None = None,
    ) -> None:
        self.spec = spec
        self.policy = policy
        self.toolbox = toolbox
        self.model = model
        self.observer: Observer = observer or NullObserver()
        self.clock: Clock = clock or SystemClock()
        self.log = log or RecordLog(run_id)
        self.run_id = self.log.run_id
        self.max_steps = max_steps
        self.memory = memory
        self.reminders: dict[str, str] = {}
        self.assembly = Assembly(spec, policy, settings, system_prompt)
        self.fragments = Fragments()
        self.ledgers = RunningLedger()
        self.sent: SentRequest | None = None
        self.turns = 0
        self.calls = 0
        self.failure: ColdturnError | None = None
        self.turn_lock = anyio.Lock()
        self._closed = False

    @property
    def records(self) -> Sequence[Record]:
        """The whole log, oldest first; readable after a failure too."""
        return self.log.records

    def record(self, record: Record) -> None:
        """Log a record, and show it in the next prompt."""
        self.log.append(record)
        self.assembly.add(record)

    def set_memory(self, text: str) -> None:
        """Set what is remembered of the user; prompts show it from the next turn on."""
        self.memory = text

    def set_reminder(self, name: str, text: str) -> None:
        """Set a named reminder, such as a todo list; the next step shows it. An empty text removes it."""
        if text:
            self.reminders[name] = text
        else:
            self.reminders.pop(name, None)

    def new_call_id(self) -> str:
        """Name a tool call: numbers make requests the same on every run, whatever ids a provider gives."""
        self.calls += 1
        return f"call_{self.calls:04d}"

    def check_open(self) -> None:
        """Raise when no turn can be taken any more.

        Raises:
            RunEndedError: The Run has failed or was closed.
        """
        if self.failure is not None:
            raise RunEndedError(self.run_id, f"it failed ({self.failure.slug})")
        if self._closed:
            raise RunEndedError(self.run_id, "it was closed")

    def close(self) -> None:
        """Take no more turns. Connections belong to the host and stay as they are."""
        self._closed = True


def builtin_tools(spec: AgentSpec, policy: Policy, log: RecordLog) -> tuple[HostTool, ...]:
    """Make the tools that the runtime brings along: the reader of `log`; `read_skill` if there are skills."""
    reader = reader_tool(log, policy.reader_page_chars)
    return (reader, skill_tool(spec.skills)) if spec.skills else (reader,)


@dataclass(frozen=True, slots=True)
class Host:
    """What the program around the runtime brings: connections, catalogues, tools of its own.

    `settings` are members of every request that are no prompt; a live host streams (`streaming_settings`).
    `partition` says on whose authorisation the connections were made: catalogues are not shared across it.
    `system_prompt` stands for what the Spec says of the agent (see `Run`).
    """

    hub: Hub
    store: CatalogueStore
    tools: tuple[HostTool, ...] = ()
    settings: Mapping[str, Setting] = field(default_factory=dict)
    partition: str = ""
    system_prompt: str | None = None


def open_run(
    spec: AgentSpec,
    policy: Policy,
    host: Host,
    model: Model,
    observer: Observer | None = None,
    clock: Clock | None = None,
    run_id: str = "run-1",
    memory: str = "",
) -> Run:
    """Start a Run with a Toolbox of its own, whose reader reads this Run's log.

    Args:
        spec: The agent.
        policy: How prompts are assembled.
        host: Connections (entered by the host), catalogues and local tools.
        model: Answers the requests.
        observer: Is told of everything.
        clock: Where time comes from.
        run_id: Distinguishes Runs.
        memory: What is remembered of the user at the start.
    """
    observer = observer or NullObserver()
    clock = clock or SystemClock()
    log = RecordLog(run_id)
    tools = (*builtin_tools(spec, policy, log), *host.tools)
    store = host.store.for_partition(host.partition) if host.partition else host.store
    toolbox = Toolbox(spec, policy, host.hub, store, tools, observer, clock)
    return Run(
        spec,
        policy,
        toolbox,
        model,
        observer,
        clock,
        run_id,
        memory,
        log=log,
        settings=host.settings,
        system_prompt=host.system_prompt,
    )

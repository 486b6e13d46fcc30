"""The loop: a user's message in, the agent's answer out. Free functions over a `Run`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from coldturn.reference.model import ModelRequest
from coldturn.reference.observer import ServerState, StepInfo, TurnInfo
from coldturn.reference.prefix.causes import compare
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.prefix.request import read_request
from coldturn.reference.previews import READER_NAME
from coldturn.reference.prompt.assembly import Assembled
from coldturn.reference.prompt.reader import reader_arguments
from coldturn.reference.records import AssistantMessage, Described, ToolResult, UserMessage
from coldturn.reference.run import Run, SentRequest
from coldturn.reference.surface.model import CallOutcome, ToolSurface
from coldturn.reference.wire import encode
from coldturn.reference.wire.model import ToolCall

_UNFINISHED = CallOutcome(
    "The call did not finish: the turn was ended before.", is_error=True, route="direct"
)


class TooManyStepsError(ColdturnError):
    """A turn took as many model calls as the Run allows and still called tools."""

    slug = "too-many-steps"

    def __init__(self, steps: int) -> None:
        self.steps = steps
        super().__init__(f"the turn was stopped after {steps} model calls without an answer; see `max_steps`")


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """How a turn ended.

    Attributes:
        answer: The agent's last text; empty after an error.
        steps: Model calls made.
        error: What ended the turn early. After an error of the model or the step limit the Run goes on; when
            a tool found the Run corrupt, `Run.failure` is set and no turn follows.
    """

    answer: str
    steps: int
    error: ColdturnError | None = None


async def run_turn(run: Run, user_text: str) -> TurnOutcome:
    """Take one turn. A message that arrives while another turn runs waits until that one has ended.

    Raises:
        RunEndedError: The Run has failed or was closed.
    """
    async with run.turn_lock:
        run.check_open()
        turn = run.turns
        run.turns += 1
        run.record(UserMessage(turn, user_text))
        run.assembly.begin_turn(run.memory)
        info = TurnInfo(run.run_id, run.spec.name, turn, run.policy.name)
        with run.observer.turn(info) as scope:
            outcome, servers = await _steps(run, turn)
            scope.finish(servers, error=None if outcome.error is None else outcome.error.slug)
        return outcome


async def _steps(run: Run, turn: int) -> tuple[TurnOutcome, tuple[ServerState, ...]]:
    """Call the model until it answers without calling a tool."""
    steps = 0
    servers: tuple[ServerState, ...] = ()
    try:
        surface = await run.toolbox.start_turn(turn)
        while steps < run.max_steps:
            servers = surface.servers
            steps += 1
            message = await _step(run, surface, turn, steps - 1)
            if not message.calls:
                return TurnOutcome(message.text, steps), servers
            await _call_tools(run, message)
            surface = run.toolbox.step_surface(turn, steps)
        raise TooManyStepsError(steps)
    except ColdturnError as error:
        return TurnOutcome("", steps, error), servers


async def _step(run: Run, surface: ToolSurface, turn: int, step: int) -> AssistantMessage:
    """Assemble, send, and log one model call."""
    assembled = run.assembly.assemble(surface, run.reminders, run.clock.time_ns())
    info = _describe(run, assembled, surface, turn, step)
    with run.observer.step(info) as scope:
        request = ModelRequest(info.surface, info.body, turn, step, run.records)
        reply = await run.model.respond(request)
        scope.reply(reply)
    calls = tuple(replace(call, id=run.new_call_id()) for call in reply.calls)
    message = AssistantMessage(turn, step, reply.text, calls, reply.usage)
    run.record(message)
    return message


def _describe(run: Run, assembled: Assembled, shown: ToolSurface, turn: int, step: int) -> StepInfo:
    """Encode a prompt and compare its bytes with the request before; the new one takes that one's place."""
    surface = run.spec.surface
    encoded = encode(assembled.prompt, surface, run.fragments)
    tiers = {server.name: server.tier for server in shown.servers if server.tier != "none"}
    labels = replace(encoded.labels, owners=shown.owners, tiers=tiers, turn=turn, step=step)
    request = read_request(encoded.body, surface=surface, labels=labels)
    before, run.sent = run.sent, SentRequest(request, turn, step)
    return StepInfo(
        run_id=run.run_id,
        turn=turn,
        step=step,
        surface=surface,
        model=run.spec.model,
        scope=f"{surface.provider}/{run.spec.model}",
        body=encoded.body,
        ledger=run.ledgers.of(request),
        markers=request.markers,
        base=None if before is None else (before.turn, before.step),
        comparison=None if before is None else compare(before.request, request),
        elision=assembled.elision,
    )


async def _call_tools(run: Run, message: AssistantMessage) -> None:
    """Carry out a step's calls and log their results, both in the order of the calls.

    One after the other: a step's spans and records then come out the same on every run. A call that is cut
    short by the end of the turn is logged as failed, so that every call in the log has its result.
    """
    waiting = list(message.calls)
    try:
        while waiting:
            await _call_tool(run, message, waiting.pop(0))
    except ColdturnError as error:
        run.failure = error
        raise
    finally:
        for call in waiting:
            run.record(_result(run, message, call, run.log.new_handle(), _UNFINISHED))


async def _call_tool(run: Run, message: AssistantMessage, call: ToolCall) -> None:
    handle = run.log.new_handle()
    outcome: CallOutcome | None = None
    try:
        outcome = await run.toolbox.call(call, turn=message.turn, step=message.step, handle=handle)
    finally:
        # What had arrived before a cancellation is logged whole, whatever becomes of the turn.
        logged = run.toolbox.arrived(handle) if outcome is None else outcome
        run.record(_result(run, message, call, handle, _UNFINISHED if logged is None else logged))
    if outcome.described is not None:
        run.record(Described(message.turn, message.step, *outcome.described, outcome.loaded))


def _result(
    run: Run, message: AssistantMessage, call: ToolCall, handle: str, outcome: CallOutcome
) -> ToolResult:
    is_reader = call.name == READER_NAME and not outcome.is_error
    return ToolResult(
        turn=message.turn,
        step=message.step,
        call_id=call.id,
        name=call.name,
        handle=handle,
        text=outcome.text,
        is_error=outcome.is_error,
        route=outcome.route,
        server=outcome.server,
        tool=outcome.tool,
        binary=outcome.binary,
        schema_problem=outcome.schema_problem,
        reads=reader_arguments(call.arguments) if is_reader else None,
    )

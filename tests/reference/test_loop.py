from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest

from coldturn.reference.loop import TooManyStepsError, run_turn
from coldturn.reference.model import ModelRequest, ScriptedModel, ScriptExhaustedError
from coldturn.reference.observer import NullObserver, StepInfo, TurnInfo
from coldturn.reference.policy import POLICIES
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.prompt.errors import InvalidDeferredHandleError
from coldturn.reference.prompt.reader import read_tool_output
from coldturn.reference.records import AssistantMessage, Described, RecordLog, ToolResult, UserMessage
from coldturn.reference.run import Run, RunEndedError
from coldturn.reference.spec import AgentSpec
from coldturn.reference.surface.model import CallOutcome, ToolSurface
from coldturn.reference.tokens import ReportedTokens
from coldturn.reference.wire import decode_reply
from coldturn.reference.wire.errors import ProviderError
from coldturn.reference.wire.model import Reply, ToolCall, Usage

EMPTY = ToolSurface((), (), (), (), frozenset(), ())


class FakeTools:
    """Answers calls from a table of functions; an unknown name is an ordinary tool error."""

    def __init__(self, **answers: Callable[[ToolCall], Awaitable[CallOutcome]]) -> None:
        self.answers = answers
        self.asked: list[tuple[int, int]] = []

    async def start_turn(self, turn: int) -> ToolSurface:
        self.asked.append((turn, 0))
        return EMPTY

    def step_surface(self, turn: int, step: int) -> ToolSurface:
        self.asked.append((turn, step))
        return EMPTY

    def arrived(self, handle: str) -> CallOutcome | None:
        return None

    async def call(self, call: ToolCall, *, turn: int, step: int, handle: str = "") -> CallOutcome:
        assert handle
        if call.name not in self.answers:
            return CallOutcome(f"{call.name}: no such tool", True, "direct", refusal="unknown_tool")
        return await self.answers[call.name](call)


class Steps(NullObserver):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.steps: list[StepInfo] = []
        self.replies: list[Reply] = []
        self.ends: list[tuple[TurnInfo, str | None]] = []

    @contextmanager
    def turn(self, info: TurnInfo) -> Iterator[Any]:
        observer = self

        class Scope:
            def finish(self, _servers: object, *, error: str | None = None) -> None:
                observer.ends.append((info, error))

        yield Scope()

    @contextmanager
    def step(self, info: StepInfo) -> Iterator[Any]:
        self.steps.append(info)
        observer = self

        class Scope:
            def reply(self, reply: Reply) -> None:
                observer.replies.append(reply)

        yield Scope()


class Frozen:
    def time_ns(self) -> int:
        return 1_780_315_200_000_000_000


def call(name: str, arguments: str = "{}", call_id: str = "toolu_x") -> ToolCall:
    return ToolCall(call_id, name, arguments)


async def say(asked: ToolCall) -> CallOutcome:
    return CallOutcome(f"said {asked.arguments}", False, "direct", "server", "say")


def a_run(
    *replies: Reply,
    tools: FakeTools | None = None,
    observer: NullObserver | None = None,
    memory: str = "",
    log: RecordLog | None = None,
    max_steps: int = 100,
) -> Run:
    return Run(
        AgentSpec(instructions="Be kind."),
        POLICIES["stable"],
        tools or FakeTools(say=say),
        ScriptedModel(replies),
        observer,
        Frozen(),
        memory=memory,
        log=log,
        max_steps=max_steps,
    )


@pytest.mark.anyio
async def test_a_turn_calls_tools_in_order_and_logs_everything() -> None:
    observer = Steps()
    usage = Usage(input_tokens=ReportedTokens(10))
    run = a_run(
        Reply("Let me see.", (call("say", '{"n":1}'), call("say", '{"n":2}')), usage),
        Reply("Done."),
        observer=observer,
    )
    outcome = await run_turn(run, "Go")
    assert (outcome.answer, outcome.steps, outcome.error) == ("Done.", 2, None)
    first, second = call("say", '{"n":1}', "call_0001"), call("say", '{"n":2}', "call_0002")
    handles = [record.handle for record in run.records if isinstance(record, ToolResult)]
    assert run.records == (
        UserMessage(0, "Go"),
        AssistantMessage(0, 0, "Let me see.", (first, second), usage),
        ToolResult(0, 0, "call_0001", "say", handles[0], 'said {"n":1}', False, "direct", "server", "say"),
        ToolResult(0, 0, "call_0002", "say", handles[1], 'said {"n":2}', False, "direct", "server", "say"),
        AssistantMessage(0, 1, "Done."),
    )
    assert handles[0].startswith("r1-")
    assert handles[1].startswith("r2-")
    assert [(info.turn, info.step, info.base) for info in observer.steps] == [(0, 0, None), (0, 1, (0, 0))]
    assert observer.steps[1].comparison is not None
    assert observer.steps[1].comparison.stable
    assert [info.body for info in observer.steps] == [request.body for request in model_of(run).requests]
    assert observer.ends == [(TurnInfo("run-1", "agent", 0, "stable"), None)]


def model_of(run: Run) -> ScriptedModel:
    assert isinstance(run.model, ScriptedModel)
    return run.model


@pytest.mark.anyio
async def test_a_failing_tool_is_an_ordinary_result() -> None:
    run = a_run(Reply("", (call("nope"),)), Reply("I see."))
    outcome = await run_turn(run, "Go")
    assert outcome.error is None
    result = run.records[2]
    assert isinstance(result, ToolResult)
    assert (result.is_error, result.text) == (True, "nope: no such tool")


@pytest.mark.requirement("BIG-7")
@pytest.mark.anyio
async def test_a_corrupt_handle_ends_the_run_as_failed_and_the_log_stays_readable() -> None:
    log = RecordLog("run-1")

    async def reader(asked: ToolCall) -> CallOutcome:
        answer = read_tool_output(log, {"handle": asked.arguments}, 100)
        return CallOutcome(answer.text, answer.is_error, "local")

    run = a_run(
        Reply("", (call("say"), call("read_tool_output", "r9-0"), call("say"))),
        tools=FakeTools(say=say, read_tool_output=reader),
        observer=(observer := Steps()),
        log=log,
    )
    outcome = await run_turn(run, "Go")
    assert isinstance(outcome.error, InvalidDeferredHandleError)
    assert run.failure is outcome.error
    assert observer.ends[0][1] == "invalid-deferred-handle"
    results = [record for record in run.records if isinstance(record, ToolResult)]
    assert [result.call_id for result in results] == ["call_0001", "call_0002", "call_0003"]
    assert [result.is_error for result in results] == [False, True, True]
    with pytest.raises(RunEndedError, match="invalid-deferred-handle"):
        await run_turn(run, "And now?")
    assert len(run.records) == 5


@pytest.mark.anyio
async def test_an_error_of_the_model_ends_the_turn_and_not_the_run() -> None:
    class Overloaded:
        failing = True

        async def respond(self, request: ModelRequest) -> Reply:
            if self.failing:
                body = b'{"type":"error","error":{"type":"overloaded_error","message":"later"}}'
                return decode_reply(request.surface, body)
            return Reply("Here I am.")

    run = a_run()
    run.model = model = Overloaded()
    outcome = await run_turn(run, "Go")
    assert isinstance(outcome.error, ProviderError)
    assert (outcome.answer, outcome.steps) == ("", 1)
    model.failing = False
    assert (await run_turn(run, "Again")).answer == "Here I am."


@pytest.mark.anyio
async def test_a_turn_has_a_limit_of_steps() -> None:
    run = a_run(*[Reply("", (call("say"),))] * 3, Reply("Fine."), max_steps=3)
    outcome = await run_turn(run, "Go")
    assert isinstance(outcome.error, TooManyStepsError)
    assert outcome.steps == 3
    assert (await run_turn(run, "Stop")).answer == "Fine."


@pytest.mark.anyio
async def test_a_scripted_model_says_when_its_script_is_over() -> None:
    outcome = await run_turn(a_run(), "Go")
    assert isinstance(outcome.error, ScriptExhaustedError)
    assert "turn 0, step 0" in str(outcome.error)


@pytest.mark.anyio
async def test_a_message_that_arrives_in_mid_turn_waits_for_the_next_turn() -> None:
    arrived = anyio.Event()
    answered: list[str] = []

    async def slow(_asked: ToolCall) -> CallOutcome:
        await arrived.wait()
        await anyio.lowlevel.checkpoint()
        return CallOutcome("slow", False, "direct")

    run = a_run(Reply("", (call("slow"),)), Reply("First."), Reply("Second."), tools=FakeTools(slow=slow))

    async def second() -> None:
        arrived.set()
        answered.append((await run_turn(run, "Two")).answer)

    async with anyio.create_task_group() as group:
        group.start_soon(_append_answer, run, "One", answered)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(second)
    assert answered == ["First.", "Second."]
    texts = [record.text for record in run.records if not isinstance(record, Described)]
    assert texts == ["One", "", "slow", "First.", "Two", "Second."]


async def _append_answer(run: Run, text: str, answers: list[str]) -> None:
    answers.append((await run_turn(run, text)).answer)


@pytest.mark.anyio
async def test_a_cancelled_turn_leaves_every_call_with_a_result() -> None:
    async def hang(_asked: ToolCall) -> CallOutcome:
        await anyio.sleep_forever()
        raise AssertionError

    run = a_run(
        Reply("", (call("say"), call("hang"), call("say"))),
        Reply("Back."),
        tools=FakeTools(say=say, hang=hang),
    )
    async with anyio.create_task_group() as group:
        group.start_soon(run_turn, run, "Go")
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    results = [record for record in run.records if isinstance(record, ToolResult)]
    assert [result.is_error for result in results] == [False, True, True]
    assert (await run_turn(run, "Still there?")).answer == "Back."


@pytest.mark.anyio
async def test_a_describe_answer_is_logged_as_a_discovery() -> None:
    async def describe(_asked: ToolCall) -> CallOutcome:
        return CallOutcome("schema", False, "meta", "git", "log", described=("git", "log"))

    run = a_run(Reply("", (call("describe"),)), Reply("Ok"), tools=FakeTools(describe=describe))
    await run_turn(run, "Go")
    assert Described(0, 0, "git", "log") in run.records


@pytest.mark.anyio
async def test_the_surface_is_resolved_per_turn_and_asked_for_per_step() -> None:
    tools = FakeTools(say=say)
    run = a_run(Reply("", (call("say"),)), Reply("One"), Reply("Two"), tools=tools)
    await run_turn(run, "a")
    await run_turn(run, "b")
    assert tools.asked == [(0, 0), (0, 1), (1, 0)]


@pytest.mark.anyio
async def test_a_closed_run_takes_no_turn() -> None:
    run = a_run(Reply("x"))
    run.close()
    with pytest.raises(RunEndedError, match="it was closed"):
        await run_turn(run, "Go")


@pytest.mark.requirement("BIG-7")
def test_handles_are_deterministic_and_bound_to_their_run() -> None:
    def two(run_id: str) -> list[str]:
        log = RecordLog(run_id)
        return [log.new_handle(), log.new_handle()]

    assert two("run-1") == two("run-1")
    assert not set(two("run-1")) & set(two("run-2"))


@pytest.mark.anyio
async def test_reminders_are_taken_in_at_the_next_step_and_memory_at_the_next_turn() -> None:
    run = a_run(memory="old memory")

    async def todo(_asked: ToolCall) -> CallOutcome:
        run.set_reminder("todo", "[x] first")
        run.set_memory("new memory")
        return CallOutcome("noted", False, "local")

    run.toolbox = FakeTools(todo=todo)
    run.model = model = ScriptedModel([Reply("", (call("todo"),)), Reply("Ok"), Reply("Bye")])
    run.set_reminder("mode", "[careful]")
    run.set_reminder("todo", "[ ] first")
    await run_turn(run, "a")
    run.set_reminder("todo", "")
    await run_turn(run, "b")
    bodies = [request.body for request in model.requests]
    assert [b"[careful]" in body for body in bodies] == [True, True, True]
    assert [b"[ ] first" in body for body in bodies] == [True, False, False]
    assert [b"[x] first" in body for body in bodies] == [False, True, False]
    assert [b"new memory" in body for body in bodies] == [False, False, True]


@pytest.mark.anyio
@pytest.mark.parametrize("error", [ColdturnError("odd"), ValueError("bug")])
async def test_only_our_own_errors_become_outcomes(error: Exception) -> None:
    async def broken(_asked: ToolCall) -> CallOutcome:
        raise error

    run = a_run(Reply("", (call("broken"),)), tools=FakeTools(broken=broken))
    if isinstance(error, ColdturnError):
        assert (await run_turn(run, "Go")).error is error
    else:
        with pytest.raises(ValueError, match="bug"):
            await run_turn(run, "Go")

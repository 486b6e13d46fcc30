"""Results of the turn that goes on: whole, unless the policy caps them and says so out loud."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import mcp_types as types
import pytest

from coldturn.reference.catalogue import CatalogueStore
from coldturn.reference.connections import Hub, Limits
from coldturn.reference.loop import run_turn
from coldturn.reference.model import ScriptedModel
from coldturn.reference.observer import NullObserver, StepInfo, ToolCallInfo, ToolOutcomeInfo
from coldturn.reference.policy import POLICIES, Policy
from coldturn.reference.records import ToolResult
from coldturn.reference.run import Host, Run, open_run
from coldturn.reference.spec import AgentSpec, ConnectionSpec
from coldturn.reference.wire.model import Reply, ToolCall

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("ZONE-4", "BIG-4", "BIG-5", "BIG-6")]

CAPPED = Policy(current_turn_cap=1_000, preview_chars=100)


class Told(NullObserver):
    def __init__(self) -> None:
        self.steps: list[StepInfo] = []
        self.calls: list[ToolOutcomeInfo] = []

    @contextmanager
    def step(self, info: StepInfo) -> Iterator[Any]:
        self.steps.append(info)
        with super().step(info) as scope:
            yield scope

    @contextmanager
    def tool(self, info: ToolCallInfo) -> Iterator[Any]:
        told = self

        class Scope:
            def finish(self, outcome: ToolOutcomeInfo) -> None:
                told.calls.append(outcome)

        yield Scope()


def call(name: str, **arguments: object) -> ToolCall:
    return ToolCall("", name, json.dumps(arguments))


def outputs(info: StepInfo) -> list[str]:
    return [row["output"] for row in json.loads(info.body)["input"] if row["type"] == "function_call_output"]


@asynccontextmanager
async def talking(
    make: Callable[..., Any], policy: Policy, *replies: Reply
) -> AsyncIterator[tuple[Run, Told]]:
    server, store, told = make("big", "fails", "small"), CatalogueStore(), Told()
    sizes = {"big": ("0123456789" * 600, False), "fails": ("x" * 6_000, True), "small": ("y" * 40, False)}
    for name, (text, is_error) in sizes.items():
        result = types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)
        server.answers[name] = lambda _given, result=result: result
    async with Hub(Limits(backoff=None)) as hub:
        await hub.connect(ConnectionSpec(id="s", preload=True), lambda: server.server)
        yield open_run(AgentSpec(), policy, Host(hub, store), ScriptedModel(replies), told), told
    store.close()


TALK = (
    Reply("", (call("s__big"), call("s__fails"), call("s__small"))),
    Reply("One."),
    Reply("Two."),
    Reply("Three."),
)


async def test_by_default_the_current_turns_results_are_whole_failures_too(
    tool_server: Callable[..., Any],
) -> None:
    assert {policy.current_turn_cap for policy in POLICIES.values()} == {None}
    async with talking(tool_server, Policy(), *TALK) as (run, told):
        await run_turn(run, "Go")
    assert [len(text) for text in outputs(told.steps[1])] == [6_000, 6_000, 40]
    assert [one.elided for one in told.calls] == [False, False, False]


async def test_a_cap_is_loud_spares_failures_and_never_changes_what_it_has_shown(
    tool_server: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    async with talking(tool_server, CAPPED, *TALK) as (run, told):
        for text in ("Go", "And?", "And?"):
            assert (await run_turn(run, text)).error is None
    (handle,) = [r.handle for r in run.records if isinstance(r, ToolResult) and r.name == "s__big"]
    big, fails, small = outputs(told.steps[1])
    assert big == (
        "0123456789" * 10
        + "\n...\n[elided: the middle of this result, which is over the cap of 1000 estimated tokens. "
        + f'To read on, call read_tool_output with {{"handle":"{handle}","offset":100}}]\n...\n'
        + "0123456789" * 10
    )
    assert (len(fails), len(small)) == (6_000, 40)
    assert [outputs(info)[0] for info in told.steps[1:]] == [big] * 3
    assert [one.elided for one in told.calls] == [True, False, False]
    assert "s__big: a result is over current_turn_cap = 1000 and is shown as a preview" in caplog.text
    assert [len(r.text) for r in run.records if isinstance(r, ToolResult)] == [6_000, 6_000, 40]
    assert told.steps[1].elision.handles == (handle,)
    assert all(i.comparison is None or i.comparison.first is None for i in told.steps[:2])


async def test_pages_of_the_reader_and_descriptions_are_not_capped(tool_server: Callable[..., Any]) -> None:
    policy = Policy(current_turn_cap=5, preview_chars=1)
    async with talking(tool_server, policy, TALK[0], Reply("One.")) as (run, told):
        await run_turn(run, "Go")
        handle = next(r.handle for r in run.records if isinstance(r, ToolResult))
        run.model = ScriptedModel(
            [
                Reply(
                    "",
                    (
                        call("read_tool_output", handle=handle, limit=3_000),
                        call("mcp_describe_tool", server="s", tool="big"),
                    ),
                ),
                Reply("Read."),
            ]
        )
        await run_turn(run, "Read")
    page, described = outputs(told.steps[-1])[-2:]
    assert len(page) > 3_000
    assert json.loads(described)["name"] == "big"


async def test_the_rest_of_the_batch_is_weighed_with_what_the_cap_left(
    tool_server: Callable[..., Any],
) -> None:
    """A page of 1,500 tokens and a capped result: with its preview the turn is below its threshold."""
    policy = Policy(current_turn_cap=1_000, preview_chars=100, result_tokens=2_600, batch_tokens=2_600)
    async with talking(tool_server, policy, Reply("", (call("s__big"),)), Reply("One.")) as (run, told):
        await run_turn(run, "Go")
        handle = next(r.handle for r in run.records if isinstance(r, ToolResult))
        page = call("read_tool_output", handle=handle, limit=6_000)
        run.model = ScriptedModel([Reply("", (page, call("s__big"))), Reply("Two."), Reply("Three.")])
        await run_turn(run, "Read")
        await run_turn(run, "And?")
    assert len(outputs(told.steps[-1])[1]) > 6_000
    assert outputs(told.steps[-1]) == outputs(told.steps[-2])
    assert told.steps[-1].elision.count == 2, "the two that the cap shortened"

"""A turn that is cancelled in mid-call: whatever had arrived by then is logged whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import mcp_types as types
import pytest

from coldturn.reference.catalogue import CatalogueStore
from coldturn.reference.connections import CallTimeoutError, Hub, Limits
from coldturn.reference.loop import run_turn
from coldturn.reference.model import ScriptedModel
from coldturn.reference.policy import Policy
from coldturn.reference.records import ToolResult
from coldturn.reference.run import Host, open_run
from coldturn.reference.spec import AgentSpec, ConnectionSpec
from coldturn.reference.wire.model import Reply, ToolCall

pytestmark = pytest.mark.anyio

LARGE = "é" * (2 << 20)


def answer(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


@pytest.mark.requirement("BIG-6", "CONN-2")
@pytest.mark.parametrize("early", [True, False])
async def test_an_answer_that_came_before_the_cancellation_is_logged_whole(
    early: bool, tool_server: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, store = tool_server("big", "next"), CatalogueStore()
    server.answers["big"] = lambda _given: answer(LARGE)
    cancel = anyio.CancelScope()

    async with Hub(Limits(backoff=None)) as hub:
        await hub.connect(ConnectionSpec(id="s", preload=True), lambda: server.server)
        calls = (ToolCall("", "s__big", "{}"), ToolCall("", "s__next", "{}"))
        run = open_run(AgentSpec(), Policy(), Host(hub, store), ScriptedModel([Reply("", calls)]))
        original = hub.call_tool

        async def cut_short(*given: Any, arrived: Callable[[Any], None], **more: Any) -> Any:  # noqa: ANN401 - stands in for call_tool
            """Cancel the turn at the moment the answer is here and its caller has not woken up yet."""

            def told(result: types.CallToolResult) -> None:
                arrived(result)
                cancel.cancel()

            if early:
                cancel.cancel()
            return await original(*given, arrived=told, **more)

        monkeypatch.setattr(hub, "call_tool", cut_short)
        with cancel:
            await run_turn(run, "Go")
        assert cancel.cancelled_caught
        first, second = [record for record in run.records if isinstance(record, ToolResult)]
        if early:
            assert (first.is_error, first.text) == (
                True,
                "The call did not finish: the turn was ended before.",
            )
        else:
            assert (first.is_error, first.text == LARGE, first.server) == (False, True, "s")
        assert second.is_error, "a terminal record for the call that never started"
        assert run.log.result(first.handle) is first
    store.close()


@pytest.mark.requirement("CONN-2")
async def test_a_call_over_its_time_limit_is_a_tool_error_with_a_record(
    tool_server: Callable[..., Any],
) -> None:
    server, store = tool_server("slow"), CatalogueStore()
    cancelled = anyio.Event()

    async def hang(_ctx: object, _params: object) -> types.CallToolResult:
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()
        raise AssertionError

    server.server.add_request_handler("tools/call", types.CallToolRequestParams, hang)
    async with Hub(Limits(backoff=None, call=0.01)) as hub:
        await hub.connect(ConnectionSpec(id="s", preload=True), lambda: server.server)
        model = ScriptedModel([Reply("", (ToolCall("", "s__slow", "{}"),)), Reply("It was too slow.")])
        run = open_run(AgentSpec(), Policy(), Host(hub, store), model)
        assert (await run_turn(run, "Go")).answer == "It was too slow."
        (result,) = [record for record in run.records if isinstance(record, ToolResult)]
        assert (result.is_error, "did not answer within 0.01 seconds" in result.text) == (True, True)
        await cancelled.wait()
    store.close()


@pytest.mark.requirement("BIG-6")
async def test_an_answer_that_comes_with_the_time_limit_is_an_answer(tool_server: Callable[..., Any]) -> None:
    server = tool_server("t")
    async with Hub(Limits(backoff=None)) as hub:
        await hub.connect(ConnectionSpec(id="s"), lambda: server.server)
        connection = hub._get("s")

        async def with_the_last_tick(_client: object) -> str:
            """The answer is here, and its caller's time runs out before it has woken up."""
            (job,) = connection._open
            job.results.append("here")
            await anyio.sleep_forever()
            raise AssertionError

        async def never(_client: object) -> str:
            await anyio.sleep_forever()
            raise AssertionError

        assert await connection.request(with_the_last_tick, seconds=0.01) == "here"
        with pytest.raises(CallTimeoutError):
            await connection.request(never, seconds=0)

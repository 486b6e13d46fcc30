"""Permission is one function: a tool removed at any link vanishes from, and is refused on, every route."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from coldturn.reference.policy import Policy
from coldturn.reference.surface import meta
from coldturn.reference.surface.model import CallOutcome
from coldturn.reference.surface.narrowing import RunLimits
from coldturn.reference.wire.model import ToolCall

pytestmark = pytest.mark.anyio

# `Bench` and `ToolServer` of conftest.py, which a test module cannot import.
Bench = Any
Server = Any

NAMES = ["alpha", "beta", "gamma"]
TIERS: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "direct": ({"preload": True}, {}),
    "facade": ({"preload": True}, {"direct_tools": 1}),
    "search": ({"preload": True}, {"direct_tools": 0, "facade_tools": 1}),
    "deferred": ({"preload": False, "eager": ("beta",)}, {}),
}


async def ask(bench: Bench, name: str, **arguments: object) -> CallOutcome:
    outcome: CallOutcome = await bench.box.call(ToolCall("c", name, json.dumps(arguments)), turn=2, step=1)
    return outcome


async def cut_by_server(bench: Bench, server: Server) -> None:
    server.tools = [tool for tool in server.tools if tool.name != "beta"]
    await bench.box.refresher.refresh("s")


async def cut_by_limit_of_the_run(bench: Bench, _server: Server) -> None:
    bench.box.limits = RunLimits(tools=frozenset({("s", "beta")}))


async def cut_by_user_for_the_whole_server(bench: Bench, _server: Server) -> None:
    bench.box.limits = RunLimits(servers=frozenset({"s"}))


@pytest.mark.requirement("NAR-1", "DEF-6", "DEF-8", "TIER-4")
@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("cut", [cut_by_server, cut_by_limit_of_the_run, cut_by_user_for_the_whole_server])
async def test_a_tool_cut_in_mid_turn_is_refused_on_every_route_at_once(
    tier: str,
    cut: Callable[[Bench, Server], Awaitable[None]],
    open_bench: Callable[..., Any],
    tool_server: Callable[..., Any],
) -> None:
    spec, limits = TIERS[tier]
    server = tool_server(*NAMES)
    async with open_bench({"s": server}, specs={"s": spec}, policy=Policy.model_validate(limits)) as bench:
        await bench.box.start_turn(1)
        assert bench.box.step_surface(1, 1).servers[0].tier == tier
        assert (await reach(bench, tier)).is_error is False
        server.calls.clear()
        await cut(bench, server)

        assert "beta" not in (await ask(bench, meta.LIST, server="s")).text.splitlines()
        for outcome in (
            await reach(bench, tier),
            await ask(bench, meta.CALL, server="s", tool="beta", input={}),
            await ask(bench, meta.DESCRIBE, server="s", tool="beta"),
        ):
            assert (outcome.is_error, outcome.refusal) == (True, "unknown_tool")
        if tier == "search":
            assert "tool=beta" not in (await ask(bench, meta.SEARCH, query="beta")).text
        assert server.calls == []
        assert bench.box.reach("s", "beta").route is None

        # One text for a tool that is not there and one that may not be used.
        for name in (meta.CALL, meta.DESCRIBE):
            absent = await ask(bench, name, server="s", tool="nope")
            denied = await ask(bench, name, server="s", tool="beta")
            assert denied.text.replace("beta", "nope") == absent.text

        surface = await bench.box.start_turn(2)
        assert not [tool for tool in surface.tools if tool.tool == "beta"]
        assert not [tool for tool in surface.tools if "s__beta" in tool.definition.description]
        assert "s__beta" not in surface.deferred


async def reach(bench: Bench, tier: str) -> CallOutcome:
    if tier == "facade":
        return await ask(bench, "s__use", tool="s__beta", input={})
    if tier == "search":
        return await ask(bench, meta.USE, server="s", tool="beta", input={})
    return await ask(bench, "s__beta")


@pytest.mark.requirement("NAR-1")
@pytest.mark.parametrize("tier", TIERS)
async def test_a_name_that_the_spec_does_not_grant_stands_nowhere(
    tier: str, open_bench: Callable[..., Any], tool_server: Callable[..., Any]
) -> None:
    spec, limits = TIERS[tier]
    server = tool_server(*NAMES)
    granted = {**spec, "grants": ("alpha", "gamma", "never heard of")}
    async with open_bench({"s": server}, specs={"s": granted}, policy=Policy.model_validate(limits)) as bench:
        surface = await bench.box.start_turn(1)
        assert (await reach(bench, tier)).refusal == "unknown_tool"
        assert (await ask(bench, meta.LIST, server="s")).text == "alpha\ngamma"
        assert b"beta" not in bench.array()
        assert "s__beta" not in surface.deferred
        assert server.calls == []

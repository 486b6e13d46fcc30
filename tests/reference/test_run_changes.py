"""What happens to servers in mid-Run, told by the requests' bytes: named causes, and nothing else moves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import mcp_types as types
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coldturn.reference.catalogue import CatalogueStore
from coldturn.reference.connections import Hub, Limits
from coldturn.reference.loop import run_turn
from coldturn.reference.model import ScriptedModel
from coldturn.reference.policy import Policy
from coldturn.reference.prefix.model import Surface, Zone
from coldturn.reference.records import ToolResult
from coldturn.reference.run import Host, Run, open_run
from coldturn.reference.spec import AgentSpec, ConnectionSpec
from coldturn.reference.surface.tiers import HEIGHT
from coldturn.reference.wire.model import RENDERED_SURFACES, Reply, ToolCall
from steps import Steps

MakeServer = Callable[..., Any]
Change = Callable[["Scene"], Any]


class Noon:
    def time_ns(self) -> int:
        return 1_780_315_200_000_000_000


@dataclass
class Scene:
    """A Run with one server `s`, and another one at hand."""

    run: Run
    hub: Hub
    server: Any
    other: Any
    observer: Steps

    async def refresh(self) -> None:
        await self.run.toolbox.refresher.refresh("s")  # type: ignore[attr-defined] # a real Toolbox

    def causes(self) -> list[str | None]:
        found = [info.comparison.first if info.comparison else None for info in self.observer.infos]
        return [None if first is None else first.cause for first in found]


@asynccontextmanager
async def scene(
    make: MakeServer, policy: Policy, surface: Surface = Surface.MESSAGES
) -> AsyncIterator[Scene]:
    server, other, store, observer = make("a", "b"), make("x"), CatalogueStore(), Steps()
    model = ScriptedModel([Reply(f"Answer {number}.") for number in range(9)])
    async with Hub(Limits(backoff=None)) as hub:
        await hub.connect(ConnectionSpec(id="s", preload=True), lambda: server.server)
        spec = AgentSpec(instructions="Be kind. " * 50, surface=surface, model="claude-opus-5")
        run = open_run(spec, policy, Host(hub, store), model, observer, Noon())
        yield Scene(run, hub, server, other, observer)
    store.close()


async def new_server(one: Scene) -> None:
    await one.hub.connect(ConnectionSpec(id="t", preload=True), lambda: one.other.server)


async def new_tool(one: Scene) -> None:
    one.server.tools = [*one.server.tools, types.Tool(name="c", input_schema={"type": "object"})]
    await one.refresh()


async def tool_gone(one: Scene) -> None:
    one.server.tools = one.server.tools[:1]
    await one.refresh()


async def tool_edited(one: Scene) -> None:
    one.server.tools[0] = types.Tool(name="a", description="Other.", input_schema={"type": "object"})
    await one.refresh()


async def connection_lost(one: Scene) -> None:
    await one.hub.disconnect("s")


@pytest.mark.anyio
@pytest.mark.requirement("RES-9", "RES-1", "RES-2")
@pytest.mark.parametrize(
    ("change", "policy", "cause", "shown"),
    [
        (connection_lost, {}, None, "s cannot be reached at the moment"),
        (new_server, {}, None, "Connected since this conversation began: t"),
        (new_server, {"midrun_preload": "append"}, "tool_added", None),
        (new_tool, {}, None, "New tools of s: c"),
        (new_tool, {"midrun_preload": "append"}, "tool_added", None),
        (tool_gone, {}, "tool_removed", None),
        (tool_gone, {"removal": "run"}, None, None),
        (tool_edited, {}, "tool_edited", None),
    ],
)
@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
async def test_a_change_in_mid_run_moves_as_little_as_its_policy_allows(
    change: Change,
    policy: dict[str, str],
    cause: str | None,
    shown: str | None,
    surface: Surface,
    tool_server: MakeServer,
) -> None:
    async with scene(tool_server, Policy.model_validate(policy), surface) as one:
        await run_turn(one.run, "One")
        await change(one)
        for text in ("Two", "Three"):
            assert (await run_turn(one.run, text)).error is None
        assert one.causes() == [None, cause, None], "once, at the next turn"
        transient = [zone for zone in one.observer.infos[1].ledger.zones if zone.zone is Zone.TRANSIENT]
        assert transient[0].bytes > 0
        for info in one.observer.infos[1:]:
            assert shown is None or shown in info.body.decode()
        if cause == "tool_added":
            first = one.observer.infos[1].comparison
            assert first is not None
            assert first.first is not None
            assert "append_tail" in first.first.kinds


@pytest.mark.anyio
@pytest.mark.requirement("RES-3", "ZONE-4")
async def test_history_stands_still_up_to_the_first_result_whose_elision_falls_due(
    tool_server: MakeServer,
) -> None:
    policy = Policy(result_tokens=200, batch_tokens=300, preview_chars=50)
    async with scene(tool_server, policy) as one:
        for name, size in (("a", 40), ("b", 4_000)):
            result = types.CallToolResult(content=[types.TextContent(type="text", text=name * size)])
            one.server.answers[name] = lambda _given, result=result: result
        calls = tuple(ToolCall("", f"s__{name}", "{}") for name in ("a", "b"))
        one.run.model = ScriptedModel([Reply("", calls), Reply("Done."), Reply("Again."), Reply("And.")])
        for text in ("One", "Two", "Three"):
            await run_turn(one.run, text)
        assert one.causes() == [None, None, "planned_elision", None]
        flip = one.observer.infos[2].comparison
        assert flip is not None
        assert flip.first is not None
        (large,) = [r for r in one.run.records if isinstance(r, ToolResult) and r.name == "s__b"]
        assert (flip.first.path, flip.first.planned) == ("$.messages[2].content[1]", True)
        assert flip.first.delta_bytes < -3_000, "what it saves"
        assert flip.first.lost_bytes > 0, "what it re-bills"
        assert one.observer.infos[2].elision.handles == (large.handle,)


@pytest.mark.anyio
@pytest.mark.requirement("RES-9", "TIER-5", "TIER-7")
@pytest.mark.parametrize(
    ("change", "policy", "cause", "names", "kinds"),
    [
        (new_tool, {"direct_tools": 2}, "tier_changed", ("s",), ("direct_to_facade",)),
        (new_tool, {"direct_tools": 2, "facade_tools": 2}, "tier_changed", ("s",), ("direct_to_search",)),
        (new_tool, {"direct_tools": 1, "facade_tools": 2}, "tier_changed", ("s",), ("facade_to_search",)),
        (new_tool, {"direct_tools": 1}, "facade_index_changed", ("s__use",), ()),
        (tool_gone, {"direct_tools": 1}, "facade_index_changed", ("s__use",), ()),
        (tool_edited, {"direct_tools": 1}, "facade_index_changed", ("s__use",), ()),
    ],
)
@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
async def test_the_runtime_names_a_tier_that_rose_and_a_facade_whose_index_moved(
    change: Change,
    policy: dict[str, int],
    cause: str,
    names: tuple[str, ...],
    kinds: tuple[str, ...],
    surface: Surface,
    tool_server: MakeServer,
) -> None:
    chosen = Policy.model_validate({**policy, "tier_change": "turn", "midrun_preload": "append"})
    async with scene(tool_server, chosen, surface) as one:
        await run_turn(one.run, "One")
        await change(one)
        for text in ("Two", "Three"):
            assert (await run_turn(one.run, text)).error is None
        assert one.causes() == [None, cause, None], "once, at the next turn"
        comparison = one.observer.infos[1].comparison
        assert comparison is not None
        assert comparison.first is not None
        assert (comparison.first.names, comparison.first.kinds, comparison.first.later) == (names, kinds, ())
        assert set(comparison.first.alongside) <= {"tool_edited", "tool_removed", "tool_added"}
        assert comparison.first.alongside


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.lists(st.integers(0, 12), min_size=2, max_size=6),
    tier_change=st.sampled_from(["boundary", "turn"]),
    preload=st.sampled_from([True, None]),
)
@pytest.mark.requirement("TIER-5", "DEF-10", "RES-9")
def test_a_tier_never_flaps_however_the_catalogue_grows_and_shrinks(
    sizes: list[int], tier_change: str, preload: bool | None, tool_server: MakeServer
) -> None:
    policy = Policy.model_validate({"direct_tools": 3, "facade_tools": 7, "tier_change": tier_change})

    async def talk() -> list[str]:
        store, tiers = CatalogueStore(), []
        server = tool_server(*[f"t{n}" for n in range(sizes[0])])
        model = ScriptedModel([Reply("Hello.")] * len(sizes))
        async with Hub(Limits(backoff=None)) as hub:
            await hub.connect(ConnectionSpec(id="s", preload=preload), lambda: server.server)
            run = open_run(AgentSpec(), policy, Host(hub, store), model)
            for turn, size in enumerate(sizes):
                server.tools = tool_server(*[f"t{n}" for n in range(size)]).tools
                if turn:
                    await run.toolbox.refresher.refresh("s")  # type: ignore[attr-defined] # a real Toolbox
                await run_turn(run, "Hello")
                tiers.append(run.toolbox.step_surface(turn, 0).servers[0].tier)
        store.close()
        return tiers

    tiers = anyio.run(talk)
    heights = [HEIGHT[tier] for tier in tiers]  # type: ignore[index] # they are tiers
    assert heights == sorted(heights), "only upwards"
    if tier_change == "boundary":
        assert len(set(tiers)) == 1
    elif preload:
        wanted = [1 if size <= 3 else 2 if size <= 7 else 3 for size in sizes]
        assert heights == [max(wanted[: index + 1]) for index in range(len(wanted))]


names = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=5, unique=True)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(servers=st.dictionaries(st.sampled_from("xyzQ"), names, min_size=1, max_size=3), data=st.data())
@pytest.mark.requirement("RES-8", "CAT-6")
def test_no_order_of_servers_tools_keys_or_pages_moves_a_byte(
    servers: dict[str, list[str]], data: st.DataObject, tool_server: MakeServer
) -> None:
    def body(store: CatalogueStore, shuffle: bool) -> bytes:
        order = data.draw(st.permutations(sorted(servers))) if shuffle else sorted(servers)

        def made(name: str, server: str) -> types.Tool:
            members: list[tuple[str, object]] = [
                ("type", "object"),
                ("properties", {"p": {"type": "string", "description": f"{server} {name}"}}),
                ("required", ["p"]),
            ]
            keys = data.draw(st.permutations(members)) if shuffle else members
            return types.Tool(name=name, description=f"Does {name}.", input_schema=dict(keys))

        async def talk() -> bytes:
            model = ScriptedModel([Reply("Hello."), Reply("Again.")])
            async with Hub(Limits(backoff=None)) as hub:
                for server_id in order:
                    listed = data.draw(st.permutations(servers[server_id])) if shuffle else servers[server_id]
                    page = data.draw(st.integers(1, 6)) if shuffle else None
                    server = tool_server(*[made(name, server_id) for name in listed], page=page)
                    spec = ConnectionSpec(id=server_id, preload=server_id != "Q")
                    await hub.connect(spec, lambda server=server: server.server)  # type: ignore[misc] # bound at once
                run = open_run(AgentSpec(), Policy(), Host(hub, store), model, None, Noon())
                await run_turn(run, "Hello")
                first = order[0]
                if shuffle:
                    await hub.disconnect(first)
                    server = tool_server(*[made(name, first) for name in servers[first]])
                    await hub.connect(hub.spec(first), lambda: server.server)
                await run_turn(run, "Again")
            return b"\n".join(request.body for request in model.requests)

        return anyio.run(talk)

    store = CatalogueStore()
    assert body(store, shuffle=False) == body(store, shuffle=True)
    assert all(store.current(server).version >= 2 for server in servers)
    store.close()

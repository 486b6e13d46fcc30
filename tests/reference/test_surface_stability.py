"""What may move in the tools array and the server lines during a Run, and what may not."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from mcp import MCPError

from coldturn.reference.catalogue import CatalogueStore
from coldturn.reference.policy import Policy
from coldturn.reference.spec import ConnectionSpec
from coldturn.reference.surface import meta
from coldturn.reference.surface.model import CallOutcome, HostResult, HostTool
from coldturn.reference.surface.toolbox import ReservedNameError
from coldturn.reference.wire.model import ToolCall, ToolDefinition

pytestmark = pytest.mark.anyio

# `Bench` and `ToolServer` of conftest.py, which a test module cannot import.
Bench = Any
Server = Any

OpenBench = Callable[..., Any]
MakeServer = Callable[..., Any]
META = [meta.CALL, meta.DESCRIBE, meta.LIST]
PRELOADED = {"s": {"preload": True}}


async def ask(bench: Bench, name: str, *, turn: int = 1, step: int = 1, **arguments: object) -> CallOutcome:
    outcome: CallOutcome = await bench.box.call(
        ToolCall("c", name, json.dumps(arguments)), turn=turn, step=step
    )
    return outcome


def host_tool(name: str, *, builtin: bool = False) -> HostTool:
    async def run(_arguments: object) -> HostResult:
        return HostResult(name)

    return HostTool(ToolDefinition(name, "", b'{"type":"object"}'), "", run, builtin=builtin)


@pytest.mark.requirement("DEF-2", "DEF-3", "DEF-4")
@pytest.mark.parametrize("servers", [0, 1, 7])
async def test_the_array_is_the_same_with_no_and_with_many_deferred_servers(
    servers: int, open_bench: OpenBench, tool_server: MakeServer
) -> None:
    made = {f"s{n}": tool_server("alpha", "beta") for n in range(servers)}
    specs = {name: {"preload": False} for name in made}
    async with open_bench(made, specs=specs) as bench:
        surface = await bench.box.start_turn(1)
        assert bench.names() == META
        assert len(surface.server_lines) == servers
        deferred = bench.array()
    async with open_bench({}) as bench:
        await bench.box.start_turn(1)
        assert bench.array() == deferred
    assert b"alpha" not in deferred


@pytest.mark.requirement("DEF-5")
async def test_a_server_line_is_folded_and_cut_and_tells_what_cannot_be_found(
    open_bench: OpenBench, tool_server: MakeServer
) -> None:
    class Broken:
        async def __aenter__(self) -> object:
            raise OSError("down")

        async def __aexit__(self, *_: object) -> None:
            return None

    servers = {
        "long": tool_server("a"),
        "mute": tool_server("a"),
        "own": tool_server("a", instructions="Says so itself."),
        "void": tool_server(),
    }
    specs: dict[str, dict[str, object]] = {
        "long": {"preload": False, "description": "one\n\ttwo " + "🧊" * 300},
        "mute": {"preload": False},
        "own": {"preload": False},
        "void": {"preload": True, "description": "Nothing here"},
    }
    async with open_bench(servers, specs=specs) as bench:
        await bench.hub.connect(ConnectionSpec(id="gone", preload=True, description="Mail"), Broken)
        lines = (await bench.box.start_turn(1)).server_lines
    assert lines == (
        "gone: Mail (could not be reached when this conversation began)",
        "long: one two " + "🧊" * 191 + "…",
        "mute: no description",
        "own: Says so itself.",
        "void: Nothing here (offers no tools)",
    )
    assert len(lines[1]) == len("long: ") + 200


@pytest.mark.requirement("RES-8")
async def test_built_in_tools_come_first_then_local_ones_then_servers_by_id_and_name(
    open_bench: OpenBench, tool_server: MakeServer
) -> None:
    servers = {
        "zeta": tool_server("b", "a", "B"),
        "Alpha": tool_server("z"),
        "beta": tool_server("y", "x", "w"),
    }
    host = [host_tool("todo"), host_tool("zz_reader", builtin=True), host_tool("bash")]
    specs = {name: {"preload": True} for name in servers}
    async with open_bench(servers, specs=specs, host_tools=host, policy=Policy(direct_tools=3)) as bench:
        await bench.box.start_turn(1)
        assert bench.names() == [
            *META,
            "zz_reader",
            "bash",
            "todo",
            "Alpha__z",
            "beta__w",
            "beta__x",
            "beta__y",
            "zeta__B",
            "zeta__a",
            "zeta__b",
        ]


@pytest.mark.requirement("RES-8", "CAT-6", "TIER-8")
@pytest.mark.parametrize("seed", range(4))
async def test_other_order_of_servers_tools_keys_and_pages_changes_no_byte(
    seed: int, open_bench: OpenBench, tool_server: MakeServer, tool: Callable[..., Any]
) -> None:
    shuffle = random.Random(seed)  # noqa: S311 - a reproducible shuffle

    def shuffled(server_id: str) -> Server:
        tools = [tool(f"{server_id}.tool{n}", f"Does {n}", path="string", depth="integer") for n in range(5)]
        for entry in tools:
            entry.input_schema = dict(shuffle.sample(list(entry.input_schema.items()), 3))
        return tool_server(*shuffle.sample(tools, 5), page=shuffle.randint(1, 6))

    store = CatalogueStore()
    specs = {name: {"preload": True} for name in ("a", "b", "c")}
    plain = {
        name: tool_server(
            *[tool(f"{name}.tool{n}", f"Does {n}", path="string", depth="integer") for n in range(5)]
        )
        for name in specs
    }
    async with open_bench(plain, specs=specs, store=store) as bench:
        await bench.box.start_turn(1)
        before, hashes = bench.array(), [state.catalog_hash for state in bench.box.step_surface(1, 1).servers]
    order = shuffle.sample(sorted(specs), 3)
    async with open_bench({name: shuffled(name) for name in order}, specs=specs, store=store) as bench:
        await bench.box.start_turn(1)
        assert bench.array() == before
        assert [state.catalog_hash for state in bench.box.step_surface(1, 1).servers] == hashes
        assert [state.catalog_version for state in bench.box.step_surface(1, 1).servers] == [2, 2, 2]
    store.close()


@pytest.mark.requirement("RES-1", "RES-3")
async def test_turns_without_a_change_leave_array_and_lines_as_they_are(
    open_bench: OpenBench, tool_server: MakeServer
) -> None:
    server, hidden = tool_server("a", "b"), tool_server("c")
    specs = {"s": {"preload": True}, "h": {"preload": False}}
    async with open_bench({"s": server, "h": hidden}, specs=specs) as bench:
        first = await bench.box.start_turn(1)
        for turn in (2, 3):
            await ask(bench, meta.DESCRIBE, turn=turn, server="h", tool="c")
            await bench.box.refresher.refresh("s")
            assert await bench.box.start_turn(turn) == first.__class__(
                first.inline,
                (),
                first.server_lines,
                (),
                first.deferred,
                bench.box.step_surface(turn, 1).servers,
                first.owners,
            )


@pytest.mark.requirement("RES-9")
async def test_a_lost_connection_keeps_its_bytes_and_is_told_in_the_suffix(
    open_bench: OpenBench, tool_server: MakeServer
) -> None:
    server = tool_server("a")
    async with open_bench({"s": server}, specs=PRELOADED) as bench:
        await bench.box.start_turn(1)
        before = bench.array()
        await bench.hub.disconnect("s")
        outcome = await ask(bench, "s__a")
        assert (outcome.is_error, outcome.refusal) == (True, "unavailable")
        surface = await bench.box.start_turn(2)
        assert bench.array(2) == before
        assert surface.notices == ("s cannot be reached at the moment; calls of its tools fail.",)
        assert surface.server_lines == ()
        await bench.hub.connect(ConnectionSpec(id="s", preload=True), lambda: server.server)
        surface = await bench.box.start_turn(3)
        assert (bench.array(3), surface.notices) == (before, ())
        assert not (await ask(bench, "s__a", turn=3)).is_error


@pytest.mark.requirement("RES-9")
async def test_a_server_that_was_away_when_the_run_started_is_told_when_it_is_there(
    open_bench: OpenBench, tool_server: MakeServer
) -> None:
    class Broken:
        async def __aenter__(self) -> object:
            raise OSError("down")

        async def __aexit__(self, *_: object) -> None:
            return None

    server, spec = tool_server("a"), ConnectionSpec(id="s", preload=True)
    async with open_bench({}) as bench:
        await bench.hub.connect(spec, Broken)
        surface = await bench.box.start_turn(1)
        lines = ("s: no description (could not be reached when this conversation began)",)
        assert (bench.names(), surface.server_lines) == (META, lines)
        assert (await ask(bench, meta.CALL, server="s", tool="a", input={})).refusal == "unknown_tool"
        await bench.hub.connect(spec, lambda: server.server)
        surface = await bench.box.start_turn(2)
        assert (bench.names(2), surface.server_lines) == (META, lines)
        assert surface.notices == (
            "s can be reached now.",
            "New tools of s: a (call them through mcp_call_tool)",
        )
        assert not (await ask(bench, meta.CALL, turn=2, server="s", tool="a", input={})).is_error


async def test_a_host_tool_cannot_take_the_name_of_a_meta_tool(open_bench: OpenBench) -> None:
    with pytest.raises(ReservedNameError, match="'mcp_call_tool' belongs to the runtime"):
        async with open_bench({}, host_tools=[host_tool(meta.CALL)]):
            pass


@pytest.mark.requirement("RES-9", "RES-1")
async def test_a_new_server_and_new_tools_are_announced_and_reached_through_meta_tools(
    open_bench: OpenBench, tool_server: MakeServer
) -> None:
    server, late = tool_server("a"), tool_server("x")
    async with open_bench({"s": server}, specs=PRELOADED) as bench:
        await bench.box.start_turn(1)
        before = bench.array()
        server.tools = [*server.tools, *tool_server("aa").tools]
        await bench.box.refresher.refresh("s")
        await bench.hub.connect(ConnectionSpec(id="l", preload=True, description="Late"), lambda: late.server)
        surface = await bench.box.start_turn(2)
        assert bench.array(2) == before
        assert surface.server_lines == ()
        assert surface.notices == (
            "Connected since this conversation began: l: Late (see mcp_list_tools)",
            "New tools of s: aa (call them through mcp_call_tool)",
        )
        assert surface.deferred == {"l__x", "s__aa"}
        assert (await ask(bench, meta.LIST, turn=2, server="l")).text == "x"
        for server_id, name in (("s", "aa"), ("l", "x")):
            outcome = await ask(bench, meta.CALL, turn=2, server=server_id, tool=name, input={})
            assert not outcome.is_error


@pytest.mark.requirement("RES-9")
@pytest.mark.parametrize("direct", [20, 1])
async def test_under_append_what_comes_in_mid_run_stands_at_the_end(
    direct: int, open_bench: OpenBench, tool_server: MakeServer
) -> None:
    server, late, later = tool_server("b", "c"), tool_server("x", "y"), tool_server("q")
    policy = Policy(midrun_preload="append", direct_tools=direct)
    async with open_bench({"s": server}, specs=PRELOADED, policy=policy) as bench:
        await bench.box.start_turn(1)
        before = bench.names()
        await bench.hub.connect(ConnectionSpec(id="l", preload=True), lambda: late.server)
        await bench.box.start_turn(2)
        second = bench.names(2)
        await bench.hub.connect(ConnectionSpec(id="a", preload=True), lambda: later.server)
        server.tools = [*tool_server("a").tools, *server.tools]
        await bench.box.refresher.refresh("s")
        surface = await bench.box.start_turn(3)
        third = bench.names(3)
        assert second[: len(before)] == before
        assert third[: len(second)] == second
        assert surface.notices == ()
        if direct == 20:
            assert second[len(before) :] == ["l__x", "l__y"]
            assert sorted(third[len(second) :]) == ["a__q", "s__a"]
        else:
            assert second[len(before) :] == ["l__use"]
            assert third[len(second) :] == ["a__q"]


@pytest.mark.requirement("RES-9")
@pytest.mark.parametrize(("removal", "kept"), [("turn", False), ("run", True)])
async def test_a_removed_tool_leaves_at_the_next_turn_and_is_refused_at_once(
    removal: str, kept: bool, open_bench: OpenBench, tool_server: MakeServer
) -> None:
    server = tool_server("a", "b")
    policy = Policy.model_validate({"removal": removal})
    async with open_bench({"s": server}, specs=PRELOADED, policy=policy) as bench:
        await bench.box.start_turn(1)
        before = bench.array()
        server.tools.pop()
        await bench.box.refresher.refresh("s")
        assert bench.array(1, 2) == before
        assert (await ask(bench, "s__b")).refusal == "unknown_tool"
        await bench.box.start_turn(2)
        assert ("s__b" in bench.names(2)) is kept
        assert (await ask(bench, "s__b", turn=2)).refusal == "unknown_tool"


@pytest.mark.requirement("RES-9")
async def test_a_tool_that_returns_is_new_again(open_bench: OpenBench, tool_server: MakeServer) -> None:
    server = tool_server("a", "b")
    async with open_bench({"s": server}, specs=PRELOADED) as bench:
        await bench.box.start_turn(1)
        kept = server.tools.pop()
        await bench.box.refresher.refresh("s")
        assert (await bench.box.start_turn(2)).notices == ()
        server.tools.append(kept)
        await bench.box.refresher.refresh("s")
        surface = await bench.box.start_turn(3)
        assert ("s__b" in bench.names(3), "s__b" in surface.deferred) == (False, True)
        assert surface.notices == ("New tools of s: b (call them through mcp_call_tool)",)


@pytest.mark.requirement("RES-9")
@pytest.mark.parametrize(("removal", "left"), [("turn", ["s__b"]), ("run", ["s__a", "s__b"])])
async def test_a_discovered_tool_that_is_removed_leaves_like_any_other_and_an_edited_one_shows_it(
    removal: str, left: list[str], open_bench: OpenBench, tool_server: MakeServer, tool: Callable[..., Any]
) -> None:
    server = tool_server("a", "b")
    policy = Policy.model_validate({"removal": removal, "promotion": "append"})
    async with open_bench({"s": server}, specs={"s": {"preload": False}}, policy=policy) as bench:
        await bench.box.start_turn(1)
        for name in ("a", "b"):
            await ask(bench, meta.DESCRIBE, server="s", tool=name)
        server.tools = [tool("b", "Edited.")]
        await bench.box.refresher.refresh("s")
        before = bench.box.step_surface(1, 2).discovered
        assert [entry.definition.description for entry in before] == ["Does a.", "Does b."]
        after = (await bench.box.start_turn(2)).discovered
        assert [entry.definition.name for entry in after] == left
        assert after[-1].definition.description == "Edited."


@pytest.mark.requirement("RES-9", "RES-2")
async def test_an_edited_definition_shows_new_bytes_at_the_next_turn_once(
    open_bench: OpenBench, tool_server: MakeServer, tool: Callable[..., Any]
) -> None:
    server = tool_server("a", "b")
    async with open_bench({"s": server}, specs=PRELOADED) as bench:
        await bench.box.start_turn(1)
        before = bench.array()
        server.tools[0] = tool("a", "Does it differently.")
        await bench.box.refresher.refresh("s")
        assert bench.array(1, 2) == before
        await bench.box.start_turn(2)
        after = bench.array(2)
        assert (b"differently" in after, after.replace(b"Does it differently.", b"Does a.")) == (True, before)
        await bench.box.start_turn(3)
        assert bench.array(3) == after


@pytest.mark.requirement("RES-9", "TIER-5")
@pytest.mark.parametrize(
    ("tier_change", "sizes", "tiers"),
    [
        ("boundary", (2, 3, 1), ["direct", "direct", "direct"]),
        ("turn", (2, 3, 1), ["direct", "facade", "facade"]),
        ("turn", (2, 9, 1), ["direct", "search", "search"]),
    ],
)
async def test_a_tier_moves_only_where_the_policy_says_and_only_upwards(
    tier_change: str, sizes: tuple[int, ...], tiers: list[str], open_bench: OpenBench, tool_server: MakeServer
) -> None:
    server = tool_server()
    policy = Policy.model_validate({"tier_change": tier_change, "direct_tools": 2, "facade_tools": 5})
    async with open_bench({"s": server}, specs=PRELOADED, policy=policy) as bench:
        seen = []
        for turn, size in enumerate(sizes):
            server.tools = tool_server(*[f"t{n}" for n in range(size)]).tools
            if turn:
                await bench.box.refresher.refresh("s")
            seen.append((await bench.box.start_turn(turn)).servers[0].tier)
        assert seen == tiers


@pytest.mark.requirement("DEF-10")
async def test_an_unset_flag_is_decided_once_in_a_run(open_bench: OpenBench, tool_server: MakeServer) -> None:
    server = tool_server("a")
    async with open_bench({"s": server}, policy=Policy(direct_tools=1)) as bench:
        assert (await bench.box.start_turn(1)).servers[0].tier == "direct"
        server.tools = tool_server("a", "b", "c").tools
        await bench.box.refresher.refresh("s")
        assert (await bench.box.start_turn(2)).servers[0].tier == "direct"
    async with open_bench({"s": server}, policy=Policy(direct_tools=1)) as bench:
        assert (await bench.box.start_turn(1)).servers[0].tier == "deferred"


@pytest.mark.requirement("DEF-9")
async def test_eager_names_stand_in_the_array_and_the_server_stays_listed(
    open_bench: OpenBench, tool_server: MakeServer, caplog: pytest.LogCaptureFixture
) -> None:
    spec = {"preload": False, "eager": ("b", "typo")}
    async with open_bench({"s": tool_server("a", "b")}, specs={"s": spec}) as bench:
        surface = await bench.box.start_turn(1)
        assert bench.names() == [*META, "s__b"]
        assert (surface.server_lines, surface.deferred) == (("s: no description",), {"s__a"})
        assert "'typo' is not in its catalogue" in caplog.text
        assert surface.servers[0].missing_eager == ("typo",)


@pytest.mark.requirement("RES-5", "RES-2")
async def test_under_append_described_tools_follow_in_order_of_discovery_from_the_next_step(
    open_bench: OpenBench, tool_server: MakeServer
) -> None:
    servers = {"s": tool_server("a", "b", "c"), "p": tool_server("d")}
    specs = {"s": {"preload": False}, "p": {"preload": True}}
    async with open_bench(servers, specs=specs, policy=Policy(promotion="append")) as bench:
        first = await bench.box.start_turn(1)
        await ask(bench, meta.DESCRIBE, step=1, server="s", tool="c")
        await ask(bench, meta.DESCRIBE, step=1, server="p", tool="d")
        assert bench.box.step_surface(1, 1).discovered == ()
        second = bench.box.step_surface(1, 2)
        await ask(bench, meta.DESCRIBE, step=2, server="s", tool="a")
        await ask(bench, meta.DESCRIBE, step=2, server="s", tool="c")
        third = bench.box.step_surface(1, 3)
        assert [tool.definition.name for tool in second.discovered] == ["s__c"]
        assert [tool.definition.name for tool in third.discovered] == ["s__c", "s__a"]
        assert third.tools == first.tools + third.discovered
        assert third.deferred == {"s__b"}
        assert (await bench.box.start_turn(2)).discovered == third.discovered
        assert bench.box.reach("s", "c").route == "direct"
        assert (await ask(bench, "s__c", turn=2)).route == "direct"
        assert bench.box.reach("s", "b").route == "meta"


@pytest.mark.requirement("RES-7")
async def test_under_bridge_nothing_is_promoted(open_bench: OpenBench, tool_server: MakeServer) -> None:
    async with open_bench({"s": tool_server("a")}, specs={"s": {"preload": False}}) as bench:
        await bench.box.start_turn(1)
        before = bench.array()
        await ask(bench, meta.DESCRIBE, server="s", tool="a")
        assert bench.array(1, 2) == before
        assert bench.box.reach("s", "a").described


@pytest.mark.requirement("RES-1")
async def test_resolved_once_per_run_nothing_moves_but_permission_does(
    open_bench: OpenBench, tool_server: MakeServer
) -> None:
    server = tool_server("a", "b")
    async with open_bench({"s": server}, specs=PRELOADED, policy=Policy(resolution="run")) as bench:
        await bench.box.start_turn(1)
        before = bench.array()
        server.tools.pop()
        await bench.box.refresher.refresh("s")
        await bench.box.start_turn(2)
        assert bench.array(2) == before
        assert (await ask(bench, "s__b", turn=2)).refusal == "unknown_tool"


async def test_the_servers_own_order_is_followed_where_the_policy_says(
    open_bench: OpenBench, tool_server: MakeServer
) -> None:
    servers = {"z": tool_server("b", "a"), "a": tool_server("d", "c")}
    specs = {name: {"preload": True} for name in servers}
    policy = Policy(tool_order="server", midrun_preload="append")
    async with open_bench(servers, specs=specs, policy=policy) as bench:
        await bench.box.start_turn(1)
        assert bench.names() == [*META, "z__b", "z__a", "a__d", "a__c"]
        servers["z"].tools = tool_server("a", "new", "b").tools
        await bench.box.refresher.refresh("z")
        await bench.box.start_turn(2)
        assert bench.names(2) == [*META, "z__a", "z__new", "z__b", "a__d", "a__c"]


async def test_with_disclosure_all_every_schema_stands_in_the_array(
    open_bench: OpenBench, tool_server: MakeServer
) -> None:
    server = tool_server(*[f"t{n:03}" for n in range(120)])
    async with open_bench(
        {"s": server}, specs={"s": {"preload": False}}, policy=Policy(disclosure="all")
    ) as bench:
        surface = await bench.box.start_turn(1)
        assert (len(surface.tools), surface.server_lines, surface.deferred) == (123, (), frozenset())


@pytest.mark.requirement("CAT-3", "RES-9")
async def test_a_refresh_that_fails_changes_nothing_but_is_told(
    open_bench: OpenBench, tool_server: MakeServer
) -> None:
    server = tool_server("a", "b", "c", page=1)
    async with open_bench({"s": server}, specs=PRELOADED) as bench:
        await bench.box.start_turn(1)
        before = bench.array()
        server.tools = tool_server("other").tools
        server.faults.append(MCPError(-32603, "no"))
        snapshot = await bench.box.refresher.refresh("s")
        await bench.box.start_turn(2)
        assert (bench.array(2), snapshot.stale, snapshot.version) == (before, True, 1)
        assert bench.watcher.refreshes[-1][1].error == "MCPError: no"
        assert not (await bench.box.refresher.refresh("s")).stale

"""Tiers: exact limits, the facade's index, and that no tier changes what can be called."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coldturn.reference.catalogue import CatalogueTool
from coldturn.reference.catalogue.definition import define
from coldturn.reference.policy import Policy
from coldturn.reference.surface import meta
from coldturn.reference.surface.tiers import fits_direct, is_preloaded, tier_of
from coldturn.reference.wire.model import ToolCall


def rows(count: int, description: str = "") -> list[CatalogueTool]:
    made = [
        define(f"t{n:03}", description=description, input_schema={"type": "object"}) for n in range(count)
    ]
    return [CatalogueTool("s", d.name, d.hash, d.body, 0, 1, 1) for d in made]


@pytest.mark.requirement("TIER-1", "TIER-2", "TIER-3", "TIER-5")
@pytest.mark.parametrize(
    ("count", "tier"),
    [(0, "direct"), (20, "direct"), (21, "facade"), (100, "facade"), (101, "search")],
)
def test_the_limits_by_count_are_exact(count: int, tier: str) -> None:
    assert tier_of(rows(count), Policy()) == tier


@pytest.mark.requirement("TIER-5")
def test_the_limit_by_estimated_tokens_is_exact() -> None:
    tools = rows(3, "x" * 1000)
    size = sum(tool.prompt_bytes for tool in tools)
    assert size == sum(
        len(
            json.dumps(
                {"name": t.name, "description": t.description, "inputSchema": t.input_schema},
                separators=(",", ":"),
            )
        )
        for t in tools
    )
    tokens = -(-size // 4)
    assert fits_direct(tools, Policy(direct_tokens=tokens))
    assert not fits_direct(tools, Policy(direct_tokens=tokens - 1))


@pytest.mark.requirement("DEF-9", "DEF-10")
def test_only_the_flag_decides_and_unset_counts_what_was_discovered() -> None:
    few, many = rows(20), rows(21)
    assert [is_preloaded(True, tools, Policy()) for tools in (few, many)] == [True, True]
    assert [is_preloaded(False, tools, Policy()) for tools in (few, many)] == [False, False]
    assert [is_preloaded(None, tools, Policy()) for tools in (few, many)] == [True, False]
    assert is_preloaded(False, many, Policy(disclosure="all"))


@pytest.mark.anyio
@pytest.mark.requirement("TIER-2")
async def test_a_facade_shows_exposed_names_and_first_lines(
    open_bench: Callable[..., Any], tool_server: Callable[..., Any], tool: Callable[..., Any]
) -> None:
    server = tool_server(tool("read.file", "Reads a file.\nAt length."), tool("list", "Lists."))
    spec = {"preload": True, "description": "Files"}
    async with open_bench({"fs": server}, specs={"fs": spec}, policy=Policy(direct_tools=1)) as bench:
        surface = await bench.box.start_turn(1)
        (shown,) = [entry for entry in surface.tools if entry.definition.name == "fs__use"]
        odd = bench.box.reach("fs", "read.file")
        assert (odd.route, odd.exposed) == ("facade", "fs__use")
        lines = shown.definition.description.splitlines()
        assert lines[:4] == ["Calls one of the tools of fs: Files", "", "Tools:", "- fs__list: Lists."]
        assert lines[4].startswith("- fs__read_file_")
        assert lines[4].endswith(": Reads a file.")
        assert "At length" not in shown.definition.description
        exposed = lines[4][2:].partition(":")[0]
        for name in (exposed, "read.file"):
            call = ToolCall("c", "fs__use", json.dumps({"tool": name, "input": {}}))
            assert (await bench.box.call(call, turn=1, step=1)).tool == "read.file"


@pytest.mark.anyio
@pytest.mark.requirement("TIER-7")
async def test_the_definitions_of_meta_tools_and_search_pair_do_not_move_with_the_catalogue(
    open_bench: Callable[..., Any], tool_server: Callable[..., Any]
) -> None:
    seen = set()
    for count in (3, 4, 9):
        server = tool_server(*[f"tool{n}" for n in range(count)])
        limits = Policy(direct_tools=1, facade_tools=2)
        async with open_bench({"s": server}, specs={"s": {"preload": True}}, policy=limits) as bench:
            await bench.box.start_turn(1)
            assert bench.names() == [meta.CALL, meta.DESCRIBE, meta.LIST, meta.SEARCH, meta.USE]
            seen.add(bench.array())
    assert len(seen) == 1


@pytest.mark.requirement("TIER-4")
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.sets(st.sampled_from("abcdefgh"), max_size=8),
    granted=st.none() | st.sets(st.sampled_from("abcdefghz"), max_size=8),
    preload=st.sampled_from([True, False, None]),
    eager=st.sets(st.sampled_from("abz"), max_size=2),
    direct=st.integers(0, 8),
    facade=st.integers(0, 8),
)
def test_in_every_tier_what_can_be_called_is_what_is_permitted(
    names: set[str],
    granted: set[str] | None,
    preload: bool | None,
    eager: set[str],
    direct: int,
    facade: int,
    open_bench: Callable[..., Any],
    tool_server: Callable[..., Any],
) -> None:
    permitted = names if granted is None else names & granted
    spec = {
        "preload": preload,
        "eager": tuple(sorted(eager)),
        "grants": None if granted is None else tuple(sorted(granted)),
    }

    async def run() -> None:
        server = tool_server(*sorted(names))
        limits = Policy(direct_tools=direct, facade_tools=facade)
        async with open_bench({"s": server}, specs={"s": spec}, policy=limits) as bench:
            surface = await bench.box.start_turn(1)
            called = set()
            for name in "abcdefghz":
                reach = bench.box.reach("s", name)
                if reach.route is None:
                    continue
                wrapped = {"tool": name, "input": {}}
                if reach.route in {"meta", "search"}:
                    wrapped["server"] = "s"
                arguments = {} if reach.route == "direct" else wrapped
                outcome = await bench.box.call(
                    ToolCall("c", reach.exposed, json.dumps(arguments)), turn=1, step=1
                )
                assert (outcome.is_error, outcome.route, outcome.tool) == (False, reach.route, name)
                called.add(name)
            assert called == permitted
            assert [name for name, _ in server.calls] == sorted(permitted)
            shown = {entry.tool for entry in surface.tools if entry.tool is not None}
            hidden = {name.removeprefix("s__") for name in surface.deferred}
            assert (shown | hidden, shown & hidden) == (permitted, set())

    anyio.run(run)

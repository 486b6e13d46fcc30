"""Array, inline list and discovered list agree on every path, also under the host's own system prompt."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import pytest

from coldturn.reference.catalogue import CatalogueStore
from coldturn.reference.connections import Hub, Limits
from coldturn.reference.loop import run_turn
from coldturn.reference.model import ModelRequest, ScriptedModel
from coldturn.reference.policy import POLICIES, Policy
from coldturn.reference.prefix.model import Surface
from coldturn.reference.prompt.zones import tool_catalogue
from coldturn.reference.run import Host, Run, open_run
from coldturn.reference.spec import AgentSpec, ConnectionSpec, SkillSpec
from coldturn.reference.surface.model import HostResult, HostTool, SurfaceTool
from coldturn.reference.wire.model import Reply, ToolCall, ToolDefinition

OWN = "You are the host's own assistant."
MakeServer = Callable[..., Any]


def describe(name: str) -> ToolCall:
    return ToolCall("", "mcp_describe_tool", json.dumps({"server": "git", "tool": name}))


async def nothing(_arguments: object) -> HostResult:
    return HostResult("")


TODO = HostTool(ToolDefinition("todo", "Keeps a list.", b'{"type":"object"}'), "keep a list", nothing)


@asynccontextmanager
async def talking(
    make: MakeServer, tool: Callable[..., types.Tool], policy: Policy, override: str | None
) -> AsyncIterator[tuple[Run, ScriptedModel]]:
    git, files = make(tool("log", "Shows the log."), tool("blame", "Blames.")), make("read")
    spec = AgentSpec(
        surface=Surface.RESPONSES,
        instructions="The Spec's instructions.",
        skills=(SkillSpec(name="review", description="How to review", body="Twice."),),
        connections=(
            ConnectionSpec(id="git", description="Version control", preload=False, eager=("blame",)),
            ConnectionSpec(id="files", preload=True),
        ),
    )
    replies = [Reply("", (describe("log"),)), Reply("", (describe("blame"), describe("log"))), Reply("Done.")]
    store, model = CatalogueStore(), ScriptedModel([*replies, Reply("Again.")])
    async with Hub(Limits(backoff=None)) as hub:
        for one, server in zip(spec.connections, (git, files), strict=True):
            await hub.connect(one, lambda server=server: server.server)  # type: ignore[misc] # bound at once
        host = Host(hub, store, (TODO,), system_prompt=override)
        yield open_run(spec, policy, host, model, memory="tea"), model
    store.close()


def listed(text: str, heading: str) -> list[str]:
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |^<|\Z)", text, re.MULTILINE | re.DOTALL)
    return re.findall(r"^- ([\w-]+)", section[1], re.MULTILINE) if section else []


def parts(request: ModelRequest) -> tuple[list[str], str, str]:
    """Names of the array, system text, and the last variable suffix."""
    body = json.loads(request.body)
    users = [part["text"] for row in body["input"] if row.get("role") == "user" for part in row["content"]]
    suffixes = [text for text in users if text.startswith("<system-reminder>")]
    return [tool["name"] for tool in body["tools"]], body["instructions"], (suffixes or [""])[-1]


@pytest.mark.anyio
@pytest.mark.requirement("RES-6", "RES-5", "RES-4")
@pytest.mark.parametrize("override", [None, OWN, ""])
@pytest.mark.parametrize("placement", ["trailing", "last_user", "persisted"])
@pytest.mark.parametrize("name", list(POLICIES))
async def test_the_array_is_inline_then_discovered_and_the_texts_say_the_same(
    name: str,
    placement: str,
    override: str | None,
    tool_server: MakeServer,
    tool: Callable[..., types.Tool],
) -> None:
    policy = POLICIES[name].model_copy(update={"suffix_placement": placement})
    async with talking(tool_server, tool, policy, override) as (run, model):
        await run_turn(run, "Look")
        surfaces = [run.toolbox.step_surface(0, step) for step in range(4)]
        await run_turn(run, "Again")
    assert len(model.requests) == 4
    for request in model.requests:
        array, system, user = parts(request)
        inline = [n for n in array if n != "git__log"] if policy.promotion == "append" else array
        discovered = array[len(inline) :]
        assert (array, set(inline) & set(discovered)) == ([*inline, *discovered], set())
        assert len(set(array)) == len(array)
        expected = {"none": [], "system": array, "suffix": inline}[policy.catalogue]
        assert listed(system, "Tool Catalog") == expected
        if policy.catalogue == "suffix":
            assert listed(user, "Discovered Tools") == discovered
        assert ("The Spec's instructions." in system) is (override is None)
        assert ("## Skills" in system) is (override is None)
        assert (override or "") in system
        if policy.disclosure == "tiers":
            assert "- git: Version control" in system, "the model hears of the server all the same"
    for surface in surfaces:
        assert surface.tools == surface.inline + surface.discovered
        assert not {t.definition.name for t in surface.inline} & {
            t.definition.name for t in surface.discovered
        }


@pytest.mark.requirement("RES-6")
def test_without_an_inline_part_the_catalogue_lists_the_whole_array() -> None:
    tools = [SurfaceTool(ToolDefinition(name, "", b"{}"), f"use {name}") for name in ("a", "b", "c")]
    assert tool_catalogue(tools) == "## Tool Catalog\n- a: use a\n- b: use b\n- c: use c"
    assert tool_catalogue(tools, tools[:1]) == "## Tool Catalog\n- a: use a"
    assert tool_catalogue((), ()) == ""


@pytest.mark.anyio
@pytest.mark.requirement("RES-4")
async def test_with_nothing_discovered_there_is_no_byte_of_a_reminder(
    tool_server: MakeServer, tool: Callable[..., types.Tool]
) -> None:
    async with talking(tool_server, tool, POLICIES["catalog-in-suffix"], None) as (run, model):
        await run_turn(run, "Look")
    first, second = (request.body.decode() for request in model.requests[:2])
    assert "Discovered Tools" not in first
    head = (
        "## Discovered Tools\\nThese deferred tools were loaded earlier. Call them by name; their schemas are"
    )
    assert head + " in the tools array.\\n- git__log: Shows the log.\\n" in second

"""``promotion = native``: the provider itself loads what was discovered, and no byte of the prefix moves."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import pytest
from anthropic.types import MessageParam, ToolParam
from openai.types.responses import ResponseInputParam
from openai.types.responses import ToolParam as ResponseToolParam
from pydantic import TypeAdapter, ValidationError

from coldturn.reference.catalogue import CatalogueStore
from coldturn.reference.connections import Hub, Limits
from coldturn.reference.loop import run_turn
from coldturn.reference.model import ScriptedModel
from coldturn.reference.policy import Policy
from coldturn.reference.prefix.model import Surface
from coldturn.reference.publish import InvalidSpecError, publish
from coldturn.reference.records import Described, ToolResult
from coldturn.reference.run import Host, Run, open_run
from coldturn.reference.spec import AgentSpec, ConnectionSpec
from coldturn.reference.surface.toolbox import UnsupportedPromotionError
from coldturn.reference.wire.model import Reply, ToolCall
from steps import Steps

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("RES-7")]

NATIVE = Policy(promotion="native", result_tokens=50, batch_tokens=60, preview_chars=20)
SURFACES = {Surface.MESSAGES: "claude-opus-5", Surface.RESPONSES: "gpt-5.6"}
BOTH = pytest.mark.parametrize("surface", SURFACES)


def fits(adapter: TypeAdapter[Any], value: object) -> None:
    """Validate by the SDK's own types; iterables in them are validated only when they are walked."""
    waiting = [adapter.validate_python(value)]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, Iterable) and not isinstance(one, str | bytes):
            waiting.extend(one)


class Noon:
    def time_ns(self) -> int:
        return 1_780_315_200_000_000_000


def call(name: str, /, **arguments: object) -> ToolCall:
    return ToolCall("", name, json.dumps(arguments))


def describe(name: str) -> ToolCall:
    return call("mcp_describe_tool", server="git", tool=name)


@pytest.fixture
def git(tool_server: Callable[..., Any], tool: Callable[..., types.Tool]) -> Any:  # noqa: ANN401 - ToolServer of conftest.py
    return tool_server(
        tool("log", "Shows the log. " * 30, path="string"), tool("blame", "Blames.", path="string")
    )


@asynccontextmanager
async def talking(
    git: Any,  # noqa: ANN401 - ToolServer of conftest.py
    surface: Surface,
    *replies: Reply,
) -> AsyncIterator[tuple[Run, Steps]]:
    spec = AgentSpec(
        instructions="Be kind.",
        surface=surface,
        model=SURFACES[surface],
        connections=(ConnectionSpec(id="git", description="Version control", preload=False),),
    )
    store, observer = CatalogueStore(), Steps()
    try:
        async with Hub(Limits(backoff=None)) as hub:
            await hub.connect(spec.connections[0], lambda: git.server)
            model = ScriptedModel(replies)
            yield open_run(spec, NATIVE, Host(hub, store), model, observer, Noon()), observer
    finally:
        store.close()


TALK = (
    Reply("", (describe("log"),)),
    Reply("", (describe("blame"), describe("log"))),
    Reply("", (call("git__log", path="a"), call("git__blame", path="b"))),
    Reply("Found."),
    Reply("Again."),
)


@BOTH
@pytest.mark.requirement("RES-5")
async def test_a_discovered_tool_is_called_by_name_and_nothing_in_front_of_it_moves(
    surface: Surface,
    git: Any,  # noqa: ANN401 - ToolServer of conftest.py
) -> None:
    async with talking(git, surface, *TALK) as (run, observer):
        for text in ("Look", "Again"):
            assert (await run_turn(run, text)).error is None
        assert git.calls == [("log", {"path": "a"}), ("blame", {"path": "b"})]
        results = [record for record in run.records if isinstance(record, ToolResult)]
        assert [result.route for result in results] == ["meta", "meta", "meta", "direct", "direct"]
        for info in observer.infos[1:]:
            assert info.comparison is not None
            assert info.comparison.first is None
            assert info.comparison.stable
        zones = [{zone.zone.value: zone for zone in info.ledger.zones} for info in observer.infos]
        assert len({zone["tools"].hash for zone in zones}) == 1
        assert len({zone["tail"].prefix_hash for zone in zones}) == 1


async def test_on_messages_definitions_are_flagged_and_appended_and_a_result_refers_to_them(
    git: Any,  # noqa: ANN401 - ToolServer of conftest.py
) -> None:
    async with talking(git, Surface.MESSAGES, *TALK) as (run, observer):
        await run_turn(run, "Look")
        await run_turn(run, "Again")
    bodies = observer.bodies()
    flagged = [[t["name"] for t in body["tools"] if t.get("defer_loading")] for body in bodies]
    assert flagged == [[], ["git__log"], *[["git__log", "git__blame"]] * 3]
    inline = [[t["name"] for t in body["tools"] if not t.get("defer_loading")] for body in bodies]
    assert all(names == inline[0] for names in inline)
    assert bodies[1]["tools"][len(inline[0]) - 1]["cache_control"], (
        "the marker stands before the deferred ones"
    )
    results = [
        block["content"]
        for message in bodies[-1]["messages"]
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    assert results[:3] == [
        [{"type": "tool_reference", "tool_name": name}] for name in ("git__log", "git__blame", "git__log")
    ]
    for body in bodies:
        fits(TypeAdapter(list[ToolParam]), body["tools"])
        fits(TypeAdapter(list[MessageParam]), body["messages"])


def test_the_types_would_refuse_another_shape() -> None:
    content = [{"type": "tool_result", "tool_use_id": "x", "content": [{"type": "odd", "tool_name": "y"}]}]
    with pytest.raises(ValidationError):
        fits(TypeAdapter(list[MessageParam]), [{"role": "user", "content": content}])
    row = {"type": "additional_tools", "role": "developer", "tools": [{"type": "function"}]}
    with pytest.raises(ValidationError):
        fits(TypeAdapter(ResponseInputParam), [row])


async def test_on_responses_definitions_are_appended_to_the_history_behind_their_results(
    git: Any,  # noqa: ANN401 - ToolServer of conftest.py
) -> None:
    async with talking(git, Surface.RESPONSES, *TALK) as (run, observer):
        await run_turn(run, "Look")
        await run_turn(run, "Again")
    bodies = observer.bodies()
    assert all(body["tools"] == bodies[0]["tools"] for body in bodies)
    assert "git__log" not in {tool["name"] for tool in bodies[0]["tools"]}
    kinds = [
        (item["type"], [tool["name"] for tool in item.get("tools", ())]) for item in bodies[2]["input"][:-1]
    ]
    assert kinds == [
        ("message", []),
        ("function_call", []),
        ("function_call_output", []),
        ("additional_tools", ["git__log"]),
        ("function_call", []),
        ("function_call", []),
        ("function_call_output", []),
        ("function_call_output", []),
        ("additional_tools", ["git__blame"]),
        ("additional_tools", ["git__log"]),
    ]
    loaded = bodies[2]["input"][3]
    assert loaded["role"] == "developer"
    assert loaded["tools"][0]["parameters"]["required"] == ["path"]
    assert "defer_loading" not in loaded["tools"][0]
    for body in bodies:
        fits(TypeAdapter(list[ResponseToolParam]), body["tools"])
        fits(TypeAdapter(ResponseInputParam), body["input"])


@BOTH
@pytest.mark.requirement("BIG-6")
async def test_the_log_holds_the_whole_description_and_no_boundary_shortens_what_loads_a_tool(
    surface: Surface,
    git: Any,  # noqa: ANN401 - ToolServer of conftest.py
) -> None:
    async with talking(git, surface, *TALK) as (run, observer):
        await run_turn(run, "Look")
        await run_turn(run, "Again")
        described = [r for r in run.records if isinstance(r, ToolResult) and r.name == "mcp_describe_tool"]
        assert len(described[0].text) > 400, "over the threshold of a result"
        assert json.loads(described[0].text)["callable_as"] == "git__log"
        assert [r.tool for r in run.records if isinstance(r, Described)] == ["log", "blame", "log"]
        handles = {result.handle for result in described}
        assert not handles & set(observer.infos[-1].elision.handles)


@BOTH
@pytest.mark.requirement("RES-9")
async def test_a_loaded_tool_that_is_removed_is_refused_while_its_definition_stays(
    surface: Surface,
    git: Any,  # noqa: ANN401 - ToolServer of conftest.py
) -> None:
    replies = (TALK[0], Reply("One"), Reply("", (call("git__log", path="a"),)), Reply("Two"))
    async with talking(git, surface, *replies) as (run, observer):
        await run_turn(run, "Look")
        git.tools = git.tools[1:]
        await run.toolbox.refresher.refresh("git")  # type: ignore[attr-defined] # a real Toolbox
        await run_turn(run, "Call it")
        refused = [r for r in run.records if isinstance(r, ToolResult)][-1]
        assert (refused.is_error, git.calls) == (True, [])
        assert all(i.comparison is None or i.comparison.first is None for i in observer.infos)
        assert b'"name":"git__log"' in observer.infos[-1].body


async def test_an_edited_definition_breaks_the_prefix_as_an_edit(
    git: Any,  # noqa: ANN401 - ToolServer of conftest.py
    tool: Callable[..., types.Tool],
) -> None:
    async with talking(git, Surface.MESSAGES, TALK[0], Reply("One"), Reply("Two")) as (run, observer):
        await run_turn(run, "Look")
        git.tools[0] = tool("log", "Another text.", path="string")
        await run.toolbox.refresher.refresh("git")  # type: ignore[attr-defined] # a real Toolbox
        await run_turn(run, "Again")
    last = observer.infos[-1].comparison
    assert last is not None
    assert last.first is not None
    assert (last.first.cause, last.first.names) == ("tool_edited", ("git__log",))


async def test_a_surface_that_cannot_load_tools_is_refused_when_the_spec_is_published() -> None:
    with pytest.raises(InvalidSpecError, match=r"policy\.promotion: 'native' needs") as caught:
        publish({"surface": "chat_completions"}, {"promotion": "native"})
    assert [problem.path for problem in caught.value.problems] == ["policy.promotion"]
    spec = AgentSpec(surface=Surface.CHAT_COMPLETIONS)
    store = CatalogueStore()
    async with Hub() as hub:
        with pytest.raises(UnsupportedPromotionError, match="chat_completions"):
            open_run(spec, NATIVE, Host(hub, store), ScriptedModel(()))
    store.close()

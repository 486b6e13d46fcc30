"""What deferral is and is not: a property of a connection, plain pairs, no second switch."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

import coldturn.reference.surface as surface_package
from coldturn.reference.catalogue import CatalogueStore
from coldturn.reference.connections import Hub, Limits
from coldturn.reference.loop import run_turn
from coldturn.reference.model import ScriptedModel
from coldturn.reference.policy import Policy
from coldturn.reference.run import Host, open_run
from coldturn.reference.spec import AgentSpec, ConnectionSpec
from coldturn.reference.surface import meta
from coldturn.reference.surface.toolbox import Toolbox
from coldturn.reference.wire.model import Reply, ToolCall
from coldturn.traces import names
from coldturn.traces.span_attributes import server_attributes

# `Bench` and `ToolServer` of conftest.py, which a test module cannot import.
Bench = Any
OpenBench = Callable[..., Any]
MakeServer = Callable[..., Any]


async def ask(bench: Bench, name: str, **arguments: object) -> Any:  # noqa: ANN401 - CallOutcome
    return await bench.box.call(ToolCall("c", name, json.dumps(arguments)), turn=1, step=1)


@pytest.mark.requirement("DEF-1")
def test_nothing_but_the_connection_says_whether_a_server_is_deferred() -> None:
    assert ConnectionSpec.model_fields["preload"].annotation == bool | None
    switches = ("preload", "defer", "lazy", "load")
    for function in (Toolbox.call, Toolbox.start_turn, Toolbox.step_surface, Hub.call_tool):
        assert not [name for name in inspect.signature(function).parameters if name.startswith(switches)]
    for schema in (*meta.SCHEMAS.values(), meta.FACADE_SCHEMA):
        properties = set(schema["properties"])
        assert properties <= {"server", "tool", "input", "query"}
        assert schema["additionalProperties"] is False


@pytest.mark.anyio
@pytest.mark.requirement("DEF-1", "DEF-3")
async def test_a_pair_is_all_that_a_call_needs_and_no_answer_hands_out_a_ticket(
    open_bench: OpenBench, tool_server: MakeServer
) -> None:
    async with open_bench({"s": tool_server("add")}, specs={"s": {"preload": False}}) as bench:
        await bench.box.start_turn(1)
        # Nothing was listed or described before.
        assert (await ask(bench, meta.CALL, server="s", tool="add", input={})).text == "add {}"
        described = json.loads((await ask(bench, meta.DESCRIBE, server="s", tool="add")).text)
        assert set(described) == {"server", "name", "description", "inputSchema"}
        assert (await ask(bench, meta.LIST, server="s")).text == "add"
        for extra in ("ticket", "handle", "preload", "token"):
            refused = await ask(bench, meta.CALL, server="s", tool="add", input={}, **{extra: "x"})
            assert (refused.refusal, extra in refused.text) == ("invalid_arguments", True)


@pytest.mark.anyio
@pytest.mark.requirement("DEF-2")
@pytest.mark.parametrize("promotion", ["bridge", "append", "native"])
async def test_no_byte_of_a_deferred_tool_is_in_a_request_until_the_model_asks(
    promotion: str, tool_server: MakeServer, tool: Callable[..., types.Tool]
) -> None:
    server, store = (
        tool_server(
            tool("alpha", "Alpha describes itself.", needle_a="string"),
            tool("beta", "Beta describes itself.", needle_b="string"),
            tool("early", "Early describes itself.", needle_e="string"),
        ),
        CatalogueStore(),
    )
    ask_for = ToolCall("", meta.DESCRIBE, '{"server":"s","tool":"alpha"}')
    model = ScriptedModel([Reply("", (ToolCall("", meta.LIST, '{"server":"s"}'),)), Reply("", (ask_for,))])
    async with Hub(Limits(backoff=None)) as hub:
        spec = ConnectionSpec(id="s", preload=False, eager=("early",))
        await hub.connect(spec, lambda: server.server)
        policy = Policy.model_validate({"promotion": promotion})
        run = open_run(AgentSpec(connections=(spec,)), policy, Host(hub, store), model)
        await run_turn(run, "Look")
    store.close()
    first, second = (request.body for request in model.requests)
    assert b"Early describes itself." in first
    for needle in (b"Alpha describes", b"Beta describes", b"needle_a", b"needle_b"):
        assert needle not in first
        assert needle not in second, "a list holds names alone"
    assert run.sent is not None
    third = run.sent.request.body
    assert (b"needle_a" in third, b"needle_b" in third) == (True, False)


@pytest.mark.anyio
@pytest.mark.requirement("DEF-8", "NAR-1")
@pytest.mark.parametrize("tier", ["direct", "facade", "search", "deferred"])
async def test_a_grant_that_is_taken_back_between_listing_and_calling_refuses_the_call(
    tier: str, open_bench: OpenBench, tool_server: MakeServer
) -> None:
    limits = {"facade": {"direct_tools": 1}, "search": {"direct_tools": 0, "facade_tools": 1}}.get(tier, {})
    server = tool_server("alpha", "beta")
    spec: dict[str, Any] = {"preload": tier != "deferred"}
    policy = Policy.model_validate(limits)
    async with open_bench({"s": server}, specs={"s": spec}, policy=policy) as bench:
        surface = await bench.box.start_turn(1)
        assert surface.servers[0].tier == tier
        assert "beta" in (await ask(bench, meta.LIST, server="s")).text
        assert (await ask(bench, meta.DESCRIBE, server="s", tool="beta")).described == ("s", "beta")
        narrower = ConnectionSpec(id="s", grants=("alpha",), **spec)
        await bench.hub.connect(narrower, lambda: server.server)
        reach = {
            "direct": ("s__beta", {}),
            "facade": ("s__use", {"tool": "s__beta", "input": {}}),
            "search": (meta.USE, {"server": "s", "tool": "beta", "input": {}}),
            "deferred": (meta.CALL, {"server": "s", "tool": "beta", "input": {}}),
        }
        name, arguments = reach[tier]
        assert (await ask(bench, name, **arguments)).refusal == "unknown_tool"
        assert (await ask(bench, meta.DESCRIBE, server="s", tool="beta")).refusal == "unknown_tool"
        assert server.calls == []
        after = await bench.box.start_turn(2)
        assert "s__beta" not in {tool.definition.name for tool in after.tools} | after.deferred


@pytest.mark.anyio
@pytest.mark.requirement("NAR-1")
async def test_the_specs_grants_narrow_what_the_connection_grants_and_never_widen_it(
    tool_server: MakeServer,
) -> None:
    connection = ConnectionSpec(id="s", preload=True, grants=("a", "b"))
    agent = AgentSpec(connections=(connection,), grants={"s": ("b", "c")})
    server, store = tool_server("a", "b", "c"), CatalogueStore()
    async with Hub(Limits(backoff=None)) as hub:
        await hub.connect(connection, lambda: server.server)
        run = open_run(agent, Policy(), Host(hub, store), model := ScriptedModel([Reply("Hello.")]))
        await run_turn(run, "Hello")
    store.close()
    offered = [tool["name"] for tool in json.loads(model.requests[0].body)["tools"]]
    assert [name for name in offered if name.startswith("s__")] == ["s__b"]


@pytest.mark.requirement("NAR-1")
def test_only_the_narrowing_reads_tools_from_the_catalogue_for_the_model() -> None:
    """`SurfacePlan` counts what was discovered, and the Toolbox tells a version; neither shows a row."""
    readers: dict[str, int] = {}
    for path in Path(next(iter(surface_package.__path__))).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called.endswith(("_store.current", "_store.at")):
                readers[path.name] = readers.get(path.name, 0) + 1
    assert readers == {"narrowing.py": 1, "plan.py": 2, "toolbox.py": 1}


@pytest.mark.anyio
@pytest.mark.requirement("DEF-9")
async def test_an_eager_name_that_the_catalogue_lacks_stands_on_the_turns_span(
    open_bench: OpenBench, tool_server: MakeServer, caplog: pytest.LogCaptureFixture
) -> None:
    spec = {"preload": False, "eager": ("b", "typo")}
    async with open_bench({"s": tool_server("a", "b")}, specs={"s": spec}) as bench:
        surface = await bench.box.start_turn(1)
    assert server_attributes(surface.servers)[str(names.SERVER_MISSING_EAGER)] == ["s:typo"]
    assert "the eager tool 'typo' is not in its catalogue" in caplog.text
    async with open_bench({"s": tool_server("a", "b", "typo")}, specs={"s": spec}) as bench:
        surface = await bench.box.start_turn(1)
    assert str(names.SERVER_MISSING_EAGER) not in server_attributes(surface.servers)


@pytest.mark.anyio
@pytest.mark.requirement("DEF-13")
async def test_no_route_leads_from_one_meta_tool_to_another(
    open_bench: OpenBench, tool_server: MakeServer
) -> None:
    limits = Policy(direct_tools=0, facade_tools=1)
    async with open_bench(
        {"s": tool_server("a", "b")}, specs={"s": {"preload": True}}, policy=limits
    ) as bench:
        await bench.box.start_turn(1)
        for route in (meta.CALL, meta.USE):
            for inner in (*meta.META_NAMES, *meta.SEARCH_NAMES):
                refused = await ask(bench, route, server="s", tool=inner, input={"server": "s"})
                assert (refused.is_error, refused.refusal) == (True, "meta_in_meta")

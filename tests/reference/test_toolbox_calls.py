"""Calls on every route: what is refused, what a failing server looks like, and what a result becomes."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

import mcp_types as types
import pytest
from mcp import MCPError

from coldturn.reference.policy import Policy
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.surface import meta
from coldturn.reference.surface.model import CallOutcome, HostResult, HostTool
from coldturn.reference.surface.results import binary_line
from coldturn.reference.wire.model import ToolCall, ToolDefinition

pytestmark = pytest.mark.anyio

# `Bench` of conftest.py, which a test module cannot import.
Bench = Any

OpenBench = Callable[..., Any]
MakeServer = Callable[..., Any]
MakeTool = Callable[..., types.Tool]


async def ask(bench: Bench, name: str, arguments: object = None, **keywords: object) -> CallOutcome:
    text = (
        arguments if isinstance(arguments, str) else json.dumps(keywords if arguments is None else arguments)
    )
    outcome: CallOutcome = await bench.box.call(ToolCall("call_1", name, text), turn=1, step=1, handle="h1")
    return outcome


ROUTES: dict[str, tuple[dict[str, object], str, Callable[[object], dict[str, object]]]] = {
    "direct": ({}, "s__add", lambda given: given),  # type: ignore[dict-item, return-value]
    "facade": ({"direct_tools": 0}, "s__use", lambda given: {"tool": "s__add", "input": given}),
    "search": (
        {"direct_tools": 0, "facade_tools": 0},
        meta.USE,
        lambda given: {"server": "s", "tool": "add", "input": given},
    ),
    "meta": ({}, meta.CALL, lambda given: {"server": "s", "tool": "add", "input": given}),
}


@pytest.mark.requirement("DEF-12")
@pytest.mark.parametrize("route", ROUTES)
async def test_the_span_names_the_real_server_and_tool_on_every_route(
    route: str, open_bench: OpenBench, tool_server: MakeServer, tool: MakeTool
) -> None:
    limits, name, wrap = ROUTES[route]
    server = tool_server(tool("add", "Adds.", n="integer"))
    async with open_bench(
        {"s": server}, specs={"s": {"preload": True}}, policy=Policy.model_validate(limits)
    ) as bench:
        await bench.box.start_turn(1)
        outcome = await ask(bench, name, wrap({"n": 1}))
        assert (outcome.text, outcome.is_error, outcome.route) == ("add {'n': 1}", False, route)
        ((info, told),) = bench.watcher.calls
        assert (info.call_id, info.exposed_name, info.route) == ("call_1", name, route)
        assert (info.server, info.tool, info.catalog_version) == ("s", "add", 1)
        assert (told.size, told.tokens_estimated, told.handle, told.is_error, told.refusal) == (
            12,
            3,
            "h1",
            False,
            None,
        )
        assert len(told.digest) == 32


@pytest.mark.requirement("DEF-7", "TIER-9")
@pytest.mark.parametrize("route", ROUTES)
async def test_wrong_arguments_come_back_naming_the_field_and_never_reach_the_server(
    route: str, open_bench: OpenBench, tool_server: MakeServer, tool: MakeTool
) -> None:
    limits, name, wrap = ROUTES[route]
    server = tool_server(tool("add", "Adds.", n="integer", deep="object"))
    async with open_bench(
        {"s": server}, specs={"s": {"preload": True}}, policy=Policy.model_validate(limits)
    ) as bench:
        await bench.box.start_turn(1)
        outcome = await ask(bench, name, wrap({"n": "one"}))
        assert (outcome.is_error, outcome.refusal, outcome.tool) == (True, "invalid_arguments", "add")
        assert "- n: 'one' is not of type 'integer'" in outcome.text
        assert "- deep: 'deep' is a required property" in outcome.text
        assert ('"properties":{"n":' in outcome.text) is (route != "direct")
        if route != "direct":
            wrong = await ask(bench, name, wrap("not an object"))
            assert (wrong.refusal, "- input: 'not an object' is not of type 'object'" in wrong.text) == (
                "invalid_arguments",
                True,
            )
            assert '"properties":{"n":' in wrong.text
        assert server.calls == []


@pytest.mark.requirement("DEF-7")
@pytest.mark.parametrize("text", ["{", "[1]", '"text"', "null", "7", "true", "[" * 100_000])
@pytest.mark.parametrize("name", ["s__add", meta.CALL, "local"])
async def test_arguments_that_are_no_object_are_an_ordinary_error(
    name: str, text: str, open_bench: OpenBench, tool_server: MakeServer
) -> None:
    async with open_bench({"s": tool_server("add")}, host_tools=[local_tool("local")]) as bench:
        await bench.box.start_turn(1)
        outcome = await ask(bench, name, text)
        assert (outcome.is_error, outcome.refusal) == (True, "invalid_arguments")
        assert outcome.text.startswith("The arguments")


async def test_no_arguments_at_all_are_an_empty_object(
    open_bench: OpenBench, tool_server: MakeServer
) -> None:
    async with open_bench({"s": tool_server("add")}) as bench:
        await bench.box.start_turn(1)
        assert (await ask(bench, "s__add", "")).text == "add {}"
        assert (await ask(bench, meta.CALL, server="s", tool="add")).text == "add {}"


@pytest.mark.requirement("DEF-6")
@pytest.mark.parametrize("name", [meta.LIST, meta.DESCRIBE, meta.CALL])
async def test_an_unknown_server_is_a_tool_error(
    name: str, open_bench: OpenBench, tool_server: MakeServer
) -> None:
    async with open_bench({"s": tool_server("add")}) as bench:
        await bench.box.start_turn(1)
        arguments = {"server": "nobody", "tool": "add"} if name != meta.LIST else {"server": "nobody"}
        outcome = await ask(bench, name, arguments)
        assert (outcome.is_error, outcome.refusal) == (True, "unknown_server")
        assert outcome.text == "There is no server 'nobody'. Connected servers: s."


@pytest.mark.requirement("DEF-13")
async def test_a_meta_tool_cannot_call_a_meta_tool(open_bench: OpenBench, tool_server: MakeServer) -> None:
    async with open_bench({"s": tool_server("add")}) as bench:
        await bench.box.start_turn(1)
        for inner in (meta.LIST, meta.CALL):
            outcome = await ask(bench, meta.CALL, server="s", tool=inner, input={"server": "s"})
            assert (outcome.is_error, outcome.refusal) == (True, "meta_in_meta")


@pytest.mark.requirement("DEF-3", "TIER-9")
@pytest.mark.parametrize("limits", [{}, {"direct_tools": 0}, {"direct_tools": 0, "facade_tools": 0}])
@pytest.mark.parametrize("preload", [True, False])
async def test_list_and_describe_serve_every_connected_server(
    preload: bool, limits: Mapping[str, int], open_bench: OpenBench, tool_server: MakeServer
) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    rich = types.Tool(
        name="rich", title="Rich", description="Two\nlines.", input_schema=schema, output_schema=schema
    )
    async with open_bench(
        {"s": tool_server(rich, "plain")},
        specs={"s": {"preload": preload}},
        policy=Policy.model_validate(limits),
    ) as bench:
        await bench.box.start_turn(1)
        assert not bench.box.reach("s", "rich").listed
        assert (await ask(bench, meta.LIST, server="s")).text == "plain\nrich"
        assert bench.box.reach("s", "rich").listed
        outcome = await ask(bench, meta.DESCRIBE, server="s", tool="rich")
        assert outcome.described == ("s", "rich")
        assert bench.box.reach("s", "rich").described
        answer = json.loads(outcome.text)
        assert (answer["server"], answer["name"], answer["description"]) == ("s", "rich", "Two\nlines.")
        assert (answer["inputSchema"], answer["outputSchema"]) == (schema, schema)


@pytest.mark.requirement("TIER-6")
async def test_the_search_answers_with_hits_and_their_total(
    open_bench: OpenBench, tool_server: MakeServer
) -> None:
    server = tool_server(*[f"read{n:02}" for n in range(12)])
    limits = Policy(direct_tools=0, facade_tools=1)
    async with open_bench({"s": server}, specs={"s": {"preload": True}}, policy=limits) as bench:
        await bench.box.start_turn(1)
        lines = (await ask(bench, meta.SEARCH, query="read")).text.splitlines()
        assert lines[:2] == ["8 of 12 matches", "server=s tool=read00 required=(): Does read00."]
        assert len(lines) == 9
        assert (await ask(bench, meta.SEARCH, query="nothing alike")).text == "0 of 0 matches"
        empty = await ask(bench, meta.SEARCH, query="  ")
        assert (empty.is_error, empty.refusal) == (True, "invalid_arguments")
    async with open_bench({"s": server}, specs={"s": {"preload": False}}) as bench:
        await bench.box.start_turn(1)
        assert (await ask(bench, meta.SEARCH, query="read")).refusal == "unknown_tool"


async def test_a_name_that_the_array_does_not_hold_is_unknown(
    open_bench: OpenBench, tool_server: MakeServer
) -> None:
    async with open_bench({"s": tool_server("add")}, specs={"s": {"preload": False}}) as bench:
        await bench.box.start_turn(1)
        for name in ("s__add", "s__use", "nope", ""):
            outcome = await ask(bench, name, {})
            assert (outcome.refusal, outcome.text) == (
                "unknown_tool",
                f"There is no tool named {name!r} that you can call.",
            )


@pytest.mark.requirement("CONN-1")
async def test_a_failing_tool_and_a_failing_server_are_tool_errors(
    open_bench: OpenBench, tool_server: MakeServer
) -> None:
    server = tool_server("fails", "breaks")

    def breaks(_arguments: dict[str, Any]) -> types.CallToolResult:
        raise MCPError(types.INTERNAL_ERROR, "out of order")

    server.answers["breaks"] = breaks
    server.answers["fails"] = lambda _: types.CallToolResult(
        content=[types.TextContent(type="text", text="no such file")], is_error=True
    )
    async with open_bench({"s": server}) as bench:
        await bench.box.start_turn(1)
        failed = await ask(bench, "s__fails", {})
        assert (failed.text, failed.is_error, failed.refusal) == ("no such file", True, None)
        broken = await ask(bench, "s__breaks", {})
        assert (broken.is_error, broken.refusal) == (True, "protocol_error")
        assert "out of order" in broken.text


async def test_text_is_joined_and_bytes_are_told_by_type_size_and_digest(
    open_bench: OpenBench, tool_server: MakeServer
) -> None:
    data = base64.b64encode(b"\x89PNG").decode()
    server = tool_server("mixed", "structured", "both")
    server.answers["mixed"] = lambda _: types.CallToolResult(
        content=[
            types.TextContent(type="text", text="one"),
            types.ImageContent(type="image", data=data, mime_type="image/png"),
            types.TextContent(type="text", text="two"),
            types.EmbeddedResource(
                type="resource", resource=types.TextResourceContents(uri="file:///a", text="three")
            ),
            types.EmbeddedResource(
                type="resource", resource=types.BlobResourceContents(uri="file:///b", blob=data)
            ),
            types.ResourceLink(type="resource_link", name="four", uri="file:///c"),
        ]
    )
    server.answers["structured"] = lambda _: types.CallToolResult(
        content=[], structured_content={"b": 1, "a": "é"}
    )
    server.answers["both"] = lambda _: types.CallToolResult(
        content=[types.TextContent(type="text", text="told")], structured_content={"b": 1}
    )
    async with open_bench({"s": server}) as bench:
        await bench.box.start_turn(1)
        mixed = await ask(bench, "s__mixed", {})
        assert mixed.text == "one\ntwo\nthree\nresource four: file:///c"
        digest = binary_line("image", "image/png", data).rpartition(" ")[2]
        assert mixed.binary == (
            f"image image/png, 4 bytes, xxh3-128 {digest}",
            f"resource application/octet-stream, 4 bytes, xxh3-128 {digest}",
        )
        assert "PNG" not in mixed.text
        assert (await ask(bench, "s__structured", {})).text == '{"b":1,"a":"é"}'
        assert (await ask(bench, "s__both", {})).text == "told"
    assert "not valid base64" in binary_line("image", "image/png", "!!")


@pytest.mark.requirement("CONN-4", "BIG-6")
@pytest.mark.parametrize("structured", [None, {"n": "no number"}, {"n": 1}])
async def test_an_output_schema_is_checked_behind_the_result_which_stays_whole(
    structured: dict[str, object] | None, open_bench: OpenBench, tool_server: MakeServer
) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    checked = types.Tool(name="t", input_schema={"type": "object"}, output_schema=schema)
    server = tool_server(checked)
    text = "x" * (2 << 20)
    server.answers["t"] = lambda _: types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=structured
    )
    async with open_bench({"s": server}) as bench:
        await bench.box.start_turn(1)
        outcome = await ask(bench, "s__t", {})
        assert (outcome.text == text, outcome.is_error) == (True, False)
        assert (outcome.schema_problem is None) is (structured == {"n": 1})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "https://example.invalid/x"}}},
        {"type": "object", "properties": {"a": {"type": 7}}},
    ],
)
async def test_a_schema_that_cannot_be_used_leaves_the_judgement_to_the_server(
    schema: dict[str, Any], open_bench: OpenBench, tool_server: MakeServer
) -> None:
    server = tool_server(types.Tool(name="t", input_schema=schema))
    async with open_bench({"s": server}) as bench:
        await bench.box.start_turn(1)
        assert (await ask(bench, "s__t", {"a": 1})).text == "t {'a': 1}"


class CorruptError(ColdturnError):
    """What a reader raises for a handle that names nothing."""


def local_tool(name: str) -> HostTool:
    async def run(arguments: Mapping[str, Any]) -> HostResult:
        if arguments["n"] < 0:
            raise CorruptError("gone")
        return HostResult(f"{name} {arguments['n']}", is_error=arguments["n"] == 0)

    schema = b'{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}'
    return HostTool(ToolDefinition(name, "Local.", schema), "Local.", run)


async def test_a_tool_of_the_host_is_validated_called_and_may_end_the_run(open_bench: OpenBench) -> None:
    async with open_bench({}, host_tools=[local_tool("todo")]) as bench:
        await bench.box.start_turn(1)
        assert await ask(bench, "todo", n=1) == CallOutcome("todo 1", False, "local")
        assert (await ask(bench, "todo", n=0)).is_error
        wrong = await ask(bench, "todo", {})
        assert (wrong.refusal, "- n: 'n' is a required property" in wrong.text) == ("invalid_arguments", True)
        assert bench.watcher.calls[0][0].server is None
        assert (bench.box.reach(None, "todo").route, bench.box.reach(None, "nope").route) == ("local", None)
        with pytest.raises(CorruptError):
            await ask(bench, "todo", n=-1)

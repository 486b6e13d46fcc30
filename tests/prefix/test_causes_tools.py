"""Causes inside the tools array: what is named, where, and in which order."""

from __future__ import annotations

from typing import Any

import pytest

from coldturn.reference.prefix.causes import compare
from coldturn.reference.prefix.model import Break, Confidence, Labels, Surface, Zone
from coldturn.reference.prefix.request import PromptRequest
from prefix.bodies import PADDING, Assistant, Item, Result, Tool, User, body, read, request, tool
from prefix.surfaces import SURFACES

A, B, C, D = tool("alpha"), tool("beta"), tool("gamma"), tool("delta")


def broken(before: list[Tool], after: list[Tool], surface: Surface = Surface.RESPONSES) -> Break:
    found = compare(request(surface, tools=before), request(surface, tools=after)).first
    assert found is not None
    return found


def later(found: Break) -> list[tuple[str, str, int | None]]:
    return [(one.cause, one.path, one.block_offset) for one in found.later]


def place(surface: Surface) -> str:
    if surface is Surface.GENERATE_CONTENT:
        return "tools[0].functionDeclarations"
    return "toolConfig.tools" if surface is Surface.CONVERSE else "tools"


@pytest.mark.parametrize("surface", SURFACES)
def test_a_tool_in_front_of_others_is_added_without_append_tail(surface: Surface) -> None:
    found = broken([A, C], [A, B, C], surface)
    assert (found.cause, found.names, found.kinds, found.path) == (
        "tool_added",
        ("beta",),
        (),
        f"$.{place(surface)}[1]",
    )
    # Both tools begin alike, up to their names.
    assert found.now.startswith("beta")
    assert found.was.startswith("gamma")


@pytest.mark.parametrize("surface", SURFACES)
def test_a_tool_behind_the_array_differs_from_its_first_byte_on(surface: Surface) -> None:
    found = broken([A], [A, B, C], surface)
    assert (found.block_offset, found.path, found.side) == (0, f"$.{place(surface)}[1]", "child")
    assert found.names == ("beta", "gamma")
    assert found.delta_bytes == sum(
        len(block.facts.content) for block in request(surface, tools=[B, C]).blocks[:2]
    )


@pytest.mark.parametrize("surface", SURFACES)
def test_a_removed_tool_is_told_on_the_parents_side(surface: Surface) -> None:
    found = broken([A, B, C], [A, C], surface)
    assert (found.cause, found.names, found.path, found.side) == (
        "tool_removed",
        ("beta",),
        f"$.{place(surface)}[1]",
        "parent",
    )
    assert found.segment == f"{place(surface)}[1] beta"
    assert found.delta_bytes < 0


def test_a_tool_that_gave_way_to_another_is_removed_and_the_other_added() -> None:
    found = broken([A, B, C], [A, D, C])
    assert (found.cause, found.names) == ("tool_removed", ("beta",))
    assert [(one.cause, one.path) for one in found.later] == [("tool_added", "$.tools[1]")]


def test_order_is_told_once_with_the_tools_that_moved() -> None:
    found = broken([A, B, C, D], [A, C, D, B])
    assert (found.cause, found.names, found.path) == ("tool_order", ("beta",), "$.tools[1]")
    assert found.evidence == "one of 4 tools moved, from place 1 to 3 (numbered from 0)"
    found = broken([A, B, C, D], [B, A, C, D])
    assert (found.names, found.evidence) == (("beta", "alpha"), "2 of 4 tools moved")
    assert found.delta_bytes == 0
    assert found.later == ()


def test_an_edit_in_front_of_a_new_tool_comes_first() -> None:
    found = broken([A, B], [tool("alpha", "Does it otherwise."), B, C])
    assert (found.cause, found.names) == ("tool_edited", ("alpha",))
    assert [(one.cause, one.path) for one in found.later] == [("tool_added", "$.tools[2]")]


def test_edits_of_several_tools_are_one_cause_with_all_names() -> None:
    found = broken([A, B], [tool("alpha", "Otherwise."), tool("beta", "Otherwise.")])
    assert (found.cause, found.names, found.later) == ("tool_edited", ("alpha", "beta"), ())


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (tool("t", "See https://a.example/x today."), tool("t", "See https://b.example/y today."), "url"),
        (tool("t", "In /home/a/x today."), tool("t", "In /home/b/x today."), "path"),
        (tool("t", "In C:\\work\\a today."), tool("t", "In C:\\work\\b today."), "path"),
        (tool("t", "Some text."), tool("t", "Other text."), "text"),
        (tool("t", mode={"enum": ["a", "b"]}), tool("t", mode={"enum": ["a", "b", "c"]}), "enum"),
        (tool("t", mode={"enum": ["a", "b"]}), tool("t", mode={"enum": ["a", "x"]}), "enum"),
        (tool("t", x={"type": "string"}), tool("t", x={"type": "string"}, y={"type": "string"}), "schema"),
        (tool("t", x={"maximum": 1}), tool("t", x={"maximum": 1.0}), "schema"),
    ],
)
def test_edits_are_typed(before: Tool, after: Tool, kind: str) -> None:
    found = broken([before], [after])
    assert (found.cause, found.kinds) == ("tool_edited", (kind,))


def test_key_order_alone_is_no_edit_whatever_its_depth() -> None:
    one = tool("t", x={"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}})
    other = tool("t", x={"properties": {"b": {"type": "string"}, "a": {"type": "string"}}, "type": "object"})
    found = broken([A, one], [A, other])
    assert (found.cause, found.names, found.delta_bytes) == ("schema_key_order", ("t",), 0)


def test_two_tools_of_one_name_are_told_apart() -> None:
    found = broken([A, A], [A, tool("alpha", "A second one.")])
    assert (found.cause, found.path) == ("tool_edited", "$.tools[1]")


def test_a_clock_in_a_description_is_a_clock() -> None:
    found = broken([tool("t", "Last run at 10:01.")], [tool("t", "Last run at 10:02.")])
    assert (found.cause, found.alongside) == ("clock_in_prefix", ("tool_edited",))


def test_an_id_beside_another_edit_is_an_edit() -> None:
    found = broken([tool("t", "Out: /tmp/a1/x. Fast.")], [tool("t", "Out: /tmp/b2/x. Slow.")])
    assert found.cause == "tool_edited"


class TestPromotion:
    """Evidence that a new tool was a deferred one."""

    ASKED: tuple[Item, ...] = (User("do it"),)

    def found(self, after: list[Item], before: dict[str, Any] | None = None, name: str = "cron_add") -> Break:
        parent = request(Surface.RESPONSES, tools=[A], history=self.ASKED, **(before or {}))
        child = request(Surface.RESPONSES, tools=[A, tool(name)], history=[*self.ASKED, *after])
        first = compare(parent, child).first
        assert first is not None
        assert first.names == (name,)
        return first

    def test_the_runtimes_labels_name_it(self) -> None:
        found = self.found([], {"labels": Labels(deferred=frozenset({"cron_add"}))})
        assert (found.cause, found.confidence) == ("tool_promoted", Confidence.OBSERVED)
        assert found.alongside == ("tool_added",)

    @pytest.mark.parametrize(
        "listing",
        [
            "## Deferred tools\n\n- cron_add: every hour\n- cron_drop\n",
            "<available-deferred-tools>\ncron_add\ncron_drop\n</available-deferred-tools>\n",
            "These tools are deferred: cron_drop, cron_add.\n",
            "The following tools are not loaded:\n\n- cron_add\n",
        ],
    )
    def test_the_parent_lists_it_as_deferred(self, listing: str) -> None:
        found = self.found([], {"system": PADDING + listing})
        assert (found.cause, found.confidence) == ("tool_promoted", Confidence.OBSERVED)

    def test_a_list_in_an_older_reminder_counts(self) -> None:
        reminder = "<system-reminder>\nDeferred tools:\n- cron_add\n</system-reminder>"
        parent = request(Surface.MESSAGES, tools=[A], history=[User("q", reminder)])
        child = request(Surface.MESSAGES, tools=[A, tool("cron_add")], history=[User("q", reminder)])
        found = compare(parent, child).first
        assert found is not None
        assert found.cause == "tool_promoted"

    @pytest.mark.parametrize(
        "name",
        ["tool_search", "ToolSearch", "search_tools", "describe_tool", "mcp__hub__find_tools", "loadTools"],
    )
    def test_a_discovery_in_between_names_it(self, name: str) -> None:
        found = self.found(
            [Assistant("", ("c1", name, '{"query":"hourly"}')), Result("c1", "cron_add: hourly")]
        )
        assert (found.cause, found.confidence) == ("tool_promoted", Confidence.OBSERVED)

    def test_a_plain_search_is_weaker_evidence(self) -> None:
        found = self.found([Assistant("", ("c1", "search", '{"query":"hourly"}')), Result("c1", "cron_add")])
        assert (found.cause, found.confidence) == ("tool_promoted", Confidence.INFERRED)

    def test_a_discovery_may_name_server_and_tool_apart(self) -> None:
        call = Assistant("", ("c1", "describe_tool", '{"server":"git","tool":"log_all"}'))
        assert self.found([call, Result("c1", "{}")], name="git__log_all").cause == "tool_promoted"

    def test_a_result_without_an_id_names_its_function(self) -> None:
        def sent(*more: dict[str, Any], names: str = "ab") -> PromptRequest:
            value = body(Surface.GENERATE_CONTENT, tools=[tool(name) for name in names])
            value["contents"] += more
            return read(value, Surface.GENERATE_CONTENT)

        for name, cause in (("find_tools", "tool_promoted"), ("weather", "tool_added")):
            answer = {"name": name, "response": {"output": "c: does what you need"}}
            call = {"role": "model", "parts": [{"functionCall": {"name": name, "args": {}}}]}
            result = {"role": "user", "parts": [{"functionResponse": answer}]}
            comparison = compare(sent(), sent(call, result, names="abc"))
            assert comparison.first is not None
            assert (comparison.first.cause, comparison.first.names) == (cause, ("c",))

    @pytest.mark.parametrize(
        "between",
        [
            [Assistant("", ("c1", "bash", '{"cmd":"cron_add"}')), Result("c1", "cron_add: not found")],
            [Assistant("", ("c1", "tool_search", '{"query":"mail"}')), Result("c1", "cron_add_all, mail")],
            [Assistant("cron_add would help"), User("then find the tool cron_add")],
        ],
    )
    def test_without_evidence_it_was_added(self, between: list[Item]) -> None:
        assert self.found(between).cause == "tool_added"

    def test_an_old_discovery_is_no_evidence(self) -> None:
        old: list[Item] = [Assistant("", ("c1", "tool_search", "{}")), Result("c1", "cron_add")]
        parent = request(Surface.RESPONSES, tools=[A], history=[*self.ASKED, *old])
        child = request(Surface.RESPONSES, tools=[A, tool("cron_add")], history=[*self.ASKED, *old])
        found = compare(parent, child).first
        assert found is not None
        assert found.cause == "tool_added"

    def test_promoted_and_added_tools_are_told_apart(self) -> None:
        labels = Labels(deferred=frozenset({"cron_add"}))
        parent = request(Surface.RESPONSES, tools=[A], labels=labels)
        found = compare(parent, request(Surface.RESPONSES, tools=[A, tool("cron_add"), B])).first
        assert found is not None
        assert (found.cause, found.names) == ("tool_promoted", ("cron_add",))
        assert [(one.cause, one.path) for one in found.later] == [("tool_added", "$.tools[2]")]


def with_flags(**flags: bool) -> dict[str, Any]:
    value = body(Surface.MESSAGES, tools=[A, B, C])
    for one in value["tools"]:
        if one["name"] in flags:
            one["defer_loading"] = flags[one["name"]]
    return value


def test_two_tools_that_change_their_loading_flag_are_a_flip() -> None:
    parent, child = with_flags(alpha=True, beta=True), with_flags()
    found = compare(read(parent, Surface.MESSAGES), read(child, Surface.MESSAGES)).first
    assert found is not None
    assert (found.cause, found.names) == ("defer_mode_flip", ("alpha", "beta"))


def test_one_deferred_tool_that_is_loaded_was_promoted() -> None:
    parent, child = with_flags(beta=True), with_flags()
    found = compare(read(parent, Surface.MESSAGES), read(child, Surface.MESSAGES)).first
    assert found is not None
    assert (found.cause, found.names) == ("tool_promoted", ("beta",))
    back = compare(read(child, Surface.MESSAGES), read(parent, Surface.MESSAGES)).first
    assert back is not None
    assert back.cause == "tool_edited"


def test_a_providers_own_tool_goes_by_its_type() -> None:
    def with_builtin(kind: str) -> dict[str, Any]:
        value = body(Surface.RESPONSES, tools=[A])
        value["tools"].append({"type": kind})
        return value

    found = compare(
        read(body(Surface.RESPONSES, tools=[A]), Surface.RESPONSES),
        read(with_builtin("web_search"), Surface.RESPONSES),
    ).first
    assert found is not None
    assert (found.cause, found.names, found.zone) == ("tool_added", ("web_search",), Zone.TOOLS)

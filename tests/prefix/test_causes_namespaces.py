"""Tools within a tool, and switches of tools: the finding names the one that changed."""

from __future__ import annotations

from typing import Any

import pytest

from coldturn.reference.prefix.causes import REMEDIES, compare, remedy_of
from coldturn.reference.prefix.model import Break, Surface
from coldturn.reference.prefix.request import PromptRequest
from prefix.bodies import body, read, tool
from prefix.surfaces import SURFACES

NAMESPACED = (Surface.RESPONSES, Surface.CHAT_COMPLETIONS)
FIND, ADD, DROP = ({"type": "function", **tool(name)} for name in ("find_contact", "add_contact", "drop"))


def held(surface: Surface, *tools: dict[str, Any], **more: object) -> PromptRequest:
    value = body(surface, tools=[tool("alpha")])
    group = {"type": "namespace", "name": "crm", "description": "Contacts.", "tools": list(tools), **more}
    return read({**value, "tools": [group, *value["tools"]]}, surface)


def told(parent: PromptRequest, child: PromptRequest) -> Break:
    found = compare(parent, child).first
    assert found is not None
    assert found.later == ()
    return found


@pytest.mark.parametrize("surface", NAMESPACED)
def test_a_tool_within_a_namespace(surface: Surface) -> None:
    few, many = held(surface, FIND), held(surface, FIND, ADD)
    for parent, child, cause in ((few, many, "tool_added"), (many, few, "tool_removed")):
        found = told(parent, child)
        assert (found.cause, found.names, found.path) == (cause, ("crm.add_contact",), "$.tools[0]")
        assert found.kinds == ("namespace",)
    both = told(many, held(surface, FIND, DROP))
    assert (both.cause, both.names) == ("tool_edited", ("crm.drop", "crm.add_contact"))
    edited = told(many, held(surface, FIND, {**ADD, "description": "Adds one."}))
    assert (edited.cause, edited.names, edited.kinds) == (
        "tool_edited",
        ("crm.add_contact",),
        ("namespace", "text"),
    )
    turned = told(many, held(surface, ADD, FIND))
    assert (turned.cause, turned.names, turned.delta_bytes) == ("tool_order", ("crm",), 0)


@pytest.mark.parametrize("surface", NAMESPACED)
def test_a_namespace_of_which_more_changed_is_edited(surface: Surface) -> None:
    parent = held(surface, FIND)
    for child in (
        held(surface, FIND, ADD, description="Other."),
        held(surface, FIND, {**FIND, "strict": True}),
        held(surface, FIND, {"type": "function"}),
    ):
        found = told(parent, child)
        assert (found.cause, found.names) == ("tool_edited", ("crm",))


def flagged(surface: Surface, value: bool | None) -> PromptRequest:
    switch = {} if value is None else {"strict": value}
    return read(body(surface, tools=[{**tool(name), **switch} for name in ("alpha", "beta")]), surface)


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize(("was", "now"), [(None, True), (False, True), (True, None)])
def test_a_switch_on_all_tools(surface: Surface, was: bool | None, now: bool | None) -> None:
    found = told(flagged(surface, was), flagged(surface, now))
    assert (found.cause, found.names, found.kinds) == ("tool_edited", ("alpha", "beta"), ("flag",))
    remedy = remedy_of(found.cause, found.zone, found.kinds)
    assert remedy is not None
    assert "strict" in remedy
    assert remedy_of(found.cause, found.zone, ("flag", "text")) == REMEDIES["tool_edited"]


@pytest.mark.parametrize("surface", SURFACES)
def test_a_switch_within_a_schema_is_none(surface: Surface) -> None:
    def strict(value: bool) -> PromptRequest:
        return read(body(surface, tools=[tool("alpha", path={"type": "string", "nullable": value})]), surface)

    assert told(strict(True), strict(False)).kinds == ("schema",)

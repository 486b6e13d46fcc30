"""What a provider calls a hosted MCP server with: no model reads it, it breaks nothing and is not shown."""

from __future__ import annotations

from typing import Any

import pytest

from coldturn.reference.prefix.causes import compare
from coldturn.reference.prefix.model import Surface
from coldturn.reference.prefix.request import PromptRequest
from prefix.bodies import body, read, tool

HOSTED = (Surface.RESPONSES, Surface.CHAT_COMPLETIONS)
URL = "https://mcp.example.com/sse"


def sent(surface: Surface, **more: object) -> PromptRequest:
    value: dict[str, Any] = body(surface, tools=[tool("alpha")])
    server = {"type": "mcp", "server_label": "crm", "server_url": URL, "require_approval": "never", **more}
    return read({**value, "tools": [server, *value["tools"]]}, surface)


@pytest.mark.parametrize("surface", HOSTED)
@pytest.mark.parametrize("key", ["authorization", "headers", "extra_headers"])
def test_a_token_that_is_minted_anew_breaks_nothing(surface: Surface, key: str) -> None:
    def value(token: str) -> object:
        return token if key == "authorization" else {"Authorization": f"Bearer {token}", "X-Team": "a"}

    first, second, none = (
        sent(surface, **({} if token is None else {key: value(token)})) for token in ("one", "two", None)
    )
    for parent, child in ((first, second), (first, none), (none, second)):
        found = compare(parent, child)
        assert (found.stable, found.first, found.wire_drift) == (True, None, False)
    assert not any(b"Bearer" in block.facts.content for block in first.blocks)
    assert [block.facts.content for block in first.blocks] == [block.facts.content for block in none.blocks]


@pytest.mark.parametrize("surface", HOSTED)
def test_all_else_of_such_a_tool_still_counts(surface: Surface) -> None:
    parent = sent(surface, authorization="one", allowed_tools=["a"])
    found = compare(parent, sent(surface, authorization="two", allowed_tools=["a", "b"])).first
    assert found is not None
    assert (found.cause, found.path) == ("tool_edited", "$.tools[0]")
    marked = sent(surface, authorization="one", cache_control={"type": "ephemeral"})
    assert len(marked.markers) == 1
    assert compare(sent(surface), marked).first is None


def test_a_tool_of_ones_own_may_say_what_it_likes() -> None:
    value = body(Surface.RESPONSES, tools=[tool("alpha")])
    (own,) = value["tools"]
    parent, child = (
        read({**value, "tools": [{**own, "headers": text}]}, Surface.RESPONSES) for text in ("a", "b")
    )
    assert not compare(parent, child).stable


def test_the_servers_of_anthropics_connector() -> None:
    def servers(*tokens: str, url: str = URL) -> PromptRequest:
        named = [{"type": "url", "url": url, "name": f"s{at}"} for at in range(len(tokens))]
        full = [{**one, "authorization_token": token} for one, token in zip(named, tokens, strict=True)]
        return read({**body(Surface.MESSAGES), "mcp_servers": full}, Surface.MESSAGES)

    parent, child = servers("one", "two"), servers("three", "four")
    assert parent.settings == child.settings
    assert b"one" not in parent.settings["mcp_servers"]
    assert parent.settings != servers("one", "two", url=URL + "2").settings


@pytest.mark.parametrize("odd", [None, {}, "x", [1, "a", None], []])
def test_servers_in_another_shape_are_read_as_they_are(odd: object) -> None:
    assert "mcp_servers" in read({**body(Surface.MESSAGES), "mcp_servers": odd}, Surface.MESSAGES).settings

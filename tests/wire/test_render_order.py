"""Segments are hashed in the provider's render order, which is data; texts are sent as they are."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldturn.reference.prefix import reading
from coldturn.reference.prefix.ledger import ledger_of
from coldturn.reference.prefix.model import Surface, Zone
from coldturn.reference.prefix.request import read_request
from coldturn.reference.wire import encode
from coldturn.reference.wire.model import (
    RENDERED_SURFACES,
    AssistantItem,
    Prompt,
    ToolCall,
    ToolDefinition,
    ToolResultItem,
    UserItem,
)

SURFACES = pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
RENDERED = {
    Surface.MESSAGES: ("tools", "system", "messages"),
    Surface.CHAT_COMPLETIONS: ("tools", "functions", "messages"),
    Surface.RESPONSES: ("tools", "instructions", "input"),
}


def a_prompt(text: str = "Hello") -> Prompt:
    return Prompt(
        model="gpt-5.5",
        tools=(ToolDefinition("look", f"Looks. {text}", b'{"type":"object"}'),),
        system=f"Be kind. {text}",
        tail="Likes tea.",
        history=(
            UserItem(text),
            AssistantItem("", (ToolCall("c1", "look", "{}"),)),
            ToolResultItem("c1", text),
        ),
        suffix=f"<system-reminder>{text}</system-reminder>",
        max_output_tokens=5,
    )


@pytest.mark.requirement("ZONE-7")
@SURFACES
def test_the_order_is_data_of_the_surface(surface: Surface) -> None:
    assert tuple(group.key for group in reading.DIALECTS[surface].groups) == RENDERED[surface]


@pytest.mark.requirement("ZONE-7")
@SURFACES
def test_hashes_follow_the_render_order_whatever_the_order_of_the_body(surface: Surface) -> None:
    encoded = encode(a_prompt(), surface)
    body = json.loads(encoded.body)
    turned = json.dumps(dict(reversed(body.items()))).encode()
    assert list(json.loads(turned)) != list(body)
    first, second = (
        ledger_of(read_request(one, surface=surface, labels=encoded.labels)) for one in (encoded.body, turned)
    )
    assert first.wire_hash != second.wire_hash
    assert [(s.digest, s.zone) for s in first.segments] == [(s.digest, s.zone) for s in second.segments]
    assert first.zones == second.zones
    zones = [segment.zone for segment in first.segments]
    order = [Zone.TOOLS, Zone.SYSTEM, Zone.TAIL, Zone.HISTORY, Zone.TRANSIENT]
    assert zones == sorted(zones, key=order.index)
    assert set(zones) == set(order)


@pytest.mark.requirement("ZONE-7")
@SURFACES
def test_another_order_of_the_same_data_gives_other_prefix_hashes(
    surface: Surface, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = encode(replace(a_prompt(), tail=""), surface).body
    before = ledger_of(read_request(body, surface=surface))
    dialect = reading.DIALECTS[surface]
    turned = replace(dialect, groups=(*dialect.groups[1:], dialect.groups[0]))
    monkeypatch.setitem(reading.DIALECTS, surface, turned)
    # A body that was read before is found again by its bytes; this one is new.
    after = ledger_of(read_request(b" " + body, surface=surface))
    assert {s.digest for s in after.segments} == {s.digest for s in before.segments}
    assert [s.digest for s in after.segments] != [s.digest for s in before.segments]
    assert after.segments[-1].zone is Zone.TOOLS


@pytest.mark.requirement("ZONE-8")
@SURFACES
@given(text=st.text(max_size=40))
def test_texts_are_utf_8_and_not_normalised(surface: Surface, text: str) -> None:
    texts = f"{text}|a\r\nb|e\u0301|\u00e9|\u2028"
    body = encode(a_prompt(texts), surface).body
    body.decode("utf-8")
    assert b"\n" not in body, "one line of compact JSON"
    strings: list[str] = []

    def collect(value: Any) -> None:  # noqa: ANN401 - decoded JSON
        if isinstance(value, str):
            strings.append(value)
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            collect(inner)

    collect(json.loads(body))
    for wanted in (texts, f"Be kind. {texts}", f"Looks. {texts}"):
        assert wanted in strings

"""Bodies read from a recent one read as they do in full, whatever changed, and mostly without reading all."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldturn.reference.prefix import slicing
from coldturn.reference.prefix import splice as splicing
from coldturn.reference.prefix.errors import UnreadableBodyError
from coldturn.reference.prefix.model import Surface
from coldturn.reference.prefix.reading import Reading, read_body
from coldturn.reference.prefix.request import read_request
from coldturn.reference.prefix.splice import splice

Body = dict[str, Any]


def wire(body: Body) -> bytes:
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    return text.replace('"content":"twice"', '"content":"once","content":"twice"').encode()


def said(reading: Reading) -> list[object]:
    groups = [(one.group, one.listed, one.elements, one.leading, list(one.starts)) for one in reading.groups]
    return [groups, reading.contents, reading.totals, reading.flags, reading.envelope]


def messages(*texts: str) -> list[Body]:
    return [
        {"role": "assistant" if at % 2 else "user", "content": f"{at}: {text}"}
        for at, text in enumerate(texts)
    ]


def chat(texts: list[str]) -> Body:
    tools = [{"type": "function", "function": {"name": f"t{at}", "description": "d" * at}} for at in range(5)]
    return {
        "model": "gpt-5.4",
        "messages": [{"role": "system", "content": "rules"}, *messages(*texts)],
        "tools": tools,
    }


def anthropic(texts: list[str]) -> Body:
    tools = [{"name": f"t{at}", "description": "d" * at, "input_schema": {}} for at in range(5)]
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 1,
        "system": "10:01 rules",
        "tools": tools,
        "messages": messages(*texts),
    }


def responses(texts: list[str]) -> Body:
    tools = [{"type": "function", "name": f"t{at}", "parameters": {}} for at in range(5)]
    return {
        "model": "gpt-5.4",
        "instructions": "10:01 rules",
        "input": [{"type": "message", **one} for one in messages(*texts)],
        "tools": tools,
    }


every_format = pytest.mark.parametrize("write", [chat, anthropic, responses])
TEXTS = [f"text {at} " * (at + 1) for at in range(12)]
HISTORY = {"chat": "messages", "anthropic": "messages", "responses": "input"}


def lists(body: Body) -> list[str]:
    return [key for key, value in body.items() if isinstance(value, list)]


def strings(body: Body) -> list[str]:
    return [key for key in ("system", "instructions") if key in body]


def changed(draw: st.DrawFn, body: Body) -> Body:
    """Up to six changes of a body, anywhere in it."""
    body = json.loads(json.dumps(body))
    for number in range(draw(st.integers(1, 6))):
        key = draw(st.sampled_from([*lists(body), *strings(body)]))
        if isinstance(body[key], str):
            body[key] = draw(st.sampled_from(["10:02 rules", "", "10:01 rules and é\n", body[key] + "x"]))
            continue
        found = body[key]
        at = draw(st.integers(0, len(found)))
        kind = draw(st.sampled_from(["insert", "again", "remove", "replace", "swap"]))
        if kind == "insert":
            found.insert(at, {**TEMPLATE[key], "name": f"new {number}", "content": f"new {number}"})
        elif kind == "again" and found:
            found.insert(at, draw(st.sampled_from(found)))
        elif kind == "remove":
            del found[at : at + draw(st.integers(1, 2))]
        elif kind == "replace" and at < len(found):
            text = draw(st.sampled_from([f"other {number}", "twice"]))
            found[at] = {**found[at], "content": text, "description": text}
        elif kind == "swap" and len(found) > 1:
            other = draw(st.integers(0, len(found) - 1))
            at = min(at, len(found) - 1)
            found[at], found[other] = found[other], found[at]
    return body


TEMPLATE = {
    "messages": {"role": "user"},
    "input": {"type": "message", "role": "user"},
    "tools": {"type": "custom"},
}


@every_format
@given(data=st.data())
def test_any_few_changes_read_as_in_full(write: Callable[[list[str]], Body], data: st.DataObject) -> None:
    was = write(data.draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=12)))
    if data.draw(st.booleans()):
        was[HISTORY[write.__name__]][0]["content"] = "twice"
    now = data.draw(st.composite(changed)(was))
    before, body = wire(was), wire(now)
    surface = read_request(before).surface
    spliced = splice(body, before, read_body(before, surface, "")[0])
    if spliced is not None:
        assert said(spliced) == said(read_body(body, surface, "")[0])


def _clock(body: Body, history: str) -> None:
    if "system" in body:
        body["system"] = "10:02 rules"
    elif "instructions" in body:
        body["instructions"] = "10:02 rules, later"
    else:
        body[history][0]["content"] = "other rules"


def _swap(body: Body, _: str) -> None:
    tools = body["tools"]
    tools[0], tools[3] = tools[3], tools[0]


def _neighbours(body: Body, _: str) -> None:
    tools = body["tools"]
    tools[1], tools[2] = tools[2], tools[1]


def _tool(body: Body, _: str) -> None:
    body["tools"].append({**body["tools"][0], "description": "new"})


def _rewrite(body: Body, history: str) -> None:
    body[history][5]["content"] = "something else"


def _cut_short(body: Body, history: str) -> None:
    del body[history][-4:]
    body["tools"].append({**body["tools"][0], "description": "new"})


def _between_equals(body: Body, history: str) -> None:
    body[history][6:6] = [body[history][5]] * 2
    body["tools"].append({**body["tools"][0], "description": "new"})


@every_format
@pytest.mark.parametrize("change", [_clock, _swap, _neighbours, _tool, _rewrite, _cut_short, _between_equals])
def test_a_change_beside_an_appended_message_costs_no_full_reading(
    write: Callable[[list[str]], Body],
    change: Callable[[Body, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    was, now = write(TEXTS[:-1]), write(TEXTS)
    change(now, HISTORY[write.__name__])
    before, body = wire(was), wire(now)
    expected = said(read_body(body, None, "")[0])
    parsed: list[int] = []
    read_items = slicing.items
    splicing._recent.clear()
    read_request(before)

    def counted(data: bytes, *span: int) -> object:
        parsed.append(len(data))
        return read_items(data, *span)

    monkeypatch.setattr(slicing, "items", counted)
    reading = splicing.read_again(body, None, "")
    assert said(reading) == expected
    assert sum(parsed) < len(body) / 2


def test_tools_of_another_format_make_another_surface() -> None:
    was = chat(TEXTS)
    now = {**was, "tools": [*anthropic(TEXTS)["tools"][:1], *was["tools"][1:]]}
    assert read_request(wire(was)).surface is Surface.CHAT_COMPLETIONS
    assert read_request(wire(now)).surface is Surface.MESSAGES


@pytest.mark.parametrize("system", [[{"type": "text", "text": "rules"}], None, {"a": 1}, 7])
def test_a_text_that_became_another_type_is_read_in_full(system: object) -> None:
    was = anthropic(TEXTS)
    before, body = wire(was), wire({**was, "system": system})
    assert splice(body, before, read_body(before, None, "")[0]) is None
    read_request(before)
    if isinstance(system, int | dict):
        with pytest.raises(UnreadableBodyError, match="system is"):
            read_request(body)
    else:
        assert read_request(body).groups[0].group.key == "tools"


def test_a_second_value_of_a_key_is_refused() -> None:
    before = wire(anthropic(TEXTS))
    body = before.replace(b'"10:01 rules"', b'"10:01 rules","more"')
    assert splice(body, before, read_body(before, None, "")[0]) is None
    with pytest.raises(UnreadableBodyError):
        read_request(body)

"""The first difference: place, side, section, and the byte of the newer body."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldturn.reference.prefix.difference import common_prefix, first_difference, has_wire_drift, wire_offset
from coldturn.reference.prefix.model import Fidelity, Zone
from coldturn.reference.prefix.request import PromptRequest, read_request


def chat(*messages: Any, tools: str = "", **options: Any) -> PromptRequest:  # noqa: ANN401 - any JSON
    body = {
        "model": "m",
        "tools": [{"type": "function", "function": {"name": name, "parameters": {}}} for name in tools],
        "messages": [one if isinstance(one, dict) else {"role": "user", "content": one} for one in messages],
    }
    return read_request(json.dumps(body).encode(), **options)


SYSTEM = {"role": "system", "content": "# Rules\n\nbe brief\n\n## Tools\n- look\n- write\n"}


@given(st.binary(max_size=40), st.binary(max_size=40), st.integers(0, 3))
def test_common_prefix(was: bytes, now: bytes, times: int) -> None:
    padding = b"x" * (times * 65536 - times)
    slow = next(
        (at for at, (a, b) in enumerate(zip(was, now, strict=False)) if a != b), min(len(was), len(now))
    )
    assert common_prefix(padding + was, padding + now) == len(padding) + slow


def test_a_tool_taken_out_is_told_at_its_place_in_the_parent() -> None:
    found = first_difference(chat("q", tools="abc"), chat("q", tools="ac"))
    assert found is not None
    assert (found.side, found.path, found.segment) == ("parent", "$.tools[1]", "tools[1] b")
    assert found.zone is Zone.TOOLS
    last = first_difference(chat("q", tools="abc"), chat("q", tools="ab"))
    assert last is not None
    assert (last.side, last.path, last.in_header, last.block_offset) == ("parent", "$.tools[2]", True, 0)


def test_a_tool_put_in_is_told_at_its_place_in_the_child() -> None:
    parent, child = chat("q", tools="ac"), chat("q", tools="abc")
    found = first_difference(parent, child)
    assert found is not None
    assert (found.side, found.path) == ("child", "$.tools[1]")
    assert found.offset == len(parent.blocks[0].facts.content) + found.block_offset
    last = first_difference(chat(SYSTEM, tools="a"), chat(SYSTEM, tools="ab"))
    assert last is not None
    assert (last.side, last.path, last.block_offset) == ("child", "$.tools[1]", 0)


def test_tools_in_another_order_are_told_in_the_child() -> None:
    found = first_difference(chat("q", tools="abc"), chat("q", tools="bac"))
    assert found is not None
    assert (found.side, found.path) == ("child", "$.tools[0]")


def test_an_edit_that_repeats_a_later_message_is_no_removal() -> None:
    found = first_difference(chat("a", "go", "b", "go", "c"), chat("b", "go", "b", "go", "c"))
    assert found is not None
    assert (found.side, found.path) == ("child", "$.messages[0]")


def test_the_section_is_the_nearest_heading_above() -> None:
    now = {**SYSTEM, "content": str(SYSTEM["content"]).replace("- write", "- web\n- write")}
    parent, child = chat(SYSTEM, "q"), chat(now, "q")
    found = first_difference(parent, child)
    assert found is not None
    assert (found.section, found.zone, found.path) == ("## Tools", Zone.SYSTEM, "$.messages[0]")
    assert child.blocks[0].facts.content[found.block_offset :] == b"eb\n- write\n"
    assert found.wire_offset is not None
    assert child.body[found.wire_offset :].startswith(b"eb\\n- write")


def test_the_wire_offset_goes_through_escapes() -> None:
    found = first_difference(chat('é"\n1'), chat('é"\n2'))
    assert found is not None
    assert found.block_offset == 4
    child = chat('é"\n2')
    assert found.wire_offset == child.body.index(b'2"}')


def test_the_wire_offset_goes_through_ids_and_escapes_of_json_content() -> None:
    def call(argument: str, name: str = "f") -> PromptRequest:
        function = {"arguments": argument, "name": name}
        calls = [{"type": "function", "id": "call_1", "function": function}]
        return chat({"role": "assistant", "tool_calls": calls})

    child = call("x\t")
    found = first_difference(call("x\n"), child)
    assert found is not None
    assert child.body[: found.wire_offset].endswith(b'"arguments": "x\\')
    content = child.blocks[0].facts.content
    assert content == b'{"type":"function","function":{"arguments":"x\\t","name":"f"}}'
    behind_type = wire_offset(child, 0, content.index(b',"function":'))
    assert behind_type is not None
    assert child.body[behind_type:].startswith(b', "function"')
    key = wire_offset(child, 0, content.index(b'"function":'))
    assert key == behind_type + 2


def test_a_text_that_goes_on_differs_behind_its_end() -> None:
    found = first_difference(chat("question"), chat("question and more"))
    assert found is not None
    assert (found.offset, found.block_offset, found.side) == (8, 8, "child")


def test_no_difference_when_the_child_goes_on() -> None:
    assert first_difference(chat("a"), chat("a")) is None
    assert first_difference(chat("a"), chat("a", "b")) is None
    parts = [{"type": "text", "text": "a"}]
    one, more = {"role": "user", "content": parts}, {"role": "user", "content": parts * 2}
    assert first_difference(chat(one), chat(more)) is None


def test_what_is_gone_at_the_end_is_told_in_the_parent() -> None:
    found = first_difference(chat("a", "b"), chat("a"))
    assert found is not None
    assert (found.parent, found.child, found.side, found.path) == (1, None, "parent", "$.messages[1]")
    assert (found.offset, found.block_offset) == (1, 0)
    assert found.wire_offset == chat("a").body.index(b'{"role": "user"') + len(
        b'{"role": "user", "content": "a"}'
    )


def test_ids_and_roles_are_differences_without_content() -> None:
    results = [{"role": "tool", "tool_call_id": call, "content": "x"} for call in ("c1", "c2")]
    found = first_difference(chat("a", results[0]), chat("a", results[1]))
    assert found is not None
    assert (found.in_header, found.offset, found.block_offset, found.path) == (True, 1, 0, "$.messages[1]")


def test_without_wire_bytes_there_is_no_wire_offset() -> None:
    for fidelity in (Fidelity.CANONICAL, Fidelity.MESSAGES):
        found = first_difference(chat("a"), chat("b", fidelity=fidelity))
        assert found is not None
        assert found.wire_offset is None
    found = first_difference(chat("a"), chat("b").without_body())
    assert found is not None
    assert found.wire_offset is None


@pytest.mark.parametrize(
    ("was", "now", "drift"),
    [
        (b'{"role":"user","content":"\\u00e9"}', '{"role":"user","content":"é"}'.encode(), True),
        (b'{"role":"user","content":"a"}', b'{"role": "user","content":"a"}', True),
        (b'{"role":"user","content":"a"}', b'{"content":"a","role":"user"}', True),
        (b'{"role":"user","content":"a"}', b'{"role":"user","cache_control":{},"content":"a"}', False),
        (b'{"role":"user","content":"a"}', b'{"cache_control":{},"role":"user","content":"a"}', False),
        (b'{"role":"user","content":"a","cache_control":{}}', b'{"role":"user","content":"a"}', False),
        (b'{"role":"user","content":"a","cache_control":{}}', b'{"role":"user", "content":"a"}', True),
    ],
)
def test_other_spellings_drift_and_markers_do_not(was: bytes, now: bytes, drift: bool) -> None:
    parent, child = (read_request(b'{"messages":[%b]}' % one) for one in (was, now))
    assert first_difference(parent, child) is None
    assert has_wire_drift(parent, child) is drift
    assert has_wire_drift(parent, parent) is False

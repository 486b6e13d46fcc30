"""For any request on any surface and any edit of one block, the reported place is exactly the edit.

Requests are drawn as plain conversations; `SURFACES` writes them in each format, together with the path and
content of every block as docs/concepts.md defines them: an oracle of its own, not what the core computes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from coldturn.reference.prefix.difference import extends, first_difference, has_wire_drift, wire_offset
from coldturn.reference.prefix.errors import UnreadableBodyError
from coldturn.reference.prefix.ledger import ledger_of
from coldturn.reference.prefix.model import Surface
from coldturn.reference.prefix.reading import Reading, read_body
from coldturn.reference.prefix.request import read_request
from coldturn.reference.prefix.splice import splice

TEXT = st.text(st.sampled_from('ab é😀"\\/\n\t\x01#<>`'), max_size=30) | st.sampled_from(
    [
        "# One\n\ntext\n\n## Two\n\nmore",
        "<memory>\nx\n</memory>\n",
        "a line\n" * 400,
        "words and words, " * 200,
    ]
)
MARKER = {"type": "ephemeral"}


@dataclass(frozen=True)
class Conversation:
    """What a request says. A turn is (user text, call arguments, result, answer)."""

    tools: tuple[str, ...]
    system: tuple[str, ...]
    turns: tuple[tuple[str, str, str, str], ...]

    def texts(self) -> list[str]:
        return [*self.tools, *self.system, *(text for turn in self.turns for text in turn)]

    def with_texts(self, texts: list[str]) -> Conversation:
        tools, system = len(self.tools), len(self.tools) + len(self.system)
        turns = [tuple(texts[at : at + 4]) for at in range(system, len(texts), 4)]
        return Conversation(tuple(texts[:tools]), tuple(texts[tools:system]), tuple(turns))  # type: ignore[arg-type]


CONVERSATIONS = st.builds(
    Conversation,
    st.lists(TEXT, max_size=3).map(tuple),
    st.lists(TEXT, min_size=1, max_size=2).map(tuple),
    st.lists(st.tuples(TEXT, TEXT, TEXT, TEXT), min_size=1, max_size=3).map(tuple),
)

Blocks = list[tuple[str, bytes]]


def in_common(was: bytes, now: bytes) -> int:
    """Bytes in common, the slow and obvious way."""
    return next(
        (at for at, (a, b) in enumerate(zip(was, now, strict=False)) if a != b), min(len(was), len(now))
    )


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def messages(talk: Conversation) -> tuple[dict[str, Any], Blocks]:
    tools = [
        {"name": f"tool_{at}", "description": text, "input_schema": {"type": "object"}}
        for at, text in enumerate(talk.tools)
    ]
    system = [{"type": "text", "text": text} for text in talk.system]
    history: list[dict[str, Any]] = []
    blocks = [(f"$.tools[{at}]", compact(tool)) for at, tool in enumerate(tools)]
    blocks += [(f"$.system[{at}]", text.encode()) for at, text in enumerate(talk.system)]
    for at, (user, arguments, result, answer) in enumerate(talk.turns):
        base, call = len(history), {"type": "tool_use", "name": "tool_0", "input": {"x": arguments}}
        history += [
            {"role": "user", "content": user},
            {"role": "assistant", "content": [{"type": "text", "text": "go"}, {**call, "id": f"t{at}"}]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": f"t{at}", "content": result}],
            },
            {"role": "assistant", "content": [{"type": "text", "text": answer}]},
        ]
        blocks += [
            (f"$.messages[{base}]", user.encode()),
            (f"$.messages[{base + 1}].content[0]", b"go"),
            (f"$.messages[{base + 1}].content[1]", compact(call)),
            (f"$.messages[{base + 2}].content[0]", compact({"type": "tool_result", "content": result})),
            (f"$.messages[{base + 3}].content[0]", answer.encode()),
        ]
    return {"model": "m", "max_tokens": 1, "tools": tools, "system": system, "messages": history}, blocks


def chat(talk: Conversation) -> tuple[dict[str, Any], Blocks]:
    tools = [
        {"type": "function", "function": {"name": f"tool_{at}", "description": text}}
        for at, text in enumerate(talk.tools)
    ]
    history: list[dict[str, Any]] = [{"role": "system", "content": text} for text in talk.system]
    blocks = [(f"$.tools[{at}]", compact(tool)) for at, tool in enumerate(tools)]
    blocks += [(f"$.messages[{at}]", text.encode()) for at, text in enumerate(talk.system)]
    for at, (user, arguments, result, answer) in enumerate(talk.turns):
        base = len(history)
        call = {"type": "function", "function": {"name": "tool_0", "arguments": arguments}}
        history += [
            {"role": "user", "content": [{"type": "text", "text": user}]},
            {"role": "assistant", "content": None, "tool_calls": [{"id": f"c{at}", **call}]},
            {"role": "tool", "tool_call_id": f"c{at}", "content": result},
            {"role": "assistant", "content": answer},
        ]
        blocks += [
            (f"$.messages[{base}].content[0]", user.encode()),
            (f"$.messages[{base + 1}].tool_calls[0]", compact(call)),
            (f"$.messages[{base + 2}]", result.encode()),
            (f"$.messages[{base + 3}]", answer.encode()),
        ]
    return {"model": "m", "tools": tools, "messages": history, "stop": ["x"]}, blocks


def responses(talk: Conversation) -> tuple[dict[str, Any], Blocks]:
    tools = [
        {"type": "function", "name": f"tool_{at}", "description": text, "parameters": {}}
        for at, text in enumerate(talk.tools)
    ]
    first, *more = talk.system
    items: list[dict[str, Any]] = [{"role": "developer", "content": text} for text in more]
    blocks = [(f"$.tools[{at}]", compact(tool)) for at, tool in enumerate(tools)]
    blocks += [("$.instructions", first.encode())]
    blocks += [(f"$.input[{at}]", text.encode()) for at, text in enumerate(more)]
    for at, (user, arguments, result, answer) in enumerate(talk.turns):
        base = len(items)
        call = {"type": "function_call", "name": "tool_0", "arguments": arguments}
        said = [{"type": "output_text", "text": answer, "annotations": []}]
        items += [
            {"role": "user", "content": user},
            {**call, "call_id": f"c{at}"},
            {"type": "function_call_output", "call_id": f"c{at}", "output": result},
            {"type": "message", "role": "assistant", "id": f"m{at}", "content": said},
        ]
        blocks += [
            (f"$.input[{base}]", user.encode()),
            (f"$.input[{base + 1}]", compact(call)),
            (f"$.input[{base + 2}]", compact({"type": "function_call_output", "output": result})),
            (f"$.input[{base + 3}].content[0]", answer.encode()),
        ]
    return {"model": "m", "tools": tools, "instructions": first, "input": items}, blocks


def gemini(talk: Conversation) -> tuple[dict[str, Any], Blocks]:
    declared = [{"name": f"tool_{at}", "description": text} for at, text in enumerate(talk.tools)]
    history: list[dict[str, Any]] = []
    blocks = [(f"$.tools[0].functionDeclarations[{at}]", compact(tool)) for at, tool in enumerate(declared)]
    blocks += [(f"$.systemInstruction.parts[{at}]", text.encode()) for at, text in enumerate(talk.system)]
    for at, (user, arguments, result, answer) in enumerate(talk.turns):
        base = len(history)
        call = {"name": "tool_0", "args": {"x": arguments}}
        given = {"name": "tool_0", "response": {"found": result}}
        history += [
            {"role": "user", "parts": [{"text": user}]},
            {
                "role": "model",
                "parts": [
                    {"text": "go"},
                    {"functionCall": {**call, "id": f"c{at}"}, "thoughtSignature": f"s{at}"},
                ],
            },
            {"role": "user", "parts": [{"functionResponse": {**given, "id": f"c{at}"}}]},
            {"role": "model", "parts": [{"text": answer}]},
        ]
        blocks += [
            (f"$.contents[{base}].parts[0]", user.encode()),
            (f"$.contents[{base + 1}].parts[0]", b"go"),
            (f"$.contents[{base + 1}].parts[1].thoughtSignature", f"s{at}".encode()),
            (f"$.contents[{base + 1}].parts[1]", compact({"functionCall": call})),
            (f"$.contents[{base + 2}].parts[0]", compact({"functionResponse": given})),
            (f"$.contents[{base + 3}].parts[0]", answer.encode()),
        ]
    body: dict[str, Any] = {"systemInstruction": {"parts": [{"text": text} for text in talk.system]}}
    tools = {"tools": [{"functionDeclarations": declared}]} if declared else {}
    return {**body, **tools, "contents": history, "generationConfig": {"temperature": 1.0}}, blocks


def converse(talk: Conversation) -> tuple[dict[str, Any], Blocks]:
    tools = [
        {"toolSpec": {"name": f"tool_{at}", "description": text, "inputSchema": {"json": {}}}}
        for at, text in enumerate(talk.tools)
    ]
    history: list[dict[str, Any]] = []
    blocks = [(f"$.toolConfig.tools[{at}]", compact(tool)) for at, tool in enumerate(tools)]
    blocks += [(f"$.system[{at}]", text.encode()) for at, text in enumerate(talk.system)]
    for at, (user, arguments, result, answer) in enumerate(talk.turns):
        base = len(history)
        call = {"name": "tool_0", "input": {"x": arguments}}
        given = {"content": [{"text": result}], "status": "success"}
        history += [
            {"role": "user", "content": [{"text": user}]},
            {"role": "assistant", "content": [{"text": "go"}, {"toolUse": {"toolUseId": f"t{at}", **call}}]},
            {"role": "user", "content": [{"toolResult": {**given, "toolUseId": f"t{at}"}}]},
            {"role": "assistant", "content": [{"text": answer}]},
        ]
        blocks += [
            (f"$.messages[{base}].content[0]", user.encode()),
            (f"$.messages[{base + 1}].content[0]", b"go"),
            (f"$.messages[{base + 1}].content[1]", compact({"toolUse": call})),
            (f"$.messages[{base + 2}].content[0]", compact({"toolResult": given})),
            (f"$.messages[{base + 3}].content[0]", answer.encode()),
        ]
    body = {"inferenceConfig": {"maxTokens": 9}, "system": [{"text": text} for text in talk.system]}
    return {**body, "toolConfig": {"toolChoice": {"auto": {}}, "tools": tools}, "messages": history}, blocks


Writer = Callable[[Conversation], tuple[dict[str, Any], Blocks]]
SURFACES = {
    Surface.MESSAGES: messages,
    Surface.CHAT_COMPLETIONS: chat,
    Surface.RESPONSES: responses,
    Surface.GENERATE_CONTENT: gemini,
    Surface.CONVERSE: converse,
}
every_surface = pytest.mark.parametrize(("surface", "write"), SURFACES.items(), ids=list(SURFACES))


@every_surface
@given(talk=CONVERSATIONS)
def test_blocks_are_what_the_terms_say(surface: Surface, write: Writer, talk: Conversation) -> None:
    body, blocks = write(talk)
    request = read_request(compact(body))
    assert request.surface is surface
    assert [(one.path, one.facts.content) for one in request.blocks] == blocks
    assert request.content_bytes == sum(len(content) for _, content in blocks)
    for block in request.blocks:
        pieces = [block.facts.content[one.start : one.end] for one in block.facts.segments]
        assert b"".join(pieces) == block.facts.content
        assert all(pieces)


@every_surface
@given(data=st.data(), talk=CONVERSATIONS)
def test_an_edit_of_one_block_is_found_exactly_there(
    surface: Surface, write: Writer, data: st.DataObject, talk: Conversation
) -> None:
    texts = talk.texts()
    place = data.draw(st.integers(0, len(texts) - 1))
    at = data.draw(st.integers(0, len(texts[place])))
    kept = data.draw(st.integers(0, 3))
    edited = texts[place][:at] + data.draw(TEXT) + texts[place][at + kept :]
    assume(edited != texts[place])
    (body, was), (other, now) = (
        write(talk),
        write(talk.with_texts([*texts[:place], edited, *texts[place + 1 :]])),
    )
    parent, child = read_request(compact(body)), read_request(compact(other))

    found = first_difference(parent, child)
    [index] = [number for number, (one, two) in enumerate(zip(was, now, strict=True)) if one != two]
    common = in_common(was[index][1], now[index][1])
    assert found is not None
    assert (found.parent, found.child, found.path, found.side) == (index, index, now[index][0], "child")
    assert found.block_offset == common
    assert found.offset == sum(len(content) for _, content in was[:index]) + common
    assert not found.in_header
    _check_wire_offset(parent.body, child.body, found.wire_offset)
    assert extends(parent, child) is False


def _check_wire_offset(was: bytes, now: bytes, place: int | None) -> None:
    """Both bodies stand in render order with the fewest escapes: their first differing byte is the place.

    Two escapes can share their first bytes, and two characters theirs.
    """
    assert place is not None
    raw = in_common(was, now)
    assert place == raw or (place < raw and now[place : place + 1] == b"\\" and raw - place < 6)


@every_surface
@given(talk=CONVERSATIONS, more=CONVERSATIONS)
def test_an_appended_turn_is_no_difference(
    surface: Surface, write: Writer, talk: Conversation, more: Conversation
) -> None:
    longer = replace(talk, turns=talk.turns + more.turns)
    parent, child = read_request(compact(write(talk)[0])), read_request(compact(write(longer)[0]))
    assert first_difference(parent, child) is None
    assert extends(parent, child)
    assert not has_wire_drift(parent, child)
    back = first_difference(child, parent)
    assert back is not None
    assert (back.side, back.child, back.offset) == ("parent", None, parent.content_bytes)


every_marked_surface = pytest.mark.parametrize(
    ("surface", "write"),
    [
        (one, write)
        for one, write in SURFACES.items()
        if one not in {Surface.GENERATE_CONTENT, Surface.CONVERSE}
    ],
)


@every_marked_surface
@given(talk=CONVERSATIONS, data=st.data())
def test_moved_markers_are_no_difference(
    surface: Surface, write: Writer, talk: Conversation, data: st.DataObject
) -> None:
    body, _ = write(talk)
    marked = json.loads(json.dumps(body))
    for target in _marker_places(marked):
        if data.draw(st.booleans()):
            target["cache_control"] = MARKER
    parent, child = read_request(compact(body)), read_request(compact(marked), surface=surface)
    for one, other in ((parent, child), (child, parent)):
        assert first_difference(one, other) is None
        assert not has_wire_drift(one, other)
    assert ledger_of(parent).zones == ledger_of(child).zones
    assert len(child.markers) == compact(marked).count(compact(MARKER))
    assert parent.settings == child.settings


def _marker_places(body: dict[str, Any]) -> list[dict[str, Any]]:
    places = [body, *body["tools"]]
    for key in ("system", "messages", "input"):
        for item in body.get(key, ()):
            places.append(item)
            places += [part for part in item.get("content") or () if isinstance(part, dict)]
            places += item.get("tool_calls", ())
    return places


@given(talk=CONVERSATIONS, data=st.data())
def test_moved_cache_points_are_no_difference(talk: Conversation, data: st.DataObject) -> None:
    """Converse writes a marker as an object of its own behind what it marks."""
    bodies = [converse(talk)[0], converse(talk)[0]]
    for body in bodies:
        for place in (
            body["toolConfig"]["tools"],
            body["system"],
            *(one["content"] for one in body["messages"]),
        ):
            at = data.draw(st.none() | st.integers(0, len(place)))
            if at is not None:
                place.insert(at, {"cachePoint": {"type": "default"}})
    parent, child = (read_request(compact(body)) for body in bodies)
    for one, other in ((parent, child), (child, parent)):
        assert first_difference(one, other) is None
        assert not has_wire_drift(one, other)
    assert ledger_of(parent).zones == ledger_of(child).zones
    assert [len(one.markers) for one in (parent, child)] == [
        compact(body).count(b"cachePoint") for body in bodies
    ]
    assert parent.settings == child.settings


@every_surface
@given(talk=CONVERSATIONS, ascii_only=st.booleans(), indent=st.sampled_from([None, 1]), spaced=st.booleans())
def test_other_white_space_or_escapes_are_wire_only(
    surface: Surface, write: Writer, talk: Conversation, ascii_only: bool, indent: int | None, spaced: bool
) -> None:
    body, blocks = write(talk)
    separators = (", ", ": ") if spaced else (",", ":")
    spelled = json.dumps(body, ensure_ascii=ascii_only, indent=indent, separators=separators).encode()
    parent, child = read_request(compact(body)), read_request(spelled)
    assert first_difference(parent, child) is None
    assert has_wire_drift(parent, child) is (spelled != parent.body)
    assert [(one.path, one.facts.content) for one in child.blocks] == blocks
    plain, other = ledger_of(parent), ledger_of(child)
    assert (plain.zones, plain.segments, plain.settings_hash) == (
        other.zones,
        other.segments,
        other.settings_hash,
    )
    assert (plain.wire_hash == other.wire_hash) is (spelled == parent.body)


@every_surface
@given(talk=CONVERSATIONS, data=st.data(), ascii_only=st.booleans())
def test_a_content_byte_is_found_in_the_body(
    surface: Surface, write: Writer, talk: Conversation, data: st.DataObject, ascii_only: bool
) -> None:
    """Cutting the body's string or JSON at the place found and reading what is left gives the rest."""
    request = read_request(json.dumps(write(talk)[0], ensure_ascii=ascii_only).encode())
    number = data.draw(st.integers(0, len(request.blocks) - 1))
    block = request.blocks[number]
    text = block.facts.content.decode()
    at = data.draw(st.integers(0, len(text)))
    offset = len(text[:at].encode())
    place = wire_offset(request, number, offset)
    assert place is not None
    assert block.span[0] <= place <= block.span[1]
    if block.facts.is_text:
        rest = request.body[place:]
        decoder = json.JSONDecoder()
        assert decoder.raw_decode('"' + rest.decode())[0] == text[at:]
    elif at < len(text) and text[at].isalpha() and text[at].isascii():
        assert request.body[place : place + 1] == text[at].encode()


@every_surface
@given(talk=CONVERSATIONS, data=st.data())
def test_reading_again_by_splicing_reads_what_reading_in_full_reads(
    surface: Surface, write: Writer, talk: Conversation, data: st.DataObject
) -> None:
    before = compact(write(talk)[0])
    reading, _ = read_body(before, surface, "")
    start = data.draw(st.integers(0, len(before)))
    stop = data.draw(st.integers(start, min(len(before), start + 40)))
    element = data.draw(
        st.sampled_from([b'{"role":"user","content":"x"}', b'{"type":"text","text":"y"}', b'"s"', b"1"])
    )
    pieces = [
        b"",
        b",",
        element,
        element + b",",
        b"," + element,
        b"]",
        b"}",
        b'],"tools":[',
        b" ",
        b'"',
        b"\\",
    ]
    body = before[:start] + data.draw(st.sampled_from(pieces)) + before[stop:]
    _check_splice(body, before, reading, surface)


@every_surface
@given(talk=CONVERSATIONS, data=st.data())
def test_a_changed_run_of_elements_is_spliced(
    surface: Surface, write: Writer, talk: Conversation, data: st.DataObject
) -> None:
    body, _ = write(talk)
    before = compact(body)
    reading, _ = read_body(before, surface, "")
    key = data.draw(st.sampled_from([one for one in body if isinstance(body[one], list) and body[one]]))
    elements = body[key]
    start = data.draw(st.integers(0, len(elements)))
    stop = data.draw(st.integers(start, len(elements)))
    body[key] = (
        elements[:start] + data.draw(st.lists(st.sampled_from(elements), max_size=3)) + elements[stop:]
    )
    assert _check_splice(compact(body), before, reading, surface) or not body[key] or key == "stop"


def _check_splice(body: bytes, before: bytes, reading: Reading, surface: Surface) -> bool:
    try:
        spliced = splice(body, before, reading)
    except UnreadableBodyError as refused:
        with pytest.raises(UnreadableBodyError, match=re.escape(str(refused))):
            read_body(body, surface, "")
        return False
    if spliced is None:
        return False
    full, _ = read_body(body, surface, "")
    assert _said(spliced) == _said(full)
    return True


def _said(reading: Reading) -> list[object]:
    groups = [(one.group, one.listed, one.elements, one.leading, list(one.starts)) for one in reading.groups]
    return [groups, reading.contents, reading.totals, reading.flags, reading.envelope]

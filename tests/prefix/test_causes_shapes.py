"""The same said in another shape: spelling, parts, empty fields, lost and merged blocks. On every surface."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldturn.reference.prefix.causes import compare
from coldturn.reference.prefix.model import Break, Comparison, Surface
from coldturn.reference.prefix.request import PromptRequest, read_request
from prefix.bodies import Assistant, Item, Result, User, body, encoded, history_key, read, request
from prefix.surfaces import ARGUMENT_TEXTS, CONTENT_STRINGS, SURFACES

NEXT: list[Item] = [Assistant("so it is"), User("next")]
LONG = "a line of the result\n" * 40


def pair(surface: Surface, before: list[Item], after: list[Item]) -> Comparison:
    """Both, each with something behind what differs."""
    return compare(request(surface, history=[*before, *NEXT]), request(surface, history=[*after, *NEXT]))


def broken(surface: Surface, before: list[Item], after: list[Item]) -> Break:
    found = pair(surface, before, after).first
    assert found is not None
    return found


def called(arguments: str, result: str = "done") -> list[Item]:
    return [User("q"), Assistant("", ("c1", "read_file", arguments)), Result("c1", result)]


@pytest.mark.parametrize("surface", SURFACES)
class TestOnEverySurface:
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ('{"n":1.0}', '{"n":1}'),
            ('{"n":1e2}', '{"n":100}'),
            ('{"a":1,"b":[1,2]}', '{"b":[1,2],"a":1}'),
            ('{"a":{"x":"1","y":"2"}}', '{"a":{"y":"2","x":"1"}}'),
        ],
    )
    def test_arguments_in_another_spelling(self, surface: Surface, before: str, after: str) -> None:
        value = body(surface, history=[*called("{}"), *NEXT])
        placed = [_with_arguments(value, surface, text) for text in (before, after)]
        found = compare(*placed).first
        assert found is not None
        assert (found.cause, found.later) == ("json_format", ())

    def test_white_space_in_arguments_counts_where_they_are_a_text(self, surface: Surface) -> None:
        value = body(surface, history=[*called("{}"), *NEXT])
        comparison = compare(
            *(_with_arguments(value, surface, text) for text in ('{"a":1,"b":2}', '{"a": 1, "b": 2}'))
        )
        if surface in ARGUMENT_TEXTS:
            assert comparison.first is not None
            assert comparison.first.cause == "json_format"
        else:
            assert (comparison.first, comparison.wire_drift) == (None, True)

    def test_a_result_that_is_json_in_another_spelling(self, surface: Surface) -> None:
        found = broken(surface, called("{}", '{"b": 1.0, "a": 2}'), called("{}", '{"a":2,"b":1}'))
        assert (found.cause, found.later) == ("json_format", ())

    def test_two_rules_that_fit_one_result(self, surface: Surface) -> None:
        found = broken(surface, called("{}", '{"a": 1}\n'), called("{}", '{"a": 1}'))
        assert (found.cause, found.alongside) == ("whitespace_drift", ("json_format",))

    @pytest.mark.parametrize(
        ("before", "after", "kind"),
        [
            ("one\r\ntwo", "one\ntwo", "crlf"),
            ("caf\u0065\u0301 at noon", "caf\u00e9 at noon", "nfc"),
            ("one two ", "one two", "trailing"),
            ("\none two", "one two", "trailing"),
        ],
    )
    @pytest.mark.parametrize("where", ["user", "assistant", "result"])
    def test_white_space(self, surface: Surface, before: str, after: str, kind: str, where: str) -> None:
        def said(text: str) -> list[Item]:
            if where == "result":
                return called("{}", text)
            return [User(text) if where == "user" else Assistant(text)]

        found = broken(surface, [User("q"), *said(before)], [User("q"), *said(after)])
        assert (found.cause, found.kinds, found.later) == ("whitespace_drift", (kind,), ())

    def test_two_texts_merged(self, surface: Surface) -> None:
        one: list[Item] = [User("one and two")]
        found = broken(surface, [User("one and ", "two")], one)
        assert (found.cause, found.later) == ("message_merge", ())
        assert broken(surface, [User("one and two")], [User("one and ", "two")]).cause == "message_merge"

    def test_blocks_in_another_order(self, surface: Surface) -> None:
        found = broken(surface, [User("one", "two")], [User("two", "one")])
        assert (found.cause, found.later) == ("message_block_reorder", ())

    def test_a_part_and_a_message_lost(self, surface: Surface) -> None:
        found = broken(surface, [User("one", "two")], [User("one")])
        assert (found.cause, found.later) == ("block_missing", ())
        found = broken(surface, [User("one"), Assistant("1"), User("two")], [User("one")])
        assert (found.cause, found.side) == ("block_missing", "parent")

    def test_reasoning_lost_with_the_rest_kept(self, surface: Surface) -> None:
        def thinking(thought: str) -> list[Item]:
            return [User("q"), Assistant("", ("c1", "read_file", "{}"), thought), Result("c1", "ok")]

        found = broken(surface, thinking("Let me read that file first."), thinking(""))
        assert (found.cause, found.later) == ("thinking_stripped", ())

    def test_reasoning_and_another_text(self, surface: Surface) -> None:
        before: list[Item] = [User("q"), Assistant("a", thought="Let me see.")]
        found = broken(surface, before, [User("q"), Assistant("b")])
        assert "history_rewritten" in {found.cause, *(one.cause for one in found.later)}

    def test_an_image_for_a_text(self, surface: Surface) -> None:
        shown, told = User("look", image="aGVsbG8=" * 9), User("look", "[Image: a.png]")
        assert broken(surface, [shown], [told]).cause == "image_replaced"
        assert broken(surface, [told], [shown]).cause == "history_rewritten"
        assert broken(surface, [shown], [User("look")]).cause == "block_missing"

    def test_ids_made_anew(self, surface: Surface) -> None:
        before = called("{}")
        after: list[Item] = [User("q"), Assistant("", ("d9", "read_file", "{}")), Result("d9", "done")]
        found = broken(surface, before, after)
        assert (found.cause, found.later) == ("history_id_regenerated", ())

    def test_compaction(self, surface: Surface) -> None:
        before = [*called("{}", LONG), *NEXT, *called("{}", LONG)]
        found = broken(surface, before, [User("Summary of the conversation so far: two files were read.")])
        assert (found.cause, found.planned, found.later) == ("compaction", False, ())


def _with_arguments(value: dict[str, Any], surface: Surface, text: str) -> PromptRequest:
    """The body, read, with these bytes as the arguments of its call."""
    data = encoded(value)
    if surface in ARGUMENT_TEXTS:
        old, new = b'"arguments":"{}"', b'"arguments":' + json.dumps(text).encode()
    else:
        key = b"args" if surface is Surface.GENERATE_CONTENT else b"input"
        old, new = b'"%b":{}' % key, b'"%b":%b' % (key, text.encode())
    assert data.count(old) == 1
    return read_request(data.replace(old, new), surface=surface)


CALL = {"type": "function_call", "call_id": "c1", "name": "t", "arguments": "{}"}
FUNCTION = {"name": "t", "arguments": "{}"}
EMPTY: list[tuple[Surface, dict[str, Any], dict[str, Any]]] = [
    (
        Surface.CHAT_COMPLETIONS,
        {"role": "assistant", "content": "yes", "reasoning_content": ""},
        {"role": "assistant", "content": "yes"},
    ),
    (
        Surface.CHAT_COMPLETIONS,
        {"role": "assistant", "content": "yes", "tool_calls": []},
        {"role": "assistant", "content": "yes", "tool_calls": None},
    ),
    (
        Surface.CHAT_COMPLETIONS,
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "function": FUNCTION}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": FUNCTION}]},
    ),
    (Surface.RESPONSES, {**CALL, "namespace": None}, CALL),
    (
        Surface.RESPONSES,
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x", "content": None},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
    ),
    (
        Surface.MESSAGES,
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": ""}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1"}]},
    ),
    (
        Surface.MESSAGES,
        {"role": "assistant", "content": [{"type": "text", "text": "yes", "citations": None}]},
        {"role": "assistant", "content": [{"type": "text", "text": "yes"}]},
    ),
    (
        Surface.GENERATE_CONTENT,
        {"role": "model", "parts": [{"functionCall": {"name": "t", "args": {}}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "t"}}]},
    ),
    (
        Surface.CONVERSE,
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": []}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1"}}]},
    ),
]


@pytest.mark.parametrize(("surface", "before", "after"), [one for one in EMPTY if one[0] in SURFACES])
def test_an_empty_field_sent_or_not(surface: Surface, before: dict[str, Any], after: dict[str, Any]) -> None:
    for old, new in ((before, after), (after, before)):
        found = compare(with_item(surface, old), with_item(surface, new)).first
        assert found is not None
        assert (found.cause, found.later) == ("empty_field", ())


@pytest.mark.parametrize("surface", CONTENT_STRINGS)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_content_as_a_text_and_as_a_list(surface: Surface, role: str) -> None:
    kind = "text"
    if surface is Surface.RESPONSES:
        kind = "input_text" if role == "user" else "output_text"
    listed = {"role": role, "content": [{"type": kind, "text": "as it was"}]}
    told = {"role": role, "content": "as it was"}
    for old, new in ((listed, told), (told, listed)):
        found = compare(with_item(surface, old), with_item(surface, new)).first
        assert found is not None
        assert (found.cause, found.later) == ("content_shape", ())


@pytest.mark.parametrize("surface", [Surface.MESSAGES, Surface.RESPONSES])
def test_a_result_as_a_text_and_as_a_list(surface: Surface) -> None:
    def sent(output: object) -> PromptRequest:
        if surface is Surface.MESSAGES:
            part = {"type": "tool_result", "tool_use_id": "c1", "content": output}
            return with_item(surface, {"role": "user", "content": [part]})
        return with_item(surface, {"type": "function_call_output", "call_id": "c1", "output": output})

    kind = "text" if surface is Surface.MESSAGES else "input_text"
    listed: object = [{"type": kind, "text": "as it was"}]
    for old, new in ((listed, "as it was"), ("as it was", listed)):
        found = compare(sent(old), sent(new)).first
        assert found is not None
        assert (found.cause, found.later) == ("content_shape", ())
    cited: object = [{"type": kind, "text": "as it was", "citations": {"enabled": True}}]
    for one, other in ((listed, "as it is"), (cited, "as it was")):
        found = compare(sent(one), sent(other)).first
        assert found is not None
        assert found.cause == "history_rewritten"


def test_white_space_beside_another_change_is_a_rewriting() -> None:
    def sent(text: str, *, failed: bool) -> PromptRequest:
        part = {"type": "tool_result", "tool_use_id": "c1", "content": text, "is_error": failed}
        return with_item(Surface.MESSAGES, {"role": "user", "content": [part]})

    for failed, cause in ((False, "whitespace_drift"), (True, "history_rewritten")):
        found = compare(sent("as it was\n", failed=False), sent("as it was", failed=failed)).first
        assert found is not None
        assert found.cause == cause


def with_item(surface: Surface, item: dict[str, Any]) -> PromptRequest:
    """A conversation whose second message is `item`."""
    value = body(surface, history=[User("q"), *NEXT])
    value[history_key(surface)].insert(2 if surface is Surface.CHAT_COMPLETIONS else 1, item)
    return read(value, surface)


def test_a_compaction_item_in_place_of_what_it_stands_for() -> None:
    surface = Surface.RESPONSES
    before = [*called("{}", LONG), *NEXT, *called("{}", LONG)]
    value = body(surface, history=before)
    for kept, kind in ((0, "compaction"), (1, "compaction"), (0, "compaction_summary")):
        item = {"type": kind, "id": "cmp_1", "encrypted_content": "gAAAAB" * 20}
        items = [*value["input"][:kept], item, {"role": "user", "content": "go on"}]
        after = {**value, "input": items}
        found = compare(read(value, surface), read(after, surface)).first
        assert found is not None
        assert (found.cause, found.confidence.value) == ("compaction", "observed")


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("said", ["continue", "continue with the task at hand until all of it is done"])
def test_a_message_that_is_said_again_and_again_adds_no_cause(surface: Surface, said: str) -> None:
    def turns(first: str, count: int) -> list[Item]:
        answers = [first, *(f"answer {number}" for number in range(1, count))]
        return [User("q"), *(item for text in answers for item in (Assistant(text), User(said)))]

    for before, after in ((1, 2), (1, 4), (3, 4), (3, 6)):
        parent = request(surface, history=turns("the answer, first as it was", before))
        child = request(surface, history=turns("the answer, as it was", after))
        found = compare(parent, child).first
        assert found is not None
        assert (found.cause, found.later) == ("history_rewritten", ())
    same = compare(request(surface, history=turns("a", 2)), request(surface, history=turns("a", 5)))
    assert same.stable


def test_histories_of_one_message_thousands_of_times_are_compared_in_no_time() -> None:
    one: list[Item] = [User("again")] * 3000
    child = request(Surface.RESPONSES, history=[User("first"), *one, *one])
    found = compare(request(Surface.RESPONSES, history=one), child).first
    assert found is not None
    assert found.cause == "history_rewritten"


def test_reasoning_written_as_a_text() -> None:
    before: list[Item] = [User("q"), Assistant("a", thought="Let me see. " * 9), User("next")]
    after: list[Item] = [
        User("q"),
        Assistant(f"<think>\n{'Let me see. ' * 9}</think>"),
        Assistant("a"),
        User("next"),
    ]
    parent, child = (request(Surface.RESPONSES, history=items) for items in (before, after))
    found = compare(parent, child).first
    assert found is not None
    assert (found.cause, found.kinds, found.harmless) == ("thinking_stripped", ("as_text",), False)


def test_a_call_that_gave_way_to_a_thought() -> None:
    before: list[Item] = [User("q"), Assistant("", ("c1", "read_file", '{"path":"a"}')), User("next"), *NEXT]
    after: list[Item] = [User("q"), Assistant("<think>Let me see.</think>"), User("next"), *NEXT]
    found = compare(
        request(Surface.RESPONSES, history=before), request(Surface.RESPONSES, history=after)
    ).first
    assert found is not None
    assert found.cause == "history_rewritten"


def test_ids_that_are_no_texts() -> None:
    def sent(one: object, other: object) -> PromptRequest:
        rows = [
            {"type": "function_call", "call_id": key, "name": "t", "arguments": "{}"} for key in (one, other)
        ]
        return read({**body(Surface.RESPONSES), "input": rows}, Surface.RESPONSES)

    for after, cause in (
        ((["a"], ["b", 1]), "history_id_regenerated"),
        (({"a": 2}, "c"), "history_rewritten"),
    ):
        found = compare(sent({"a": 1}, "b"), sent(*after)).first
        assert found is not None
        assert found.cause == cause


@pytest.mark.parametrize("surface", CONTENT_STRINGS)
@pytest.mark.parametrize("value", [{}, {"a": [1]}, None, 5, True, [None], [5], [[]]])
def test_content_that_no_provider_takes_is_compared_all_the_same(surface: Surface, value: object) -> None:
    parent = with_item(surface, {"role": "user", "content": "as it was"})
    _compared_both_ways(parent, with_item(surface, {"role": "user", "content": value}))


@pytest.mark.parametrize("surface", CONTENT_STRINGS)
def test_a_message_without_any_content(surface: Surface) -> None:
    parent = with_item(surface, {"role": "user", "content": "as it was"})
    _compared_both_ways(parent, with_item(surface, {"role": "user"}))


def _compared_both_ways(parent: PromptRequest, child: PromptRequest) -> None:
    for one, other in ((parent, child), (child, parent)):
        found = compare(one, other).first
        assert found is not None
        assert found.zone.value == "history"
        assert found.wire_offset is not None
    assert compare(child, child).stable

"""Causes inside the history: elision, reminders, ids, shapes, and what is left."""

from __future__ import annotations

from typing import Any

import pytest

from coldturn.reference.prefix.causes import compare
from coldturn.reference.prefix.model import (
    NO_LABELS,
    BlockKind,
    Break,
    Comparison,
    Confidence,
    Labels,
    Surface,
    Zone,
)
from coldturn.reference.prefix.request import read_request
from prefix.bodies import PADDING, Assistant, Item, Result, User, body, encoded, history_key, read, request
from prefix.surfaces import SURFACES

LONG = "".join(f"line {number} of a long result\n" for number in range(200))
GUIDANCE = "[The middle is not shown. read_tool_output(handle='call_1') reads all of it.]"
PREVIEW = f"{LONG[:400]}\n...\n{GUIDANCE}\n{LONG[-400:]}"


def turn(number: int, result: str) -> list[Item]:
    call = Assistant("", (f"c{number}", "read_file", '{"path":"a"}'))
    return [User(f"question {number}"), call, Result(f"c{number}", result), Assistant(f"answer {number}")]


def compared(surface: Surface, before: list[Item], after: list[Item], **labels: Labels) -> Comparison:
    parent = request(surface, history=before, labels=labels.get("parent", NO_LABELS))
    return compare(parent, request(surface, history=after, labels=labels.get("child", NO_LABELS)))


def broken(surface: Surface, before: list[Item], after: list[Item], **labels: Labels) -> Break:
    found = compared(surface, before, after, **labels).first
    assert found is not None
    return found


@pytest.mark.parametrize("surface", SURFACES)
class TestElision:
    def test_flips_at_the_first_step_of_a_turn_are_planned_and_one_break(self, surface: Surface) -> None:
        before = [*turn(1, LONG), *turn(2, LONG)]
        after = [*turn(1, PREVIEW), *turn(2, PREVIEW), User("question 3")]
        found = broken(surface, before, after)
        assert (found.cause, found.planned, found.kinds) == ("planned_elision", True, ("preview",))
        assert found.confidence is Confidence.INFERRED
        assert found.zone is Zone.HISTORY
        assert found.later == ()
        # JSON spells each newline with two bytes.
        assert found.delta_bytes <= 2 * (len(PREVIEW) - len(LONG))

    def test_labels_confirm_it(self, surface: Surface) -> None:
        before, after = turn(1, LONG), [*turn(1, PREVIEW), User("question 2")]
        path = next(
            block.path
            for block in request(surface, history=after).blocks
            if block.kind.value == "tool_result"
        )
        found = broken(surface, before, after, child=Labels(planned=frozenset({path})))
        assert (found.cause, found.confidence) == ("planned_elision", Confidence.OBSERVED)

    def test_in_the_same_turn_the_boundary_moves(self, surface: Surface) -> None:
        before = [*turn(1, LONG)[:3]]
        step: list[Item] = [Assistant("", ("c9", "read_file", "{}")), Result("c9", "ok")]
        found = broken(surface, [*before, *step], [*turn(1, PREVIEW)[:3], *step, Assistant("so")])
        assert (found.cause, found.planned) == ("elision_moving_boundary", False)

    def test_a_result_of_the_current_turn_is_never_planned(self, surface: Surface) -> None:
        front = [*turn(1, "short"), User("question 2"), User("question 3")]
        call = Assistant("", ("c9", "read_file", "{}"))
        before: list[Item] = [*front[:-1], call, Result("c9", LONG)]
        after: list[Item] = [*front[:-1], call, Result("c9", "[cleared]"), Assistant("so")]
        assert broken(surface, before, after).cause == "elision_moving_boundary"
        # A question that was put in front of the result does not make it an old one.
        late: list[Item] = [*front, call, Result("c9", "[cleared]"), Assistant("so")]
        found = broken(surface, before, late)
        assert [found.cause, *(one.cause for one in found.later)] == [
            "history_rewritten",
            "elision_moving_boundary",
        ]

    def test_an_older_turns_result_shortened_in_mid_turn_is_not_planned(self, surface: Surface) -> None:
        step: list[Item] = [Assistant("", ("c9", "read_file", "{}")), Result("c9", "ok")]
        before: list[Item] = [*turn(1, LONG), User("question 2")]
        after: list[Item] = [*turn(1, PREVIEW), User("question 2"), *step]
        assert broken(surface, before, after).cause == "elision_moving_boundary"

    def test_labels_of_turns_outweigh_what_messages_suggest(self, surface: Surface) -> None:
        before, after = turn(1, LONG), [*turn(1, PREVIEW), User("a reminder that looks like a question")]
        same = {"parent": Labels(turn=1, step=0), "child": Labels(turn=1, step=1)}
        assert broken(surface, before, after, **same).cause == "elision_moving_boundary"

    @pytest.mark.parametrize(
        ("short", "kind"),
        [
            ("[Old tool result content cleared]", "placeholder"),
            ("<omitted/>", "placeholder"),
            ("(output elided to save context)", "placeholder"),
            (LONG[:300], "cut"),
            (f"{LONG[:300]}\n…\n{LONG[-300:]}", "preview"),
            (f"{LONG[:300]} ... {LONG[-300:]}", "preview"),
            (f"{LONG[:300]}\n[... 4,211 characters truncated ...]", "preview"),
        ],
    )
    def test_placeholders_and_previews_of_others(self, surface: Surface, short: str, kind: str) -> None:
        found = broken(surface, turn(1, LONG), [*turn(1, short), User("question 2")])
        assert (found.cause, found.kinds) == ("planned_elision", (kind,))

    def test_a_placeholder_for_a_placeholder(self, surface: Surface) -> None:
        after = [*turn(1, "[Tool result omitted]"), User("q")]
        found = broken(surface, turn(1, "[Old tool result cleared]"), after)
        assert found.cause == "elision_not_idempotent"

    def test_words_that_were_there_before_say_nothing(self, surface: Surface) -> None:
        found = broken(
            surface,
            turn(1, "status: done\n[3 files removed]\nall of them were old"),
            [*turn(1, "status: gone\n[3 files removed]\nall old"), User("q")],
        )
        assert found.cause == "history_rewritten"
        one, other = (f"{how}\n[3 files removed]\nall of them were old" for how in ("all well", "a failure"))
        assert broken(surface, turn(1, one), [*turn(1, other), User("q")]).cause == "history_rewritten"

    def test_a_note_in_mid_line_is_seen(self, surface: Surface) -> None:
        before, after = (f"{LONG[:size]} [... {size} characters truncated ...] tail" for size in (500, 300))
        assert (
            broken(surface, turn(1, before), [*turn(1, after), User("q")]).cause == "elision_not_idempotent"
        )

    def test_a_result_that_grew_is_no_elision(self, surface: Surface) -> None:
        found = broken(surface, turn(1, "one line"), [*turn(1, f"one line\n[truncated]{LONG}"), User("q")])
        assert found.cause == "history_rewritten"

    def test_labels_know_better_than_what_a_result_looks_like(self, surface: Surface) -> None:
        noisy = f"{LONG}\n[... log truncated ...]\n{LONG}"
        short = f"{noisy[:200]}\n[... elided ...]\n{noisy[-200:]}"
        after = [*turn(1, short), User("question 2")]
        blocks = request(surface, history=after).blocks
        path = next(block.path for block in blocks if block.kind is BlockKind.TOOL_RESULT)
        assert broken(surface, turn(1, noisy), after).cause == "elision_not_idempotent"
        labels = Labels(planned=frozenset({path}))
        assert broken(surface, turn(1, noisy), after, child=labels).cause == "planned_elision"

    def test_another_result_is_a_rewriting_and_no_elision(self, surface: Surface) -> None:
        found = broken(surface, turn(1, LONG), [*turn(1, "The file is empty."), User("question 2")])
        assert (found.cause, found.planned) == ("history_rewritten", False)

    def test_a_preview_that_is_shortened_again(self, surface: Surface) -> None:
        again = f"{PREVIEW[:200]}\n[... cut once more, 900 characters truncated ...]\n{PREVIEW[-200:]}"
        found = broken(surface, turn(1, PREVIEW), [*turn(1, again), User("question 2")])
        assert (found.cause, found.planned) == ("elision_not_idempotent", False)


REMINDER, OTHER = (f"<system-reminder>\nTodo: {what}\n</system-reminder>" for what in ("write", "test"))
STEP: list[Item] = [Assistant("", ("c1", "read_file", "{}")), Result("c1", "ok")]


@pytest.mark.parametrize("surface", SURFACES)
class TestReminders:
    def test_one_that_ends_the_request_is_listed_and_harmless(self, surface: Surface) -> None:
        comparison = compared(surface, [User("q", REMINDER)], [User("q"), Assistant("a"), User("r", OTHER)])
        found = comparison.first
        assert comparison.stable
        assert found is not None
        assert (found.cause, found.harmless, found.zone) == ("transient_tail_removed", True, Zone.TRANSIENT)
        assert (found.side, found.lost_bytes) == ("parent", 0)
        assert found.delta_bytes == -len(REMINDER)

    def test_the_same_within_one_text(self, surface: Surface) -> None:
        comparison = compared(surface, [User(f"q\n\n{REMINDER}")], [User("q"), Assistant("a"), User("r")])
        found = comparison.first
        assert comparison.stable
        assert found is not None
        assert (found.cause, found.harmless) == ("transient_tail_removed", True)

    def test_one_with_something_behind_it_breaks(self, surface: Surface) -> None:
        comparison = compared(surface, [User("q", REMINDER), *STEP], [User("q"), *STEP, Assistant("a")])
        found = comparison.first
        assert not comparison.stable
        assert found is not None
        assert (found.cause, found.harmless) == ("transient_tail_removed", False)
        assert found.path.endswith("[1]")
        assert found.later == ()

    def test_other_text_in_the_same_message(self, surface: Surface) -> None:
        found = broken(surface, [User("q", REMINDER), *STEP], [User("q", OTHER), *STEP, Assistant("a")])
        assert (found.cause, found.harmless) == ("transient_tail_changed", False)
        retried = compared(surface, [User("q", REMINDER)], [User("q", OTHER)])
        assert retried.stable
        assert retried.first is not None
        assert (retried.first.cause, retried.first.harmless) == ("transient_tail_changed", True)

    def test_a_repeated_reminder_is_nothing(self, surface: Surface) -> None:
        comparison = compared(surface, [User("q", REMINDER)], [User("q", REMINDER), *STEP])
        assert comparison.stable
        assert comparison.first is None

    def test_what_is_lost_behind_it_comes_behind_it(self, surface: Surface) -> None:
        before = [User("q", REMINDER), Assistant("a"), *STEP]
        found = broken(surface, before, [User("q"), *STEP, Assistant("b")])
        assert (found.cause, found.side) == ("transient_tail_removed", "parent")
        assert [one.cause for one in found.later] == ["block_missing"]

    def test_a_message_that_is_gone_takes_its_reminder_along(self, surface: Surface) -> None:
        before = [User("q"), Assistant("a"), User("r", REMINDER), *STEP]
        found = broken(surface, before, [User("q"), Assistant("a"), *STEP, Assistant("b")])
        assert (found.cause, found.later) == ("block_missing", ())
        assert found.delta_bytes == -len("r") - len(REMINDER)

    def test_an_inserted_message_brings_its_reminder_along(self, surface: Surface) -> None:
        before = [User("q"), Assistant("a"), *STEP]
        after = [User("q"), Assistant("a"), User("r", REMINDER), *STEP, Assistant("b")]
        found = broken(surface, before, after)
        assert (found.cause, found.later) == ("history_rewritten", ())

    def test_a_child_that_ends_with_the_parents_reminder_loses_nothing(self, surface: Surface) -> None:
        found = broken(surface, [User("q", REMINDER), *STEP], [User("q", REMINDER)])
        assert (found.cause, found.harmless, found.lost_bytes) == ("block_missing", True, 0)
        assert ".content[1]" not in found.path

    def test_in_an_older_message_it_is_text_like_any_other(self, surface: Surface) -> None:
        before = [User("q", REMINDER), Assistant("a"), User("r"), *STEP]
        after = [User("q"), Assistant("a"), User("r"), *STEP, Assistant("b")]
        assert broken(surface, before, after).cause == "block_missing"
        changed = [User("q", OTHER), *before[1:], Assistant("b")]
        assert not broken(surface, before, changed).cause.startswith("transient")

    def test_a_question_in_tags_is_no_reminder(self, surface: Surface) -> None:
        found = broken(surface, [User("<html>x</html>"), *STEP], [User("<html>y</html>"), *STEP])
        assert found.cause == "history_rewritten"

    def test_the_runtimes_trailing_suffix_is_not_worth_telling(self, surface: Surface) -> None:
        key = history_key(surface)
        last = len(body(surface, history=[User("q"), User("x")])[key]) - 1
        labels = Labels(zones={f"$.{key}[{last}]": Zone.TRANSIENT})
        comparison = compared(
            surface, [User("q"), User("It is 10:01.")], [User("q"), Assistant("a"), User("r")], parent=labels
        )
        assert comparison.stable
        assert comparison.first is None

    def test_labelled_text_without_any_tag_in_the_middle(self, surface: Surface) -> None:
        key = history_key(surface)
        first = 1 if surface is Surface.CHAT_COMPLETIONS else 0
        parts = "parts" if surface is Surface.GENERATE_CONTENT else "content"
        labels = Labels(zones={f"$.{key}[{first}].{parts}[1]": Zone.TRANSIENT})
        found = broken(
            surface, [User("q", "Todo: x"), *STEP], [User("q"), *STEP, Assistant("a")], parent=labels
        )
        assert (found.cause, found.zone, found.harmless) == ("transient_tail_removed", Zone.TRANSIENT, False)
        grown = broken(
            surface,
            [User("q", "Loaded:\n- web"), *STEP],
            [User("q", "Loaded:\n- web\n- read_file"), *STEP],
            parent=labels,
            child=labels,
        )
        assert (grown.cause, grown.names) == ("transient_tail_changed", ("read_file",))
        assert grown.alongside == ("catalog_growth",)


@pytest.mark.parametrize("surface", SURFACES)
class TestRewriting:
    def test_an_old_question_edited(self, surface: Surface) -> None:
        before, after = [*turn(1, "x"), User("r")], [User("question one"), *turn(1, "x")[1:], User("r")]
        found = broken(surface, before, after)
        assert (found.cause, found.block_offset) == ("history_rewritten", len("question "))

    def test_a_clock_in_an_old_message(self, surface: Surface) -> None:
        found = broken(surface, [User("At 10:01: q"), *STEP], [User("At 10:02: q"), *STEP])
        assert (found.cause, found.zone) == ("clock_in_prefix", Zone.HISTORY)

    def test_an_inserted_message(self, surface: Surface) -> None:
        found = broken(surface, turn(1, "x"), [User("question 1"), User("and quickly"), *turn(1, "x")[1:]])
        assert (found.cause, found.side, found.delta_bytes) == (
            "history_rewritten",
            "child",
            len("and quickly"),
        )

    def test_a_step_taken_out(self, surface: Surface) -> None:
        found = broken(
            surface, [*turn(1, "x"), User("r")], [User("question 1"), *turn(1, "x")[3:], User("r")]
        )
        assert (found.cause, found.side) == ("block_missing", "parent")
        assert found.later == ()

    def test_a_conversation_taken_up_again_earlier(self, surface: Surface) -> None:
        found = broken(surface, [*turn(1, "x"), *turn(2, LONG)], [*turn(1, "x"), User("something else")])
        assert (found.cause, found.later) == ("history_rewritten", ())

    def test_a_child_that_ends_earlier_loses_nothing(self, surface: Surface) -> None:
        comparison = compared(surface, turn(1, "x"), turn(1, "x")[:1])
        found = comparison.first
        assert not comparison.stable
        assert found is not None
        assert (found.cause, found.harmless, found.lost_bytes) == ("block_missing", True, 0)

    @pytest.mark.parametrize(
        "told",
        [
            "Summary of the conversation so far: two files were read.",
            "This goes on from an earlier session. Two files were read.",
        ],
    )
    def test_a_summary_in_place_of_messages_is_a_compaction(self, surface: Surface, told: str) -> None:
        after: list[Item] = [User(told), User("go on")]
        found = broken(surface, [*turn(1, LONG), *turn(2, LONG)], after)
        assert (found.cause, found.confidence) == ("compaction", Confidence.OBSERVED)
        assert found.delta_bytes < 0
        assert found.later == ()

    def test_a_question_that_asks_for_a_summary_is_none(self, surface: Surface) -> None:
        after: list[Item] = [*turn(1, "x"), User("Please summarize the file.")]
        assert broken(surface, [*turn(1, "x"), *turn(2, LONG)], after).cause == "history_rewritten"

    def test_one_short_text_for_many_messages_is_likely_one(self, surface: Surface) -> None:
        kept = turn(3, "x")
        after: list[Item] = [User("Two files were read; nothing was found."), *kept]
        found = broken(surface, [*turn(1, LONG), *turn(2, LONG), *kept], after)
        assert (found.cause, found.confidence) == ("compaction", Confidence.INFERRED)

    def test_ids_that_do_not_map_one_to_one(self, surface: Surface) -> None:
        before = [User("q"), *STEP, Assistant("", ("c2", "read_file", "{}")), Result("c2", "ok")]
        after = [User("q"), *[self.with_id(item, "d1") for item in before[1:]]]
        assert broken(surface, before, after).cause == "history_rewritten"
        other = [User("q"), *[self.with_id(item, f"d{at // 2}") for at, item in enumerate(before[1:])]]
        assert broken(surface, before, other).cause == "history_id_regenerated"

    @staticmethod
    def with_id(item: Item, new: str) -> Item:
        if isinstance(item, Assistant) and item.call is not None:
            return Assistant(item.text, (new, *item.call[1:]))
        return Result(new, item.text) if isinstance(item, Result) else item


def chat(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "system", "content": PADDING}, *messages]}


def anthropic(*parts: dict[str, Any], role: str = "user") -> dict[str, Any]:
    messages = [{"role": role, "content": list(parts)}, {"role": "user", "content": "go on"}]
    return {"model": "m", "max_tokens": 9, "system": PADDING, "messages": messages}


TEXT = {"type": "text", "text": "look at this"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8=" * 9}}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
ASSISTANT = {"role": "assistant", "content": "yes"}

COMPACTED = [{"role": "assistant", "content": [{"type": "compaction", "content": "all"}]}]

SHAPES: list[tuple[str, Surface, dict[str, Any], dict[str, Any]]] = [
    (
        "content_shape",
        Surface.CHAT_COMPLETIONS,
        chat({"role": "user", "content": [{"type": "text", "text": "hello"}]}, ASSISTANT),
        chat({"role": "user", "content": "hello"}, ASSISTANT),
    ),
    (
        "history_rewritten",
        Surface.CHAT_COMPLETIONS,
        chat({"role": "user", "name": "ann", "content": [{"type": "text", "text": "hello"}]}, ASSISTANT),
        chat({"role": "user", "name": "bob", "content": "hello"}, ASSISTANT),
    ),
    (
        "empty_field",
        Surface.CHAT_COMPLETIONS,
        chat({"role": "user", "content": "q"}, {**ASSISTANT, "reasoning_content": ""}),
        chat({"role": "user", "content": "q"}, ASSISTANT, {"role": "user", "content": "r"}),
    ),
    (
        "empty_field",
        Surface.CHAT_COMPLETIONS,
        chat({"role": "user", "content": "q"}, {**ASSISTANT, "tool_calls": []}),
        chat({"role": "user", "content": "q"}, {**ASSISTANT, "tool_calls": None}),
    ),
    (
        "thinking_stripped",
        Surface.CHAT_COMPLETIONS,
        chat({"role": "user", "content": "q"}, {**ASSISTANT, "reasoning_content": "hm"}),
        chat({"role": "user", "content": "q"}, ASSISTANT, {"role": "user", "content": "r"}),
    ),
    (
        "thinking_stripped",
        Surface.MESSAGES,
        anthropic(THINKING, TEXT, role="assistant"),
        anthropic(TEXT, role="assistant"),
    ),
    (
        "image_replaced",
        Surface.MESSAGES,
        anthropic(IMAGE),
        anthropic({"type": "text", "text": "[Image: a.png]"}),
    ),
    (
        "message_block_reorder",
        Surface.MESSAGES,
        anthropic(TEXT, IMAGE, THINKING),
        anthropic(TEXT, THINKING, IMAGE),
    ),
    (
        "message_block_reorder",
        Surface.MESSAGES,
        anthropic(TEXT, IMAGE),
        anthropic(IMAGE, TEXT),
    ),
    (
        "compaction",
        Surface.MESSAGES,
        anthropic({"type": "text", "text": LONG}, role="assistant"),
        {**anthropic({"type": "compaction", "content": "all"}), "messages": COMPACTED},
    ),
    ("block_missing", Surface.MESSAGES, anthropic(TEXT, IMAGE), anthropic(TEXT)),
    (
        "message_merge",
        Surface.MESSAGES,
        anthropic({"type": "text", "text": "one "}, {"type": "text", "text": "two"}),
        anthropic({"type": "text", "text": "one two"}),
    ),
    (
        "whitespace_drift",
        Surface.MESSAGES,
        anthropic({"type": "text", "text": "a\r\nb\r\n"}),
        anthropic({"type": "text", "text": "a\nb\n"}),
    ),
]


@pytest.mark.parametrize(
    ("cause", "surface", "before", "after"), SHAPES, ids=[f"{s[0]}-{s[1]}" for s in SHAPES]
)
def test_shapes(cause: str, surface: Surface, before: dict[str, Any], after: dict[str, Any]) -> None:
    found = compare(read(before, surface), read(after, surface)).first
    assert found is not None
    assert found.cause == cause
    assert found.later == ()


def test_a_list_of_parts_that_lost_its_reminder_and_became_a_string_is_one_change() -> None:
    parts = [{"type": "text", "text": text} for text in ("hello", REMINDER)]
    before = chat({"role": "user", "content": parts}, ASSISTANT)
    after = chat({"role": "user", "content": "hello"}, ASSISTANT, {"role": "user", "content": "r"})
    found = compare(read(before, Surface.CHAT_COMPLETIONS), read(after, Surface.CHAT_COMPLETIONS)).first
    assert found is not None
    assert (found.cause, found.later) == ("transient_tail_removed", ())
    assert found.alongside == ("content_shape",)


def test_item_ids_of_messages_are_ids_too() -> None:
    def items(first: str, second: str) -> dict[str, Any]:
        rows = [
            {"type": "message", "role": "user", "content": "q"},
            {"type": "message", "id": first, "role": "assistant", "content": "a"},
            {"type": "function_call", "id": second, "call_id": "c1", "name": "t", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "ok"},
        ]
        return {"model": "m", "instructions": PADDING, "input": rows}

    def cause(one: dict[str, Any], other: dict[str, Any]) -> str:
        found = compare(read(one, Surface.RESPONSES), read(other, Surface.RESPONSES)).first
        assert found is not None
        return found.cause

    assert cause(items("msg_1", "fc_1"), items("msg_2", "fc_2")) == "history_id_regenerated"
    assert cause(items("msg_1", "fc_1"), items("same", "same")) == "history_rewritten"
    assert cause(items("same", "same"), items("msg_1", "fc_1")) == "history_rewritten"


def test_blocks_in_another_order_at_the_end_of_what_was_sent() -> None:
    def sent(*parts: dict[str, Any], more: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
        return {**anthropic(), "messages": [{"role": "user", "content": list(parts)}, *more]}

    child = sent(IMAGE, TEXT, more=(ASSISTANT, {"role": "user", "content": "next"}))
    found = compare(read(sent(TEXT, IMAGE), Surface.MESSAGES), read(child, Surface.MESSAGES)).first
    assert found is not None
    assert (found.cause, found.later) == ("message_block_reorder", ())


@pytest.mark.parametrize("depth", [90, 150, 400, 900, 3000])
def test_deep_nesting_is_compared_as_text(depth: int) -> None:
    def deep(leaf: str) -> bytes:
        value = "[" * depth + f'"{leaf}"' + "]" * depth
        call = f'{{"type":"tool_use","id":"c","name":"t","input":{{"x":{value}}}}}'
        schema = f'{{"name":"t","input_schema":{{"x":{value}}}}}'
        messages = f'[{{"role":"assistant","content":[{call}]}},{{"role":"user","content":"q"}}]'
        return f'{{"model":"m","max_tokens":1,"tools":[{schema}],"messages":{messages}}}'.encode()

    parent = read_request(deep("a"), surface=Surface.MESSAGES)
    child = read_request(deep("b"), surface=Surface.MESSAGES)
    found = compare(parent, child).first
    assert found is not None
    assert [found.cause, *(one.cause for one in found.later)] == ["tool_edited", "history_rewritten"]


def test_results_are_told_apart_by_their_call() -> None:
    def results(**texts: str) -> dict[str, Any]:
        rows = [{"type": "tool_result", "tool_use_id": key, "content": text} for key, text in texts.items()]
        return anthropic(*rows)

    before = results(c1="kept nowhere", c2=LONG)
    found = compare(read(before, Surface.MESSAGES), read(results(c2="[cleared]"), Surface.MESSAGES)).first
    assert found is not None
    assert (found.cause, found.path) == ("block_missing", "$.messages[0].content[0]")
    assert [one.cause for one in found.later] == ["elision_moving_boundary"]


def test_requests_of_two_surfaces_can_be_compared() -> None:
    found = compare(request(Surface.MESSAGES), request(Surface.RESPONSES)).first
    assert found is not None
    assert found.zone is Zone.SYSTEM or found.zone is Zone.HISTORY


def test_kinds_of_white_space() -> None:
    def kinds(before: str, after: str) -> tuple[str, ...]:
        found = broken(Surface.MESSAGES, [User(before), *STEP], [User(after), *STEP])
        assert found.cause == "whitespace_drift"
        return found.kinds

    assert kinds("a\r\nb", "a\nb") == ("crlf",)
    assert kinds("caf\u0065\u0301", "caf\u00e9") == ("nfc",)
    assert kinds("a\n", "a") == ("trailing",)


def test_behind_a_response_id_only_tools_and_instructions_are_sent_again() -> None:
    parent = request(Surface.RESPONSES, history=turn(1, "x"))
    value = body(Surface.RESPONSES, history=[User("next")])
    chained = read_request(encoded({**value, "previous_response_id": "resp_1"}))
    comparison = compare(parent, chained)
    assert comparison.stable
    assert comparison.first is None

    value["instructions"] += "One more rule.\n"
    edited = compare(parent, read_request(encoded({**value, "previous_response_id": "resp_1"}))).first
    assert edited is not None
    assert (edited.zone, edited.later) == (Zone.SYSTEM, ())

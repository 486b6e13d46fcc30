"""The reference runtime's own requests, with its labels: what each way of assembling a prompt breaks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coldturn.reference.prefix.causes import compare
from coldturn.reference.prefix.model import Break, Comparison, Confidence, Surface, Zone
from coldturn.reference.prefix.request import PromptRequest, read_request
from coldturn.reference.wire import encode
from coldturn.reference.wire.model import (
    RENDERED_SURFACES,
    AssistantItem,
    HistoryItem,
    Prompt,
    ToolCall,
    ToolDefinition,
    ToolResultItem,
    UserItem,
)

SURFACES = list(RENDERED_SURFACES)
LONG = "a line of the result\n" * 300
SHORT = f"{LONG[:210]}...\nread_tool_output(handle='call_1') reads the rest.\n{LONG[-210:]}"
READ, WEB = (ToolDefinition(name, "Reads.", b'{"type":"object"}') for name in ("read", "web"))
BASE = Prompt(
    model="m",
    tools=(READ,),
    system="You help.\n" * 50,
    tail="",
    history=(UserItem("question 1"),),
    suffix="",
    max_output_tokens=100,
)


def step(call_id: str, result: str) -> tuple[HistoryItem, ...]:
    call = AssistantItem("", (ToolCall(call_id, "read", "{}"),))
    return call, ToolResultItem(call_id, result, elided=result == SHORT)


def sent(prompt: Prompt, surface: Surface) -> PromptRequest:
    encoded = encode(prompt, surface)
    return read_request(encoded.body, surface=surface, labels=encoded.labels)


def compared(before: Prompt, after: Prompt, surface: Surface) -> Comparison:
    return compare(sent(before, surface), sent(after, surface))


def broken(before: Prompt, after: Prompt, surface: Surface) -> Break:
    found = compared(before, after, surface).first
    assert found is not None
    return found


@pytest.mark.parametrize("surface", SURFACES)
def test_a_clock_in_the_trailing_suffix_breaks_nothing(surface: Surface) -> None:
    before = replace(BASE, suffix="<context>\nIt is 10:01.\n</context>")
    after = replace(before, suffix="<context>\nIt is 10:02.\n</context>")
    for child in (after, replace(after, history=(*BASE.history, *step("call_1", "ok")))):
        comparison = compared(before, child, surface)
        assert comparison.stable
        assert comparison.first is None


@pytest.mark.parametrize("surface", SURFACES)
def test_elision_at_the_boundary_is_one_planned_break(surface: Surface) -> None:
    answer = AssistantItem("done")
    before = replace(BASE, history=(*BASE.history, *step("call_1", LONG), *step("call_2", LONG), answer))
    after = replace(
        BASE,
        history=(
            *BASE.history,
            *step("call_1", SHORT),
            *step("call_2", SHORT),
            answer,
            UserItem("question 2"),
        ),
        newly_elided=frozenset({2, 4}),
    )
    found = broken(before, after, surface)
    assert (found.cause, found.planned, found.later) == ("planned_elision", True, ())
    assert found.confidence is Confidence.OBSERVED


@pytest.mark.parametrize("surface", SURFACES)
def test_a_suffix_inside_the_last_user_message_is_gone_a_turn_later(surface: Surface) -> None:
    before = replace(BASE, history=(UserItem("question 1", "Loaded:\n- web"), *step("call_1", LONG)))
    history = (*BASE.history, *step("call_1", SHORT), AssistantItem("done"), UserItem("question 2"))
    after = replace(BASE, history=history, newly_elided=frozenset({2}))
    found = broken(before, after, surface)
    assert (found.cause, found.zone, found.planned) == ("transient_tail_removed", Zone.TRANSIENT, False)
    assert [(one.cause, one.planned) for one in found.later] == [("planned_elision", True)]


@pytest.mark.parametrize("surface", SURFACES)
def test_a_suffix_that_grows_within_its_turn(surface: Surface) -> None:
    tools = (READ, WEB)
    before = replace(BASE, tools=tools, history=(UserItem("q", "Loaded:\n- read"), *step("call_1", "ok")))
    after = replace(before, history=(UserItem("q", "Loaded:\n- read\n- web"), *step("call_1", "ok")))
    found = broken(before, after, surface)
    assert (found.cause, found.names, found.harmless) == ("transient_tail_changed", ("web",), False)
    fresh = broken(replace(before, history=(UserItem("q"), *step("call_1", "ok"))), after, surface)
    assert (fresh.cause, fresh.zone) == ("transient_tail_changed", Zone.TRANSIENT)


@pytest.mark.parametrize("surface", SURFACES)
def test_memories_in_the_tail(surface: Surface) -> None:
    before, after = (replace(BASE, tail=f"<memory>\nlikes {what}\n</memory>") for what in ("tea", "coffee"))
    found = broken(before, after, surface)
    assert (found.cause, found.zone) == ("memory_injection", Zone.TAIL)
    assert broken(BASE, after, surface).cause == "memory_injection"


@pytest.mark.parametrize("surface", SURFACES)
def test_a_deferred_tool_that_enters_the_array(surface: Surface) -> None:
    before = replace(BASE, deferred=frozenset({"web"}))
    found = broken(before, replace(BASE, tools=(READ, WEB)), surface)
    assert (found.cause, found.names, found.kinds) == ("tool_promoted", ("web",), ("append_tail",))


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize(
    ("planned", "cause"), [(frozenset({2}), "planned_elision"), (frozenset(), "elision_moving_boundary")]
)
def test_labels_decide_whether_a_turns_first_flip_was_planned(
    surface: Surface, planned: frozenset[int], cause: str
) -> None:
    before = replace(BASE, history=(*BASE.history, *step("call_1", LONG)))
    after = replace(BASE, history=(*BASE.history, *step("call_1", SHORT), UserItem("question 2")))
    parent, child = (encode(one, surface) for one in (before, replace(after, newly_elided=planned)))
    found = compare(
        read_request(parent.body, surface=surface, labels=replace(parent.labels, turn=0)),
        read_request(child.body, surface=surface, labels=replace(child.labels, turn=1)),
    ).first
    assert found is not None
    assert (found.cause, found.planned) == (cause, bool(planned))

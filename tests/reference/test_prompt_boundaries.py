"""Elision at turn boundaries, over whole conversations: when a rendering changes, how often, and to what."""

from __future__ import annotations

import json
from collections.abc import Sequence

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldturn.reference.loop import run_turn
from coldturn.reference.model import ScriptedModel
from coldturn.reference.observer import StepInfo
from coldturn.reference.policy import POLICIES, Policy
from coldturn.reference.prefix.model import Surface
from coldturn.reference.prompt.elision import Limits, shorten
from coldturn.reference.records import ToolResult
from coldturn.reference.run import Run
from coldturn.reference.spec import AgentSpec
from coldturn.reference.surface.model import CallOutcome, ToolSurface
from coldturn.reference.wire.model import RENDERED_SURFACES, Reply, ToolCall
from steps import Steps

SMALL = {"result_tokens": 50, "batch_tokens": 120, "preview_chars": 10, "failure_chars": 30}
MODELS = {
    Surface.MESSAGES: "claude-opus-5",
    Surface.CHAT_COMPLETIONS: "gpt-5.6",
    Surface.RESPONSES: "gpt-5.5",
}


class SizedTools:
    """A tool that answers with as many characters as it is asked for; a negative number fails."""

    async def start_turn(self, turn: int) -> ToolSurface:
        return self.step_surface(turn, 0)

    def step_surface(self, _turn: int, _step: int) -> ToolSurface:
        return ToolSurface((), (), (), (), frozenset(), ())

    def arrived(self, _handle: str) -> CallOutcome | None:
        return None

    async def call(self, call: ToolCall, *, turn: int, step: int, handle: str = "") -> CallOutcome:
        size = int(json.loads(call.arguments)["n"])
        return CallOutcome(f"{handle} " + "x" * abs(size), size < 0, "direct")


class Fixed:
    def time_ns(self) -> int:
        return 1_780_315_200_000_000_000


Conversation = Sequence[Sequence[Sequence[int]]]
"""Turns of steps of result sizes."""


def converse(turns: Conversation, policy: Policy, surface: Surface = Surface.RESPONSES) -> tuple[Run, Steps]:
    replies = [
        reply
        for turn in turns
        for reply in (
            *(
                Reply("", tuple(ToolCall("", "get", json.dumps({"n": n})) for n in step))
                for step in turn
                if step
            ),
            Reply("Done."),
        )
    ]
    observer = Steps()
    spec = AgentSpec(instructions="Be kind.", surface=surface, model=MODELS[surface])
    run = Run(spec, policy, SizedTools(), ScriptedModel(replies), observer, Fixed())

    async def talk() -> None:
        for number, _ in enumerate(turns):
            outcome = await run_turn(run, f"question {number}")
            assert outcome.error is None

    anyio.run(talk)
    return run, observer


def rendered(info: StepInfo) -> dict[str, str]:
    """Call id -> text of each tool result in a request of any surface."""
    body = json.loads(info.body)
    found: dict[str, str] = {}
    for row in body.get("messages", body.get("input")):
        if row.get("type") == "function_call_output":
            found[row["call_id"]] = _text(row["output"])
        elif row.get("role") == "tool":
            found[row["tool_call_id"]] = _text(row["content"])
        else:
            parts = row["content"] if isinstance(row.get("content"), list) else []
            found |= {p["tool_use_id"]: _text(p["content"]) for p in parts if p["type"] == "tool_result"}
    return found


def _text(content: str | list[dict[str, str]]) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def results(run: Run) -> dict[str, ToolResult]:
    return {record.call_id: record for record in run.records if isinstance(record, ToolResult)}


sizes = st.one_of(st.integers(1, 600), st.integers(-600, -1))
conversations = st.lists(st.lists(st.lists(sizes, max_size=3), max_size=4), min_size=1, max_size=4)


@pytest.mark.requirement("ZONE-4", "BIG-6")
@settings(deadline=None, max_examples=60)
@given(
    conversations,
    st.sampled_from(list(RENDERED_SURFACES)),
    st.sampled_from(["trailing", "last_user", "persisted"]),
)
def test_a_rendering_changes_at_most_once_and_as_a_function_of_its_turn(
    turns: Conversation, surface: Surface, placement: str
) -> None:
    policy = Policy.model_validate({**SMALL, "suffix_placement": placement})
    run, observer = converse(turns, policy, surface)
    whole = results(run)
    by_turn: dict[int, list[ToolResult]] = {}
    for result in whole.values():
        by_turn.setdefault(result.turn, []).append(result)
    after = {turn: shorten(batch, Limits.of(policy)) for turn, batch in by_turn.items()}
    for info in observer.infos:
        for call_id, text in rendered(info).items():
            result = whole[call_id]
            if result.turn == info.turn:
                assert text == result.text, "the current turn's results are whole"
            else:
                assert text == after[result.turn].get(result.handle, result.text)


@pytest.mark.requirement("ZONE-5")
@settings(deadline=None, max_examples=60)
@given(conversations, st.sampled_from(list(RENDERED_SURFACES)))
def test_every_break_under_stable_is_a_planned_elision_at_the_first_step_of_a_turn(
    turns: Conversation, surface: Surface
) -> None:
    run, observer = converse(turns, Policy.model_validate(SMALL), surface)
    seen: set[str] = set()
    for info in observer.infos:
        new = set(info.elision.handles) - seen
        seen |= new
        breaks = info.comparison.first if info.comparison is not None else None
        if new:
            assert info.step == 0
            assert breaks is not None
            assert (breaks.cause, breaks.planned, breaks.later) == ("planned_elision", True, ())
        else:
            assert breaks is None or breaks.harmless
    assert seen <= {record.handle for record in results(run).values()}


@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
def test_elision_is_reported_with_bytes_before_and_after(surface: Surface) -> None:
    run, observer = converse([[[400], [300, 10]], [[500]], []], Policy.model_validate(SMALL), surface)
    counts = [info.elision.count for info in observer.infos]
    assert counts == [0, 0, 0, 2, 2, 3]
    last = observer.infos[-1].elision
    shown = rendered(observer.infos[-1])
    short = [result for result in results(run).values() if result.handle in last.handles]
    assert last.original_bytes == sum(len(result.text) for result in short)
    assert last.sent_bytes == sum(len(shown[result.call_id]) for result in short)
    assert all(len(result.text) > 250 for result in short), "the log keeps them whole"


def test_a_boundary_per_step_rewrites_one_more_old_result_on_each_call() -> None:
    policy = Policy.model_validate({**SMALL, "elision_boundary": "step"})
    _, observer = converse([[[400], [410], [420], [430]], []], policy)
    assert [info.elision.count for info in observer.infos] == [0, 0, 1, 2, 3, 4]
    causes = [
        info.comparison.first.cause
        for info in observer.infos[2:5]
        if info.comparison and info.comparison.first
    ]
    assert causes == ["elision_moving_boundary"] * 3
    planned = [
        info.comparison.first.planned for info in observer.infos if info.comparison and info.comparison.first
    ]
    assert not any(planned[:3])


@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
def test_labels_name_what_flipped_at_this_turns_boundary_and_nothing_else(surface: Surface) -> None:
    turns = [[[400], [410, 5]], [[420], [6]], []]
    run, observer = converse(turns, Policy.model_validate(SMALL), surface)
    assert observer.infos[-1].elision.count == 3
    request = run.sent.request if run.sent else None
    assert request is not None
    assert len(request.labels.planned) == 1
    labelled = [
        block
        for block in request.blocks
        if any(block.path.startswith(path) for path in request.labels.planned)
    ]
    assert [block.call_id for block in labelled] == ["call_0004"]
    assert (request.labels.turn, request.labels.step) == (2, 0)


def test_a_boundary_per_step_plans_nothing() -> None:
    policy = Policy.model_validate({**SMALL, "elision_boundary": "step"})
    run, observer = converse([[[400], [410], [420]]], policy)
    assert observer.infos[-1].elision.count == 2
    assert run.sent is not None
    assert run.sent.request.labels.planned == frozenset()


def test_without_a_boundary_nothing_is_ever_shortened() -> None:
    policy = Policy.model_validate({**SMALL, "elision_boundary": "none"})
    run, observer = converse([[[900], [900]], [[900]], []], policy)
    assert {info.elision.count for info in observer.infos} == {0}
    assert {info.elision.boundary_message for info in observer.infos} == {-1}
    assert rendered(observer.infos[-1]) == {call_id: result.text for call_id, result in results(run).items()}


@pytest.mark.parametrize("name", list(POLICIES))
@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
def test_every_policy_runs_on_every_surface(name: str, surface: Surface) -> None:
    run, observer = converse([[[20_000, 30], [-900]], [[9_000]], []], POLICIES[name], surface)
    assert run.failure is None
    assert len(observer.infos) == 6


@pytest.mark.requirement("BIG-6")
def test_a_result_of_over_a_mebibyte_is_logged_whole_and_shown_short() -> None:
    run, observer = converse([[[1_500_000, -700_000]], []], POLICIES["stable"])
    large, failed = results(run).values()
    assert len(large.text) > 1_500_000
    assert len(failed.text) > 700_000
    shown = rendered(observer.infos[-1])
    assert len(shown[large.call_id]) < 2_000
    assert shown[failed.call_id] == failed.text[:400]


def test_what_is_new_is_all_that_a_step_serialises() -> None:
    long = [[[10, 10]] * 30] * 4
    run, observer = converse([*long, [[10]]], POLICIES["stable"])
    before = run.fragments.made
    run.model = ScriptedModel([Reply("Fine.")])
    anyio.run(run_turn, run, "one more")
    # The answer of the turn before, which no request has repeated yet, and the new question.
    assert run.fragments.made - before == 2
    assert len(observer.infos) == 4 * 31 + 3

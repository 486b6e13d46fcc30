"""Whole conversations of the runtime, posted byte for byte to a real engine, under each policy.

What is asserted of reads is what the engine reported and the spans carry.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from coldturn.analysis.entries.slots import SlotCache, SlotRules
from coldturn.reference.policy import POLICIES
from coldturn.reference.prefix.model import Surface, Zone
from coldturn.reference.wire.model import RENDERED_SURFACES
from engine.agent import Step, converse, policy_with_small_limits
from engine.places import Place, Rendered, named_place
from engine.rendering import rendered
from engine.server import Engine

pytestmark = pytest.mark.anyio

EngineOf = Callable[..., Engine]


def reads(step: Step) -> int:
    """What the span carries."""
    found: int = step.span["read_tokens_reported"]
    return found


def within_turns(steps: list[Step]) -> list[tuple[Step, Step]]:
    return [(was, now) for was, now in pairwise(steps) if was.span["turn"] == now.span["turn"]]


def between_turns(steps: list[Step]) -> list[tuple[Step, Step]]:
    return [(was, now) for was, now in pairwise(steps) if was.span["turn"] != now.span["turn"]]


def text_of(step: Step) -> Rendered:
    return Rendered(step.request, step.asked.rendered)


CHANGED: dict[str, dict[str, object]] = {
    "suffix in the last user message": {"suffix_placement": "last_user"},
    "suffix kept in the history": {"suffix_placement": "persisted"},
    "tools behind a facade": {"direct_tools": 0},
    "tools behind a search": {"direct_tools": 0, "facade_tools": 0},
    "discovered tools appended": {"promotion": "append", "catalogue": "suffix"},
    "nothing elided": {"elision_boundary": "none"},
    "elided at each step": {"elision_boundary": "step"},
}
"""Choices of `stable` made otherwise, one at a time."""


def place_that_the_span_names(was: Step, now: Step) -> Place:
    span = now.span
    if span["stable"]:
        return Place(text_of(was).stable_end(), len(was.asked.rendered))
    return named_place(
        text_of(was),
        text_of(now),
        span["break_path"],
        span["break_offset"],
        span["break_block_offset"],
    )


def check(steps: list[Step]) -> None:
    """Reported reads are those of the rule, and end at the place that the span names."""
    cache = SlotCache(SlotRules())
    for step in steps:
        assert step.asked.rendered == rendered(step.request.surface, step.request.body)
        assert reads(step) == step.asked.reads == cache.observe(step.asked.rendered).read
        assert step.span["input_tokens_reported"] == len(step.asked.rendered)
    for was, now in pairwise(steps):
        place = place_that_the_span_names(was, now)
        assert place.start <= reads(now) <= place.end, f"turn {now.span['turn']}, step {now.span['step']}"


@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
@pytest.mark.parametrize("name", list(POLICIES))
async def test_the_engine_reads_up_to_the_place_that_the_span_names(
    name: str, surface: Surface, engine_of: EngineOf, tmp_path: Path
) -> None:
    check(await converse(engine_of(), policy_with_small_limits(name), surface, tmp_path))


@pytest.mark.parametrize("changed", list(CHANGED))
async def test_so_it_does_when_one_choice_is_another(
    changed: str, engine_of: EngineOf, tmp_path: Path
) -> None:
    policy = policy_with_small_limits("stable", **CHANGED[changed])
    steps = await converse(engine_of(), policy, Surface.MESSAGES, tmp_path)
    check(steps)


@pytest.mark.requirement("RES-2", "ZONE-2", "ZONE-5")
@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
async def test_under_stable_only_the_new_tail_is_computed(
    surface: Surface, engine_of: EngineOf, tmp_path: Path
) -> None:
    steps = await converse(engine_of(), policy_with_small_limits("stable"), surface, tmp_path)
    assert len(within_turns(steps)) == 11
    for was, now in within_turns(steps):
        assert now.span["stable"]
        assert reads(now) >= text_of(was).stable_end()
    causes = [now.span["break_cause"] for _, now in between_turns(steps)]
    assert causes == ["planned_elision", "memory_injection", None]


@pytest.mark.parametrize("surface", list(RENDERED_SURFACES))
async def test_under_naive_every_step_computes_the_conversation_again(
    surface: Surface, engine_of: EngineOf, tmp_path: Path
) -> None:
    steps = await converse(engine_of(), policy_with_small_limits("naive"), surface, tmp_path)
    for was, now in pairwise(steps):
        assert now.span["break_cause"] == "clock_in_prefix"
        assert reads(now) < text_of(was).start_of(Zone.HISTORY) < text_of(was).stable_end()


async def test_policies_differ_in_what_the_engine_computes(engine_of: EngineOf, tmp_path: Path) -> None:
    computed = {}
    for name in POLICIES:
        steps = await converse(engine_of(), policy_with_small_limits(name), Surface.RESPONSES, tmp_path)
        computed[name] = sum(step.span["input_tokens_reported"] - reads(step) for step in steps)
    assert computed["stable"] == min(computed.values())
    assert computed["naive"] == max(computed.values()) > 2 * computed["stable"]

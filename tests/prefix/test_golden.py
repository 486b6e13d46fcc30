"""The golden cases: place, size and cause of the break in the field report, on all three surfaces."""

from __future__ import annotations

from datetime import timedelta

import pytest

from coldturn.reference.prefix.causes import compare
from coldturn.reference.prefix.lineage import Lineages
from coldturn.reference.prefix.model import BlockKind, Confidence, Surface, Zone
from coldturn.reference.wire.model import RENDERED_SURFACES
from prefix import golden

SURFACES = list(RENDERED_SURFACES)


def test_the_prompts_have_the_sizes_of_the_report() -> None:
    before, after = golden.system_prompt(promoted=False), golden.system_prompt(promoted=True)
    assert (len(before.encode()), len(after.encode())) == (16_468, 16_576)
    assert before[:11_922] == after[:11_922]
    assert before[11_922] != after[11_922]
    assert after.count("\n- ") - before.count("\n- ") == 2


@pytest.mark.parametrize("surface", SURFACES)
def test_catalogue_lines_of_two_promoted_tools_break_the_system_prompt(surface: Surface) -> None:
    first, _, _, fourth = golden.four_steps(in_array=False)
    parent, child = first.request(surface), fourth.request(surface)

    comparison = compare(parent, child)

    found = comparison.first
    assert found is not None
    assert (found.zone, found.cause, found.confidence) == (Zone.SYSTEM, "catalog_growth", Confidence.OBSERVED)
    assert found.block_offset == 11_922
    assert found.section == "## Tool Catalog"
    assert found.delta_bytes == 108
    assert found.names == ("WebSearch", "Dispatch")
    assert found.side == "child"
    tool_bytes = sum(len(b.facts.content) for b in parent.blocks if b.kind is BlockKind.TOOL)
    assert found.offset == comparison.common_bytes == tool_bytes + 11_922
    assert found.lost_bytes == min(parent.content_bytes, child.content_bytes) - found.offset
    assert child.body[found.wire_offset or 0 :].startswith(b"- WebSearch: when")
    assert found.now.startswith("- WebSearch: when")
    assert found.was.startswith("\n## Answering")
    assert found.before.endswith("the usual way to do what it says\n")
    assert found.later == ()
    assert not comparison.stable


@pytest.mark.parametrize("surface", SURFACES)
def test_promotion_into_the_array_comes_first_and_the_catalogue_behind_it(surface: Surface) -> None:
    first, _, third, fourth = golden.four_steps(in_array=True)

    for parent in (first, third):
        found = compare(parent.request(surface), fourth.request(surface)).first
        assert found is not None
        assert (found.zone, found.cause) == (Zone.TOOLS, "tool_promoted")
        assert found.confidence is Confidence.OBSERVED
        assert found.path == "$.tools[9]"
        assert found.block_offset == 0
        assert found.names == ("WebSearch", "Dispatch")
        assert found.kinds == ("append_tail",)
        assert [(later.cause, later.zone, later.block_offset) for later in found.later] == [
            ("catalog_growth", Zone.SYSTEM, 11_922)
        ]


def test_where_nothing_shows_the_promotion_the_tools_were_added() -> None:
    first, _, _, fourth = golden.four_steps(in_array=True)
    silent = golden.Step(fourth.started, fourth.system, fourth.tools, first.history)

    found = compare(first.request(), silent.request()).first

    assert found is not None
    assert (found.zone, found.cause, found.names) == (Zone.TOOLS, "tool_added", ("WebSearch", "Dispatch"))
    assert [later.cause for later in found.later] == ["catalog_growth"]


@pytest.mark.parametrize("in_array", [False, True])
def test_the_parent_of_the_fourth_is_the_third_not_the_compared_one(in_array: bool) -> None:
    steps = golden.four_steps(in_array=in_array)
    lineages = Lineages()

    placements = [lineages.place(step.request()) for step in steps]

    assert [place.parent_index for place in placements] == [None, 0, 1, 2]
    assert len({place.lineage for place in placements}) == 1
    assert steps[3].started - steps[2].started == timedelta(seconds=14)
    assert steps[2].started - steps[1].started == timedelta(seconds=31)
    assert steps[3].started - steps[0].started == timedelta(minutes=22, seconds=32)


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("in_array", [False, True])
def test_the_control_pair_shows_nothing(surface: Surface, in_array: bool) -> None:
    _, second, third, _ = golden.four_steps(in_array=in_array)
    assert second.system == third.system

    comparison = compare(second.request(surface), third.request(surface))

    assert comparison.stable
    assert comparison.first is None
    assert comparison.common_bytes == second.request(surface).content_bytes

from __future__ import annotations

import pytest

from coldturn.reference.policy import POLICIES, Policy
from coldturn.reference.prompt.zones import (
    Moving,
    catalogue_text,
    discovered_text,
    suffix_lead,
    suffix_text,
    system_text,
    tail_text,
)
from coldturn.reference.spec import AgentSpec, SkillSpec, SubagentSpec
from coldturn.reference.surface.model import SurfaceTool, ToolSurface
from coldturn.reference.wire.model import ToolDefinition

NOON = 1_780_315_200_000_000_000  # 2026-06-01T12:00:00Z
STABLE = POLICIES["stable"]


def shown(name: str, hint: str) -> SurfaceTool:
    return SurfaceTool(ToolDefinition(name, "", b"{}"), hint)


def surface(
    *, discovered: tuple[SurfaceTool, ...] = (), notices: tuple[str, ...] = (), lines: tuple[str, ...] = ()
) -> ToolSurface:
    inline = (shown("read_tool_output", "read more"), shown("todo", ""))
    return ToolSurface(inline, discovered, lines, notices, frozenset(), ())


FOUND = (shown("git__log", "Shows  the\nlog"), shown("git__blame", ""))
SPEC = AgentSpec(
    instructions="Be kind.",
    skills=(SkillSpec(name="review", description="How to\nreview", body="SECRET BODY"),),
    subagents=(SubagentSpec(name="scout", description="Looks around"),),
)
MOVING = Moving("Likes tea.", {"todo": "[ ] tidy"}, NOON)


@pytest.mark.requirement("ZONE-1")
def test_zone_1_of_stable_holds_what_moves_least_and_no_catalogue() -> None:
    text = system_text(SPEC, STABLE, surface(lines=("git: Version control",)), MOVING)
    assert text == (
        "Be kind.\n\n"
        "## Skills\nRead a skill with `read_skill` before you use it.\n- review: How to review\n\n"
        "## Subagents\n- scout: Looks around\n\n"
        "## Servers\nTheir tools are found with the tools that list, describe and call.\n"
        "- git: Version control"
    )
    assert tail_text(STABLE, MOVING) == "<memory>\nLikes tea.\n</memory>"


@pytest.mark.requirement("ZONE-1")
def test_what_there_is_not_takes_no_byte() -> None:
    bare = surface()
    nothing = Moving("", {}, NOON)
    assert system_text(AgentSpec(), STABLE, bare, nothing) == ""
    assert tail_text(STABLE, nothing) == ""
    quiet = STABLE.model_copy(update={"clock": "system"})
    assert suffix_text(suffix_lead(quiet, bare, nothing), discovered_text(quiet, bare)) == ""


@pytest.mark.requirement("ZONE-2")
@pytest.mark.parametrize("name", [name for name, policy in POLICIES.items() if policy.clock == "transient"])
def test_date_and_time_stand_in_zone_4_only(name: str) -> None:
    policy = POLICIES[name]
    earlier, later = MOVING, Moving(MOVING.memory, MOVING.reminders, NOON + 3600 * 10**9)
    there = surface(discovered=FOUND)
    assert system_text(SPEC, policy, there, earlier) == system_text(SPEC, policy, there, later)
    assert tail_text(policy, earlier) == tail_text(policy, later)
    assert "2026-06-01 12:00 UTC" in suffix_lead(policy, there, earlier)
    assert "2026-06-01 13:00 UTC" in suffix_lead(policy, there, later)


def test_naive_puts_clock_memory_and_reminders_into_the_system_text() -> None:
    text = system_text(SPEC, POLICIES["naive"], surface(), MOVING)
    assert text.startswith(
        "Current date and time: 2026-06-01 12:00 UTC\n\n<memory>\nLikes tea.\n</memory>\n\nBe kind."
    )
    assert text.endswith(
        "## Tool Catalog\n- read_tool_output: read more\n- todo\n\n## Reminders\n### todo\n[ ] tidy"
    )
    assert tail_text(POLICIES["naive"], MOVING) == ""
    assert suffix_lead(POLICIES["naive"], surface(), MOVING) == ""


@pytest.mark.requirement("ZONE-3")
def test_reminders_stand_in_the_suffix_unless_a_policy_says_otherwise() -> None:
    for policy in POLICIES.values():
        in_system = "[ ] tidy" in system_text(SPEC, policy, surface(), MOVING)
        in_suffix = "[ ] tidy" in suffix_lead(policy, surface(), MOVING)
        assert (in_system, in_suffix) == (policy.reminders == "system", policy.reminders == "suffix")
    assert not in_system, "the last one is catalog-in-suffix"


@pytest.mark.requirement("RES-4")
def test_discovered_tools_stand_in_a_reminder_with_the_catalogues_own_hints() -> None:
    policy = POLICIES["catalog-in-suffix"]
    text = discovered_text(policy, surface(discovered=FOUND))
    heading, *lines = text.splitlines()[1:]
    assert "loaded earlier" in heading
    assert "by name" in heading
    assert "schemas are in the tools array" in heading
    assert lines == ["- git__log: Shows the log", "- git__blame"]
    assert set(lines) <= set(
        catalogue_text(POLICIES["catalog-in-system"], surface(discovered=FOUND)).splitlines()
    )
    assert discovered_text(policy, surface()) == ""


@pytest.mark.requirement("RES-3")
def test_the_catalogue_of_the_suffix_policy_shows_inline_tools_only() -> None:
    growing = surface(discovered=FOUND)
    assert catalogue_text(POLICIES["catalog-in-suffix"], growing) == catalogue_text(
        POLICIES["catalog-in-suffix"], surface()
    )
    assert "git__log" in catalogue_text(POLICIES["catalog-in-system"], growing)
    assert catalogue_text(STABLE, growing) == ""


@pytest.mark.requirement("RES-6")
def test_who_does_not_part_inline_tools_off_gets_the_whole_array_in_the_catalogue() -> None:
    whole = surface()
    for policy in (POLICIES["catalog-in-system"], POLICIES["catalog-in-suffix"]):
        listed = [line[2:].partition(":")[0] for line in catalogue_text(policy, whole).splitlines()[1:]]
        assert listed == [tool.definition.name for tool in whole.tools]


def test_the_suffix_is_one_tagged_block() -> None:
    policy = Policy(catalogue="suffix")
    there = surface(discovered=FOUND, notices=("git cannot be reached at the moment",))
    assert suffix_text(suffix_lead(policy, there, MOVING), discovered_text(policy, there)) == (
        "<system-reminder>\nCurrent date and time: 2026-06-01 12:00 UTC\n\n"
        "## Notices\n- git cannot be reached at the moment\n\n"
        "## Reminders\n### todo\n[ ] tidy\n\n"
        "## Discovered Tools\n"
        "These deferred tools were loaded earlier. Call them by name; their schemas are in the tools array.\n"
        "- git__log: Shows the log\n- git__blame\n</system-reminder>"
    )

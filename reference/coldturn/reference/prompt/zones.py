"""The texts of zones 1, 2 and 4, from most to least stable. Pure functions; zone 3 is the history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from coldturn.reference.policy import Policy
from coldturn.reference.spec import AgentSpec
from coldturn.reference.surface.model import SurfaceTool, ToolSurface

SUFFIX_TAG = "system-reminder"

_DISCOVERED = (
    "## Discovered Tools\n"
    "These deferred tools were loaded earlier. Call them by name; their schemas are in the tools array."
)


@dataclass(frozen=True, slots=True)
class Moving:
    """What changes while a Run goes on, as it is at one step.

    Attributes:
        memory: What is remembered of the user, as of the start of the turn.
        reminders: Named texts in the order in which they were first set.
        now_ns: Nanoseconds since the epoch.
    """

    memory: str
    reminders: Mapping[str, str]
    now_ns: int


def system_text(
    spec: AgentSpec, policy: Policy, surface: ToolSurface, moving: Moving, override: str | None = None
) -> str:
    """Compose zone 1.

    Instructions, skills index, subagent roster, server lines and, where the policy asks for it, the tool
    catalogue. Policies to compare with put a clock or the memory in front, or reminders behind.

    Args:
        spec: The agent.
        policy: What else stands here.
        surface: What the prompt shows of the tools.
        moving: What changes.
        override: Stands for instructions, skills and subagents when it is not None. What tells of tools and
            servers follows it all the same: it says what the tools array and the meta tools can do.
    """
    parts = [
        clock_line(moving.now_ns) if policy.clock == "system" else "",
        memory_text(moving.memory) if policy.memory == "system" else "",
        _who_it_is(spec) if override is None else override,
        _section(
            "## Servers\nTheir tools are found with the tools that list, describe and call.",
            [f"- {line}" for line in surface.server_lines],
        ),
        catalogue_text(policy, surface),
        reminders_text(moving.reminders) if policy.reminders == "system" else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _who_it_is(spec: AgentSpec) -> str:
    parts = [
        spec.instructions,
        _section(
            "## Skills\nRead a skill with `read_skill` before you use it.",
            [_line(skill.name, skill.description) for skill in spec.skills],
        ),
        _section("## Subagents", [_line(agent.name, agent.description) for agent in spec.subagents]),
    ]
    return "\n\n".join(part for part in parts if part)


def tail_text(policy: Policy, moving: Moving) -> str:
    """Compose zone 2, the one part of the system prompt that is per user and changes."""
    return memory_text(moving.memory) if policy.memory == "tail" else ""


def suffix_lead(policy: Policy, surface: ToolSurface, moving: Moving) -> str:
    """Compose what zone 4 says apart from discovered tools: clock, notices, reminders."""
    parts = [
        clock_line(moving.now_ns) if policy.clock == "transient" else "",
        _section("## Notices", [f"- {notice}" for notice in surface.notices]),
        reminders_text(moving.reminders) if policy.reminders == "suffix" else "",
    ]
    return "\n\n".join(part for part in parts if part)


def discovered_text(policy: Policy, surface: ToolSurface) -> str:
    """Compose the reminder of discovered tools; no byte when none is or when the policy has none."""
    if policy.catalogue != "suffix":
        return ""
    return _section(_DISCOVERED, catalogue_lines(surface.discovered))


def suffix_text(*parts: str) -> str:
    """Wrap the parts of zone 4 in one tag, so that who reads the bytes alone can tell it from the history."""
    text = "\n\n".join(part for part in parts if part)
    return f"<{SUFFIX_TAG}>\n{text}\n</{SUFFIX_TAG}>" if text else ""


def catalogue_text(policy: Policy, surface: ToolSurface) -> str:
    """Compose ``## Tool Catalog``: all tools, or the inline ones where the suffix has the rest."""
    if policy.catalogue == "none":
        return ""
    return tool_catalogue(surface.tools, surface.inline if policy.catalogue == "suffix" else None)


def tool_catalogue(tools: Sequence[SurfaceTool], inline: Sequence[SurfaceTool] | None = None) -> str:
    """Compose the section from a tools array; without an inline part of its own the whole array is listed."""
    return _section("## Tool Catalog", catalogue_lines(tools if inline is None else inline))


def catalogue_lines(tools: Sequence[SurfaceTool]) -> list[str]:
    """Give one line per tool: its name and when to use it."""
    return [_line(tool.definition.name, tool.hint) for tool in tools]


def memory_text(memory: str) -> str:
    """Compose the memory block; no byte when nothing is remembered."""
    return f"<memory>\n{memory}\n</memory>" if memory else ""


def reminders_text(reminders: Mapping[str, str]) -> str:
    """Compose the reminders, each under its name."""
    return _section("## Reminders", [f"### {name}\n{text}" for name, text in reminders.items() if text])


def clock_line(now_ns: int) -> str:
    """Tell date and time, to the minute."""
    now = datetime.fromtimestamp(now_ns // 1_000_000_000, UTC)
    return f"Current date and time: {now:%Y-%m-%d %H:%M} UTC"


def _section(heading: str, lines: Sequence[str]) -> str:
    return "\n".join([heading, *lines]) if lines else ""


def _line(name: str, text: str) -> str:
    folded = " ".join(text.split())
    return f"- {name}: {folded}" if folded else f"- {name}"

"""`read_skill`: the prompt shows a skill's name and description, this tool its body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from coldturn.reference.spec import SkillSpec
from coldturn.reference.surface.model import HostResult, HostTool
from coldturn.reference.wire.model import ToolDefinition

SKILL_TOOL_NAME = "read_skill"

_SCHEMA = msgspec.json.encode(
    {
        "type": "object",
        "properties": {"name": {"type": "string", "description": "As the skills index gives it."}},
        "required": ["name"],
        "additionalProperties": False,
    }
)


def skill_tool(skills: Sequence[SkillSpec]) -> HostTool:
    """Make the tool that hands out the bodies of `skills`."""
    bodies = {skill.name: skill.body for skill in skills}

    async def read(arguments: Mapping[str, Any]) -> HostResult:
        body = bodies.get(str(arguments.get("name")))
        if body is None:
            return HostResult(f"name: there is no such skill; there are {', '.join(bodies)}", is_error=True)
        return HostResult(body)

    definition = ToolDefinition(
        SKILL_TOOL_NAME, "Reads the full text of a skill of the skills index.", _SCHEMA
    )
    return HostTool(definition, "read the full text of a skill", read, builtin=True)

"""The local tools that the command line can run: a todo list, and a memory of the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from coldturn.reference.run import Run
from coldturn.reference.spec import LocalToolSpec
from coldturn.reference.surface.arguments import violations
from coldturn.reference.surface.model import HostHandler, HostResult, HostTool
from coldturn.reference.wire.model import ToolDefinition

TODO_WRITE = "todo_write"
REMEMBER = "remember"
HOST_TOOL_NAMES = (TODO_WRITE, REMEMBER)

_TODO = "todo"
_MARKS = {"pending": " ", "in_progress": "~", "completed": "x"}

_DESCRIPTIONS = {
    TODO_WRITE: "Replaces the todo list, which is shown behind the conversation. An empty one clears it.",
    REMEMBER: "Remembers one fact about the user for later turns.",
}
_HINTS = {TODO_WRITE: "keep a todo list", REMEMBER: "remember a fact about the user"}
_SCHEMAS: dict[str, dict[str, Any]] = {
    TODO_WRITE: {
        "type": "object",
        "properties": {
            "todos": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "text": {"type": "string", "minLength": 1},
                        "status": {"type": "string", "enum": list(_MARKS)},
                    },
                    "required": ["text", "status"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["todos"],
        "additionalProperties": False,
    },
    REMEMBER: {
        "type": "object",
        "properties": {"fact": {"type": "string", "minLength": 1}},
        "required": ["fact"],
        "additionalProperties": False,
    },
}


@dataclass(frozen=True, slots=True)
class Effect:
    """What a call changes beside its answer.

    Attributes:
        memory: The memory as it is afterwards; None when it stays.
        reminders: Named texts; an empty one takes its reminder away.
    """

    memory: str | None = None
    reminders: Mapping[str, str] = field(default_factory=dict)


def effect_of(tool: str, arguments: Mapping[str, Any], memory: str) -> Effect:
    """Tell what a call of `tool` changes; one that is refused for its arguments changes nothing.

    Args:
        tool: One of `HOST_TOOL_NAMES`.
        arguments: Of the call.
        memory: As it was before.
    """
    if violations(dict(arguments), _SCHEMAS[tool]):
        return Effect()
    if tool == REMEMBER:
        fact = f"- {_folded(arguments['fact'])}"
        return Effect(memory=f"{memory}\n{fact}" if memory else fact)
    lines = [f"- [{_MARKS[todo['status']]}] {_folded(todo['text'])}" for todo in arguments["todos"]]
    return Effect(reminders={_TODO: "\n".join(lines)})


class HostTools:
    """The tools of one Run. They need the Run, which needs them first: so the Run is bound afterwards."""

    def __init__(self) -> None:
        self._run: Run | None = None

    def bind(self, run: Run) -> None:
        """Say whose todo list and memory they keep."""
        self._run = run

    def tool(self, spec: LocalToolSpec) -> HostTool:
        """Make the tool that a Spec names; its description is the Spec's where that has one.

        Raises:
            KeyError: It is none of `HOST_TOOL_NAMES`.
        """
        handlers: dict[str, HostHandler] = {TODO_WRITE: self._todo_write, REMEMBER: self._remember}
        description = spec.description or _DESCRIPTIONS[spec.name]
        definition = ToolDefinition(spec.name, description, msgspec.json.encode(_SCHEMAS[spec.name]))
        return HostTool(definition, _HINTS[spec.name], handlers[spec.name])

    async def _todo_write(self, arguments: Mapping[str, Any]) -> HostResult:
        self._apply(TODO_WRITE, arguments)
        todos = arguments["todos"]
        done = sum(todo["status"] == "completed" for todo in todos)
        return HostResult(f"The todo list has {len(todos)} items, {done} of them completed.")

    async def _remember(self, arguments: Mapping[str, Any]) -> HostResult:
        self._apply(REMEMBER, arguments)
        return HostResult("Remembered; it is shown from the next turn on.")

    def _apply(self, tool: str, arguments: Mapping[str, Any]) -> None:
        run = self._bound()
        effect = effect_of(tool, arguments, run.memory)
        if effect.memory is not None:
            run.set_memory(effect.memory)
        for name, text in effect.reminders.items():
            run.set_reminder(name, text)

    def _bound(self) -> Run:
        if self._run is None:
            raise RuntimeError("bind the tools to their run first")
        return self._run


def _folded(text: str) -> str:
    """One line: a line break would end the list item."""
    return " ".join(text.split())

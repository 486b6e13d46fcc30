"""How a script names an earlier result: handles are the runtime's, and differ from policy to policy.

In a session file the handle of a `read_tool_output` call is written ``@TURN.STEP.CALL``, each counted from 0
in the script: ``@4.0.1`` is the result of the second call of the first step of the fifth turn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from coldturn.reference.previews import READER_NAME
from coldturn.reference.records import Record, ToolResult
from coldturn.replay.errors import RecordingError
from coldturn.replay.sessions.session import Decision

_REFERENCE = re.compile(r"@(\d+)\.(\d+)\.(\d+)")


class UnknownResultError(RecordingError):
    """A script reads a result that its run does not have."""

    slug = "unknown-result"

    def __init__(self, reference: str) -> None:
        self.reference = reference
        super().__init__(
            f"the script reads {reference}, which is no result before that place: write @TURN.STEP.CALL, "
            "each counted from 0 in the session file"
        )


class ResultReferences:
    """Knows which step of the run each step of the script became."""

    def __init__(self) -> None:
        self._steps: dict[tuple[int, int], int] = {}

    def took(self, turn: int, scripted: int, step: int) -> None:
        """Note that step `scripted` of the script's turn was taken as step `step` of the run's."""
        self._steps[turn, scripted] = step

    def resolved(self, decision: Decision, records: Sequence[Record]) -> Mapping[str, Any]:
        """Give a decision's arguments with the run's own handle in the place of a reference.

        Raises:
            UnknownResultError: The reference names no result in `records`.
        """
        handle = decision.arguments.get("handle")
        if decision.tool != READER_NAME or not isinstance(handle, str):
            return decision.arguments
        found = _REFERENCE.fullmatch(handle)
        if found is None:
            return decision.arguments
        turn, scripted, call = (int(number) for number in found.groups())
        step = self._steps.get((turn, scripted))
        results = [r for r in records if isinstance(r, ToolResult) and (r.turn, r.step) == (turn, step)]
        if call >= len(results):
            raise UnknownResultError(handle)
        return {**decision.arguments, "handle": results[call].handle}

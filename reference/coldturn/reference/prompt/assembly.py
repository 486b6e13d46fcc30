"""From records, surface and what moves to a `Prompt`: one Run's state of assembly, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from coldturn.reference.observer import ElisionInfo
from coldturn.reference.policy import Policy
from coldturn.reference.prefix.model import Surface
from coldturn.reference.prompt.history import History
from coldturn.reference.prompt.zones import (
    Moving,
    discovered_text,
    suffix_lead,
    suffix_text,
    system_text,
    tail_text,
)
from coldturn.reference.records import Record
from coldturn.reference.spec import AgentSpec
from coldturn.reference.surface.model import SurfaceTool, ToolSurface
from coldturn.reference.wire.model import HistoryItem, Prompt, Setting, UserItem


@dataclass(frozen=True, slots=True)
class Assembled:
    """A prompt, and what elision did to it."""

    prompt: Prompt
    elision: ElisionInfo


class Assembly:
    """Assembles the prompts of one Run.

    What was assembled once keeps its bytes: the history grows at its end, memory is taken in at the start of
    a turn, and a suffix inside the last user message keeps its first text for the whole turn.
    """

    def __init__(
        self,
        spec: AgentSpec,
        policy: Policy,
        settings: Mapping[str, Setting] | None = None,
        system_prompt: str | None = None,
    ) -> None:
        self.spec = spec
        self.settings = dict(settings or {})
        self.policy = policy
        self._history = History(policy)
        self._system_prompt = system_prompt
        self._memory = ""
        self._lead: str | None = None
        self._flipped: frozenset[str] = frozenset()

    def add(self, record: Record) -> None:
        """Show a new record from the next prompt on."""
        self._history.add(record)

    def begin_turn(self, memory: str) -> None:
        """Take in what may change between turns only."""
        self._memory = memory
        self._lead = None
        self._flipped = frozenset()

    def assemble(self, surface: ToolSurface, reminders: dict[str, str], now_ns: int) -> Assembled:
        """Assemble the next step's prompt.

        Args:
            surface: What the prompt shows of the tools at this step.
            reminders: Named texts as they are now.
            now_ns: Nanoseconds since the epoch.
        """
        moving = Moving(self._memory, reminders, now_ns)
        self._flip()
        suffix = self._suffix(surface, moving)
        history = self._placed(suffix)
        prompt = Prompt(
            model=self.spec.model,
            tools=tuple(tool.definition for tool in self._array(surface)),
            system=system_text(self.spec, self.policy, surface, moving, self._system_prompt),
            tail=tail_text(self.policy, moving),
            history=history,
            suffix=suffix if self.policy.suffix_placement == "trailing" else "",
            max_output_tokens=self.spec.max_output_tokens,
            newly_elided=self._history.places(self._flipped),
            deferred=surface.deferred,
            last_user=self._history.last_user if self._history.last_user >= 0 else None,
            settings=self.settings,
        )
        return Assembled(prompt, self._history.elision())

    def _array(self, surface: ToolSurface) -> tuple[SurfaceTool, ...]:
        """What stands in the tools array: on OpenAI, natively loaded tools stand in the history instead."""
        in_history = self.policy.promotion == "native" and self.spec.surface is Surface.RESPONSES
        return surface.inline if in_history else surface.tools

    def _flip(self) -> None:
        """Shorten what fell due. It is planned where it happens once per turn, at its boundary."""
        changed = self._history.shorten_results()
        if self.policy.elision_boundary == "turn":
            self._flipped |= changed

    def _suffix(self, surface: ToolSurface, moving: Moving) -> str:
        lead = suffix_lead(self.policy, surface, moving)
        if self.policy.suffix_placement == "last_user":
            # It stands in front of this turn's answers: whatever changes in it re-bills all of them.
            self._lead = lead = lead if self._lead is None else self._lead
        return suffix_text(lead, discovered_text(self.policy, surface))

    def _placed(self, suffix: str) -> tuple[HistoryItem, ...]:
        history = self._history
        match self.policy.suffix_placement:
            case "persisted":
                history.keep_suffix(suffix)
            case "last_user" if history.last_user >= 0:
                items = list(history.items)
                user = items[history.last_user]
                if isinstance(user, UserItem):
                    items[history.last_user] = replace(user, suffix=suffix)
                return tuple(items)
        return tuple(history.items)

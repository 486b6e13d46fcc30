"""Tools that the model has asked about: once promoted, they follow the array in order of discovery."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from coldturn.reference.catalogue import CatalogueTool
from coldturn.reference.policy import Policy
from coldturn.reference.surface.narrowing import Narrowing


@dataclass(slots=True)
class _Discovery:
    row: CatalogueTool
    since: tuple[int, int]


class Discoveries:
    """Discovered tools of one Run; new ones show from the step behind their discovery on."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], _Discovery] = {}

    def add(self, row: CatalogueTool, *, turn: int, step: int) -> None:
        """Note a discovery; a second one of the same tool changes nothing."""
        self._found.setdefault((row.server, row.name), _Discovery(row, (turn, step)))

    def at(self, turn: int, step: int) -> tuple[CatalogueTool, ...]:
        """The rows to show at a step, in order of first discovery."""
        return tuple(found.row for found in self._found.values() if found.since < (turn, step))

    def follow(self, narrowing: Narrowing, inline: Container[tuple[str, str]], policy: Policy) -> None:
        """Take in, at a turn's start, what was removed, edited, or stands in the array by itself now."""
        for pair, found in list(self._found.items()):
            row = narrowing.allowed(*pair)
            # A reference in the history to a definition that is gone would be refused by the provider.
            leaves = policy.removal == "turn" and policy.promotion != "native"
            if pair in inline or (row is None and leaves):
                del self._found[pair]
            elif row is not None and row.hash != found.row.hash:
                found.row = row

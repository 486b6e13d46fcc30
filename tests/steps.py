"""An observer that keeps what it is told of every step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from coldturn.reference.observer import NullObserver, StepInfo


class Steps(NullObserver):
    """Every request of a Run, in order."""

    def __init__(self) -> None:
        self.infos: list[StepInfo] = []

    @contextmanager
    def step(self, info: StepInfo) -> Iterator[Any]:
        """Keep the step and observe nothing else of it."""
        self.infos.append(info)
        with super().step(info) as scope:
            yield scope

    def bodies(self) -> list[dict[str, Any]]:
        """The requests, decoded."""
        return [json.loads(info.body) for info in self.infos]

"""The seam to a language model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from coldturn.reference.prefix.errors import ColdturnError
from coldturn.reference.prefix.model import Surface
from coldturn.reference.records import Record
from coldturn.reference.wire.model import Reply


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One model call: the exact bytes to send, and what a scripted model needs beside them."""

    surface: Surface
    body: bytes
    turn: int
    step: int
    records: Sequence[Record]


class Model(Protocol):
    """Answers a request. A live one posts `body`; a scripted one follows decisions."""

    async def respond(self, request: ModelRequest) -> Reply:
        """Return the reply, normalised."""
        ...


class ScriptExhaustedError(ColdturnError):
    """A scripted model was asked once more than its script has replies."""

    slug = "script-exhausted"

    def __init__(self, replies: int, turn: int, step: int) -> None:
        self.replies = replies
        super().__init__(
            f"the script holds {replies} replies and turn {turn}, step {step} asks for one more; "
            "add a reply, or end the turn with one that calls no tool"
        )


class ScriptedModel:
    """Gives the replies of a script, one a request, and keeps the requests: a model for tests and examples.

    Attributes:
        requests: What was asked, in order.
    """

    def __init__(self, replies: Iterable[Reply]) -> None:
        self._replies = tuple(replies)
        self.requests: list[ModelRequest] = []

    async def respond(self, request: ModelRequest) -> Reply:
        """Return the next reply.

        Raises:
            ScriptExhaustedError: There is none left.
        """
        if len(self.requests) == len(self._replies):
            raise ScriptExhaustedError(len(self._replies), request.turn, request.step)
        self.requests.append(request)
        return self._replies[len(self.requests) - 1]

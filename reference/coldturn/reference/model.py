"""The seam to a language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

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

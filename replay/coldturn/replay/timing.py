"""When an interaction happened: stored in the response of a cassette entry under one extra key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TIMING_KEY = "x-coldturn"
"""Extra keys of a response survive vcrpy's load and save."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Times of one interaction.

    Attributes:
        seq: Position in the order in which requests were sent; entries stand in the order of completion.
        start: Epoch seconds at which the request was sent.
        end: Epoch seconds at which the response ended.
        chunks: Seconds since `start` and length in bytes of each part of the stored body, in order.
        server: The recorder's label of the server that was asked; empty when it has none.
        left_out: Why a body could not be stored; empty when all is there.
    """

    seq: int
    start: float
    end: float
    chunks: tuple[tuple[float, int], ...] = ()
    server: str = ""
    left_out: str = ""

    def to_dict(self) -> dict[str, Any]:
        """What the cassette stores."""
        named = {"server": self.server, "left_out": self.left_out}
        return {
            "seq": self.seq,
            "start": self.start,
            "end": self.end,
            "chunks": [[offset, length] for offset, length in self.chunks],
            **{name: text for name, text in named.items() if text},
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Timing:
        """Read what `to_dict` wrote.

        Raises:
            ValueError: When a field is missing or of the wrong kind.
        """
        try:
            return cls(
                seq=int(value["seq"]),
                start=float(value["start"]),
                end=float(value["end"]),
                chunks=tuple((float(offset), int(length)) for offset, length in value.get("chunks", ())),
                server=str(value.get("server", "")),
                left_out=str(value.get("left_out", "")),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(
                f"the {TIMING_KEY} of a response is not seq, start, end, chunks: {error}"
            ) from error

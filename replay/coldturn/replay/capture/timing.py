"""When an interaction happened: stored in the response of a cassette entry under one extra key."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

TIMING_KEY = "x-coldturn"
"""Extra keys of a response survive vcrpy's load and save."""

LATEST = datetime(2200, 1, 1, tzinfo=UTC).timestamp()
"""Epoch seconds. Behind it nanoseconds since 1970 soon leave 64 bits; before 1970 nobody recorded."""


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
            ValueError: When a field is missing or of the wrong kind, or a time is none that a clock shows.
        """
        try:
            timing = cls(
                seq=_whole(value["seq"]),
                start=_number(value["start"]),
                end=_number(value["end"]),
                chunks=tuple((_number(offset), _whole(length)) for offset, length in value.get("chunks", ())),
                server=_text(value.get("server", "")),
                left_out=_text(value.get("left_out", "")),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"the {TIMING_KEY} of a response is not seq, start, end, chunks: {error}"
            ) from error
        if not 0 <= timing.start <= timing.end <= LATEST:
            raise ValueError(f"it lasted from {timing.start:g} to {timing.end:g}, which no clock shows")
        if any(offset < 0 or length < 0 for offset, length in timing.chunks):
            raise ValueError("a part of its response came before it or has less than no bytes")
        return timing


def _number(value: object) -> float:
    if type(value) is float and -LATEST <= value <= LATEST:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise TypeError(f"{value!r:.40} is no number")
    return float(value)


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r:.40} is no whole number")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value

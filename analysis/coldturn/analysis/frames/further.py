"""What an analysis writes beside the spans: columns of `spans.parquet` that never stand on a span."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from coldturn.analysis.breaks.findings import Verdict
from coldturn.analysis.estimates.longest_prefix import LONGEST_PREFIX, LongestPrefix
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.traces import names
from coldturn.traces.packed import PackedSegmentsError, unpack
from coldturn.traces.parquet import Types
from coldturn.traces.span_reader import SpanRow

REPORTED: Final[Mapping[str, str]] = {
    "input_tokens_reported": names.INPUT_TOKENS,
    "read_tokens_reported": names.CACHE_READ_TOKENS,
    "written_tokens_reported": names.CACHE_WRITE_TOKENS,
    "output_tokens_reported": names.OUTPUT_TOKENS,
}
"""Usage under one name each, whichever the span has it under."""

ESTIMATED: Final = ("input_tokens_estimated", "ceiling_estimated", "read_estimated", "written_estimated")

FURTHER: Final[Types] = {
    "source": pl.String,
    **dict.fromkeys(REPORTED, pl.Int64),
    "rules": pl.String,
    **dict.fromkeys(ESTIMATED, pl.Int64),
    "lost_tokens_estimated": pl.Int64,
    "verdict": pl.String,
    "judged_cause": pl.String,
}
"""The columns. `judged_cause`: of a miss that bytes alone do not explain."""


@dataclass(slots=True)
class SpanFacts:
    """What can be said of the spans of one trace; feed it every span once.

    Estimates follow the rule ``longest-prefix-1024-128``, with one cache per (recording, policy) and scope,
    which all its Runs share, in the order in which spans are fed. They are null where a span carries no
    segments.

    Attributes:
        source: What the trace is called.
        tell: Is told of spans whose segments disagree; when None, that is an error.
    """

    source: str = ""
    tell: Callable[[ColdturnError], object] | None = None
    _caches: dict[tuple[str, str], LongestPrefix] = field(default_factory=lambda: defaultdict(LongestPrefix))

    def of(self, span: SpanRow) -> dict[str, Any]:
        """The further columns of the next span.

        Raises:
            PackedSegmentsError: Its segments disagree, and `tell` is None.
        """
        found: dict[str, Any] = {"source": self.source}
        if span.attributes.get(names.OPERATION) != "chat":
            return found
        found |= {column: span.reported(name) for column, name in REPORTED.items()}
        if names.SCHEMA not in span.attributes:
            return found
        return found | {"verdict": _verdict(span)} | self._estimates(span)

    def _estimates(self, span: SpanRow) -> dict[str, Any]:
        try:
            packed = unpack(span)
        except PackedSegmentsError as error:
            if self.tell is None:
                raise
            self.tell(error)
            return {}
        if packed is None:
            return {}
        given = span.attributes
        key = str(given.get(names.REPLAY_CASSETTE) or ""), str(given.get(names.REPLAY_POLICY) or "")
        common = given.get(names.COMMON_BYTES)
        made = self._caches[key].observe(
            [bytes.fromhex(digest) for digest in packed.hashes],
            packed.sizes,
            common if isinstance(common, int) else 0,
            str(given.get(names.CACHE_SCOPE)),
        )
        return {
            "rules": LONGEST_PREFIX,
            "input_tokens_estimated": made.input_tokens_estimated,
            "ceiling_estimated": made.ceiling_estimated,
            "read_estimated": made.read_estimated,
        }


def _verdict(span: SpanRow) -> str | None:
    """What the bytes of the pair allow to say; None for a request that broke nothing."""
    if names.HARMLESS_CAUSE in span.attributes:
        return Verdict.BROKEN_HARMLESS
    cause = span.attributes.get(names.BREAK_CAUSE)
    if cause is None:
        return None
    if span.attributes.get(names.BREAK_PLANNED):
        return Verdict.PLANNED
    return Verdict.UNKNOWN if cause == "unknown" else Verdict.BROKEN


def sent_order(span: SpanRow) -> tuple[str, str, int, str, int, int]:
    """Sorts chat spans in the order in which requests were sent: a file holds them as they ended."""
    given = span.attributes
    recording, policy, run = (
        str(given.get(name) or "") for name in (names.REPLAY_CASSETTE, names.REPLAY_POLICY, names.RUN_ID)
    )
    turn, step = (_whole(given.get(name)) for name in (names.TURN_INDEX, names.STEP_INDEX))
    return recording, policy, span.start, run, turn, step


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0

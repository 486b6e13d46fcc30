"""`estimate --shards N`: as many passes over the inputs, each for a share of what they hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TypeAlias

from coldturn.analysis.estimates.estimation import Estimation
from coldturn.analysis.estimates.shares import WHOLE, Share, Spool
from coldturn.replay.cli.common import read_all, say
from coldturn.replay.cli.estimate_inputs import EstimateInputs
from coldturn.replay.cli.exit_codes import ExitCode
from coldturn.replay.cli.inputs import Input
from coldturn.replay.cli.kept_inputs import KeptInputs
from coldturn.traces.kinds import InputKind

MOST_SHARDS = 256
"""Each share holds a file open while the report is put together."""

Start: TypeAlias = Callable[[Share, Spool | None], EstimateInputs]
"""Makes the reader of one pass."""


def read_in_shares(
    start: Start, shards: int, inputs: Sequence[str], kind: InputKind | None
) -> tuple[Estimation, ExitCode]:
    """Read all inputs, once or in several passes; the report is the same, whatever their number.

    Args:
        start: Makes the reader of one pass.
        shards: How many passes.
        inputs: What the user typed.
        kind: What the inputs are; recognised when None.

    Returns:
        What holds the report, and the exit code that reading alone leads to.

    Raises:
        InputChangedError: The passes did not read the same.
    """
    if shards == 1:
        reader = start(WHOLE, None)
        return reader.estimation, read_all(reader.estimation, inputs, kind, first=reader.take)
    with ExitStack() as stack:
        kept = KeptInputs(stack)
        spools = [stack.enter_context(Spool()) for _ in range(shards)]
        unanswered = []
        for number, spool in enumerate(spools):
            reader = start(Share(number, shards), spool)
            reading = read_all(
                reader.estimation,
                inputs,
                kind,
                first=partial(_take, reader, kept),
                note=say if number == 0 else _say_nothing,
            )
            reader.estimation.end_pass()
            unanswered += reader.estimation.unanswered
        reader.estimation.unanswered[:] = unanswered
        reader.estimation.gather(spools)
        return reader.estimation, reading


def _take(reader: EstimateInputs, kept: KeptInputs, one: Input) -> bool:
    return reader.take(kept.again(one))


def _say_nothing(_: str) -> None:
    """The first pass has said it."""

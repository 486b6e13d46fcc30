"""How long `coldturn --help` takes, held against a bare interpreter that imports what draws the help."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from time import perf_counter

ROUNDS = 7
LIMIT = 2.5
_HELP = (sys.executable, "-m", "coldturn.replay.cli.app", "--help")
_FLOOR = (sys.executable, "-c", "import typer, rich.table, rich.panel, rich.console")


def run() -> Mapping[str, float]:
    """Best of several runs of each, in seconds, and their ratio."""
    help_seconds = min(_seconds(_HELP) for _ in range(ROUNDS))
    floor_seconds = min(_seconds(_FLOOR) for _ in range(ROUNDS))
    return {
        "help_seconds": help_seconds,
        "floor_seconds": floor_seconds,
        "help_ratio": help_seconds / floor_seconds,
        "help_ratio_limit": LIMIT,
    }


def _seconds(command: tuple[str, ...]) -> float:
    start = perf_counter()
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 -- our own interpreter and words
    return perf_counter() - start

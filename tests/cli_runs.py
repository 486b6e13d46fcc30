"""The program run inside the test's process, with what it printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from coldturn.replay.cli.app import main


@dataclass(frozen=True)
class Ran:
    """How the program ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """Standard output, decoded."""
        value: dict[str, Any] = json.loads(self.out)
        return value


Run = Callable[..., Ran]


def runner(capsys: pytest.CaptureFixture[str]) -> Run:
    """A function that runs ``coldturn ARGUMENTS``; a traceback fails the test."""

    def run(*arguments: str) -> Ran:
        with pytest.raises(SystemExit) as left:
            main(arguments)
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return Ran(int(left.value.code or 0), printed.out, printed.err)

    return run

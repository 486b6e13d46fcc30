"""A recorder that never stands in the way of the traffic it records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vcr.request import Request

from coldturn.replay.capture.recorder import Recorder
from coldturn.replay.errors import RecordingClosedError


class SteadyRecorder(Recorder):
    """Loses an exchange that cannot be written, says so once, and goes on.

    Attributes:
        lost: Exchanges that are in no file.
        written: Exchanges that are.
    """

    def __init__(self, path: str | Path, notice: Callable[[str], None], **options: Any) -> None:  # noqa: ANN401 - those of Recorder
        """Open a recording; `notice` is told in a sentence when it stops and when it goes on."""
        super().__init__(path, **options)
        self.lost = 0
        self.written = 0
        self._notice = notice
        self._failing = False

    def append(self, request: Request, response: Mapping[str, Any]) -> None:
        """Record one finished exchange, or count it as lost."""
        try:
            super().append(request, response)
        except RecordingClosedError:
            self.lost += 1
        except OSError as error:
            self.lost += 1
            if not self._failing:
                reason = (error.strerror or str(error)).lower()
                self._notice(
                    f"{self.path} cannot be written ({reason}): traffic goes on, and is recorded again "
                    "as soon as it can be"
                )
            self._failing = True
        else:
            self.written += 1
            if self._failing:
                self._notice(f"{self.path} is written again; {self.lost} exchanges are missing from it")
            self._failing = False

    def summary(self) -> str:
        """What came of it, in a sentence."""
        said = [f"{self.written} exchanges recorded in {self.path}"]
        if self.lost:
            said.append(f"{self.lost} could not be written")
        if counts := self.redaction.counts:
            kinds = ", ".join(f"{kind} {number}" for kind, number in sorted(counts.items()))
            said.append(f"masked values: {kinds}")
        return "; ".join(said)

"""Recordings that tests used, measured once each; what a worker tells the controller of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from coldturn.reference.prefix.errors import ColdturnError
from coldturn.replay.check.measured import Measured
from coldturn.replay.check.places import Places
from coldturn.replay.check.recorded import measure_exchanges, measure_file
from coldturn.traces.exchange import EntryError, Exchange


class Looked(msgspec.Struct, frozen=True):
    """One recording that was looked at.

    Attributes:
        key: Its name in the baseline.
        measured: What it shows; None when it holds no request to a model, or could not be read.
        problem: Why it could not be read.
    """

    source: str
    key: str
    measured: Measured | None
    problem: str | None = None


class Use(msgspec.Struct, frozen=True):
    """A recording as one test used it.

    Attributes:
        test: The test's node id; empty for recordings that the settings name.
        reason: Why the test moves its prefix, if it says so.
        told: What is wrong with it stands in the test's own report.
    """

    looked: Looked
    test: str
    reason: str | None = None
    told: bool = False


@dataclass(slots=True)
class Recordings:
    """Looks at each file once as long as it does not change.

    Attributes:
        root: Names are told from here.
    """

    root: Path
    places: Places
    lint: bool
    _seen: dict[tuple[Path, int, int], Looked] = field(default_factory=dict)

    def look_at(self, path: Path) -> Looked | None:
        """Measure a recording; None when there is no such file, as when a test recorded nothing."""
        try:
            state = path.stat()
        except OSError:
            return None
        at = path, state.st_mtime_ns, state.st_size
        if at not in self._seen:
            self._seen[at] = self._measured(path)
        return self._seen[at]

    def of_sent(self, path: Path, sent: Iterable[Exchange | EntryError]) -> Measured | None:
        """Measure what was sent in place of what a cassette holds; None without a request to a model."""
        return measure_exchanges(sent, path, self.places, name=self.name(path), lint=self.lint)

    def name(self, path: Path) -> str:
        """What reports call it: its path from the root folder, where it lies below that."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)

    def _measured(self, path: Path) -> Looked:
        name, key = self.name(path), self.places.key(str(path))
        try:
            found = measure_file(path, self.places, name=name, lint=self.lint)
        except ColdturnError as error:
            return Looked(name, key, None, str(error))
        return Looked(name, key, found)


def packed(uses: Iterable[Use]) -> str:
    """Uses as text, which is what a worker may send."""
    return msgspec.json.encode(list(uses)).decode()


def unpacked(text: str) -> list[Use]:
    """Uses that a worker sent."""
    return msgspec.json.decode(text, type=list[Use])

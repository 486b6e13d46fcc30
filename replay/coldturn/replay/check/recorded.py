"""Recorded requests as they are, measured recording by recording."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from coldturn.analysis.breaks.explain import Compared, Explainer
from coldturn.analysis.breaks.findings import ReadError
from coldturn.analysis.breaks.pair import PairOptions
from coldturn.analysis.sources import was_refused
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.replay.check.measured import RECORDED, Measured
from coldturn.replay.check.measuring import Measure
from coldturn.replay.check.places import Places
from coldturn.traces.errors import NoRequestsError
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.readers import read_exchanges

_BEGINNINGS = frozenset({"new_conversation", "side_call"})


@dataclass(slots=True)
class Collector:
    """Takes exchanges input by input, as the commands' reader hands them out.

    Attributes:
        places: Turns names of inputs into those of the baseline.
        content: Whether messages may repeat prompt text.
        lint: Whether the stable part of prompts is looked through.
        found: What has been measured, in the order of the inputs; nothing for one without model requests.
        errors: What could not be read, and inputs that held no request.
        sessions: Inputs that hold MCP messages: they can be replayed.
    """

    places: Places
    content: bool = True
    lint: bool = True
    found: list[Measured] = field(default_factory=list)
    errors: list[ReadError] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    _explainer: Explainer | None = None
    _measure: Measure | None = None
    _holds_mcp: bool = False

    def add(self, item: Exchange | EntryError) -> None:
        """The next exchange of its source."""
        explainer = self._explainer or self._begin()
        if isinstance(item, Exchange) and item.kind is ExchangeKind.MCP:
            self._holds_mcp = True
        explainer.add(item)

    def fail(self, source: str, error: ColdturnError) -> None:
        """An input could not be read, or not to its end: what was read of it is no whole recording."""
        (self._explainer or self._begin()).fail(source, error)
        self._end()

    def finish(self, source: str) -> None:
        """An input is at its end."""
        explainer = self._explainer or self._begin()
        explainer.finish(source)
        measure = self._measure
        if measure is not None and measure.requests:
            self.found.append(measure.measured(source, self.places.key(source), RECORDED))
        if self._holds_mcp:
            self.sessions.append(source)
        self._end()

    def _begin(self) -> Explainer:
        measure = Measure(content=self.content, lint=self.lint)

        def compared(seen: Compared) -> None:
            measure.request(
                seen.request,
                number=seen.number,
                first=_begins(seen),
                common_bytes=_common(seen),
                scope=f"{seen.request.surface}|{seen.request.model}",
                cached=not was_refused(seen.exchange),
            )
            if seen.found is not None:
                measure.broke(seen.found)

        self._measure = measure
        self._explainer = Explainer(PairOptions(content=self.content), compared=compared)
        return self._explainer

    def _end(self) -> None:
        if self._explainer is not None:
            self.errors += self._explainer.report.errors
        self._explainer = self._measure = None
        self._holds_mcp = False


def _begins(seen: Compared) -> bool:
    """Whether a conversation begins there, be it beside the one that it is most like."""
    return seen.parent is None or (seen.found is not None and not _BEGINNINGS.isdisjoint(seen.found.kinds))


def _common(seen: Compared) -> int:
    """Content bytes in common with the parent, as far as they can be told."""
    if seen.parent_request is None:
        return 0
    if seen.found is not None:
        return seen.found.offset or 0
    return min(seen.parent_request.content_bytes, seen.request.content_bytes)


def measure_file(
    path: Path, places: Places, *, name: str | None = None, lint: bool = True
) -> Measured | None:
    """Measure one recording.

    Args:
        path: The recording.
        places: Names it for the baseline.
        name: What reports call it; its path when not given.
        lint: Whether the stable part of prompts is looked through.

    Returns:
        What it shows; None when it holds no request to a model.

    Raises:
        InputError: It cannot be read.
    """
    return measure_exchanges(read_exchanges(path, name=str(path)), path, places, name=name, lint=lint)


def measure_exchanges(
    exchanges: Iterable[Exchange | EntryError],
    path: Path,
    places: Places,
    *,
    name: str | None = None,
    lint: bool = True,
) -> Measured | None:
    """Measure exchanges whose source is `path` as the recording that lies there; else as `measure_file`."""
    collector = Collector(places, lint=lint)
    for item in exchanges:
        collector.add(item)
    collector.finish(str(path))
    return replace(collector.found[0], source=name or str(path)) if collector.found else None


def real_errors(errors: Iterable[ReadError]) -> Iterator[ReadError]:
    """Errors without those that only tell that an input holds no request to a model."""
    return (error for error in errors if error.slug != NoRequestsError.slug)

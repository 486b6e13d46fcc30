"""What a report holds: views of requests with the parts of their prompts, servers, and tables of replays."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from coldturn.analysis.breaks.findings import ReadError
from coldturn.analysis.rates import rate
from coldturn.analysis.report.parts import PartTable


class ViewKind(StrEnum):
    """Where a view's requests come from."""

    RECORDED = "recorded"
    TRACED = "traced"
    REPLAYED = "replayed"


@dataclass(slots=True)
class Conversation:
    """Requests that grew out of one another.

    Attributes:
        source: The input that it was read from.
        fidelity: The lowest of its requests; None where the input does not say.
    """

    id: str
    source: str
    provider: str | None = None
    surface: str | None = None
    model: str | None = None
    fidelity: str | None = None
    requests: int = 0


@dataclass(frozen=True, slots=True)
class Columns:
    """One request's tokens, in columns that stay apart. None means unknown.

    Attributes:
        input_reported: The provider's, as are `read_reported` and `written_reported`.
        ceiling_estimated: What a cache without bounds could have served.
        read_estimated: What the rules say it should have served.
    """

    input_reported: int | None = None
    read_reported: int | None = None
    written_reported: int | None = None
    input_estimated: int | None = None
    ceiling_estimated: int | None = None
    read_estimated: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One request.

    Attributes:
        number: Ordinal among the model requests of its source, from 0.
        entry: Index in the file, where it has one.
        conversation: Index into the view's conversations.
        parent: Index of the row that it was compared with; None for a first one, or when that is forgotten.
        started: Epoch seconds.
        bytes: Content bytes of the whole request.
        common: Content bytes in common with the parent from the start; None without a parent.
        exact: Whether `common` is known to the byte, and not only to a block's end.
        parts: Ids in the report's table of parts, in render order.
        finding: The break, in the keys of ``coldturn.explain/1``; None when the prefix held.
        settings: Settings in which it differs from the parent.
        flags: What makes its estimates worth less.
        rules: Name of the rules behind `read_estimated`.
        unseen: Zones that were sent and that the recording did not keep.
    """

    source: str
    number: int
    entry: int | None
    conversation: int
    parent: int | None
    turn: int | None
    step: int | None
    started: float | None
    bytes: int
    common: int | None
    exact: bool
    tokens: Columns
    parts: Sequence[int]
    finding: Mapping[str, Any] | None = None
    settings: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    rules: str | None = None
    unseen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool that prompts define.

    Attributes:
        bytes: Content bytes of its largest definition.
        shown_in: Requests that define it.
        calls: Calls of it that the requests show, under this name.
    """

    name: str
    bytes: int
    shown_in: int
    calls: int


@dataclass(frozen=True, slots=True)
class Edit:
    """A tool whose definition changed; the texts are None where only the name is known, or may be shown."""

    name: str
    before: str | None = None
    was: str | None = None
    now: str | None = None


@dataclass(frozen=True, slots=True)
class CatalogueVersion:
    """A server's list of tools, as it stood from some moment on.

    Attributes:
        when: In words: the turn, or the entry of the recording.
        bytes: Of all definitions as compact JSON; None where only names are known.
    """

    number: int
    when: str
    tools: int
    bytes: int | None
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[Edit, ...] = ()


@dataclass(slots=True)
class Server:
    """One MCP server.

    Attributes:
        tiers: How it was shown, in the order in which that changed; empty where that is not known.
        prompt_bytes: The most bytes that it took in a prompt; None where that is not known.
        calls: Calls of its tools.
    """

    name: str
    tiers: list[str] = field(default_factory=list)
    prompt_bytes: int | None = None
    calls: int = 0
    versions: list[CatalogueVersion] = field(default_factory=list)


@dataclass(slots=True)
class View:
    """Requests under one heading: all that was recorded, or one recording under one policy."""

    name: str
    kind: ViewKind
    conversations: list[Conversation] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    servers: list[Server] = field(default_factory=list)
    tools: list[ToolUse] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def totals(self) -> dict[str, Any]:
        """Sums and rates; a rate is one of sums over the requests that have both of its numbers."""
        tokens = [row.tokens for row in self.rows]
        held = [row.common for row in self.rows]
        return {
            "requests": len(self.rows),
            "bytes": sum(row.bytes for row in self.rows),
            "common_bytes": sum(common or 0 for common in held),
            "input_estimated": _sum(one.input_estimated for one in tokens),
            "input_reported": _sum(one.input_reported for one in tokens),
            "read_estimated": _sum(one.read_estimated for one in tokens),
            "read_reported": _sum(one.read_reported for one in tokens),
            "hit_rate_ceiling_estimated": _rate(
                (one.ceiling_estimated, one.input_estimated) for one in tokens
            ),
            "hit_rate_estimated": _rate((one.read_estimated, one.input_estimated) for one in tokens),
            "hit_rate_reported": _rate((one.read_reported, one.input_reported) for one in tokens),
            "rules": sorted({row.rules for row in self.rows if row.rules is not None}),
        }


@dataclass(frozen=True, slots=True)
class Table:
    """A table of replays: what policies, or single choices of one, are worth.

    Attributes:
        base: The policy whose choices were made otherwise; None when policies are compared.
        rows: Figures by name; those that were computed carry ``estimated``.
    """

    source: str
    base: str | None
    rules: str
    rows: tuple[Mapping[str, Any], ...]


@dataclass(slots=True)
class ReportData:
    """Everything that a page shows.

    Attributes:
        content: Whether prompt text may stand in it.
    """

    parts: PartTable = field(default_factory=PartTable)
    views: list[View] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    errors: list[ReadError] = field(default_factory=list)
    content: bool = True

    @property
    def requests(self) -> int:
        """Requests of all views."""
        return sum(len(view.rows) for view in self.views)


def packed(ids: Sequence[int]) -> array[int]:
    """Ids without an object for each: a report of thousands of requests holds millions."""
    return array("L", ids)


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _rate(pairs: Iterable[tuple[int | None, int | None]]) -> float | None:
    known = [(part, whole) for part, whole in pairs if part is not None and whole is not None]
    return rate(sum(part for part, _ in known), sum(whole for _, whole in known)) if known else None

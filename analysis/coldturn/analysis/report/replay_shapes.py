"""The published shape of replays (``coldturn.replay/1``), as far as a report reads it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

SCHEMA = "coldturn.replay/1"


class _Shape(BaseModel):
    """Keys are only ever added to the published shapes."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class LaterBreak(_Shape):
    """A cause behind the first one."""

    cause: str
    zone: str | None = None
    path: str | None = None
    block_offset: int | None = None


class BesideBreak(_Shape):
    """A cause that fits as well."""

    cause: str
    confidence: str | None = None
    evidence: str | None = None


class FoundBreak(_Shape):
    """A break in the keys of ``coldturn.explain/1``, those left out that its row holds."""

    zone: str | None
    segment: str | None
    path: str | None
    side: str
    section: str | None
    offset: int | None
    block_offset: int | None
    wire_offset: int | None
    cause: str
    confidence: str | None
    planned: bool
    verdict: str
    lost_bytes: int
    lost_tokens_estimated: int
    delta_bytes: int | None
    names: list[str]
    kinds: list[str]
    before: str | None
    was: str | None
    now: str | None
    later: list[LaterBreak]
    remedy: str | None
    vendor: dict[str, str] | None = None
    alongside: list[BesideBreak] = []
    evidence: str | None = None
    rules: str | None = None
    tiers_lost: list[str] = []
    reasoning_invalidated: bool = False
    cost_amount_estimated: float | None = None
    currency: str | None = None
    anchor: str | None = None


class Step(_Shape):
    """One request."""

    turn: int
    step: int
    input_bytes: int
    input_tokens_estimated: int
    common_bytes: int
    found: FoundBreak | None = Field(alias="break")
    read_estimated: dict[str, int]


class Breaks(_Shape):
    """Counted breaks."""

    planned: int
    unplanned: int
    in_system_text: int


class PolicyReplay(_Shape):
    """A recording under one policy."""

    policy: str
    turns: int
    steps: list[Step]
    extra_steps: int
    input_bytes: int
    input_tokens_estimated: int
    breaks: Breaks
    hit_rate_ceiling_estimated: float | None
    hit_rate_estimated: dict[str, float | None]
    uncached_tokens_estimated: dict[str, int]
    trace: str | None


class Flip(_Shape):
    """One choice made otherwise."""

    field: str
    value: str
    uncached_tokens_delta_estimated: int
    hit_rate_delta_estimated: float | None


class Connection(_Shape):
    """One MCP server."""

    server: str
    calls: int


class RecordingReplay(_Shape):
    """A recording under every policy that was asked for."""

    source: str
    connections: list[Connection]
    policies: list[PolicyReplay]
    ablation: list[Flip] | None = None


class Unread(_Shape):
    """Something that could not be replayed."""

    source: str
    entry: int | None = None
    message: str


class Results(_Shape):
    """The whole document."""

    recordings: list[RecordingReplay]
    errors: list[Unread] = []

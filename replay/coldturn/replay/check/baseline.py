"""The baseline: what of a set of recordings has been looked at and accepted (``coldturn.lock/1``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from coldturn.analysis.estimates.longest_prefix import LONGEST_PREFIX
from coldturn.replay.check.measured import Key, Measured, PromptHead, SeenBreak, SeenLint

SCHEMA_NAME: Final = "coldturn.lock"
VERSION: Final = 1
DEFAULT_NAME: Final = "coldturn.lock.json"

Name: TypeAlias = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Count: TypeAlias = Annotated[int, Field(ge=0)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)] | None
_MOST_MARKS = 24

MIGRATIONS: Final[Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]]] = {}
"""From a version to the next one: how a baseline of that version is brought up."""


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Exemption(_Value):
    """A break or lint that a person has decided to live with, and why.

    Attributes:
        source: The recording, from the baseline's folder.
        request: Only this one; every request when None.
        cause: Of the break, or what the lint names.
        reason: For whoever reviews it.
        policy: Only under this one.
    """

    source: Name
    cause: Name
    reason: Name
    request: Count | None = None
    policy: Name | None = None


class KnownPrompt(_Value):
    """Tools and system text that conversations begin with, as digests.

    Attributes:
        prompt: 12 hex digits.
        marks: ``END:HASH`` of some segments, parted by spaces: tells how much of a changed prompt is old.
    """

    prompt: Name
    tools_bytes: Count
    system_bytes: Count
    marks: str

    @classmethod
    def of(cls, head: PromptHead) -> KnownPrompt:
        """What is kept of a prompt: at most 24 marks, the last one among them."""
        step = -(-len(head.marks) // _MOST_MARKS)
        kept = head.marks[::-1][::step][::-1]
        marks = " ".join(f"{end}:{digest}" for end, digest in kept)
        return cls(
            prompt=head.digest, tools_bytes=head.tools_bytes, system_bytes=head.system_bytes, marks=marks
        )

    def common_bytes(self, head: PromptHead) -> int:
        """Content bytes from the start that `head` is known to share, to a segment."""
        theirs = {f"{end}:{digest}": end for end, digest in head.marks}
        return max((theirs[mark] for mark in self.marks.split() if mark in theirs), default=0)


class KnownBreak(_Value):
    """An accepted break, wherever it comes again in a recording.

    Attributes:
        path: JSON path without indices.
        requests: Where it was when it was accepted.
    """

    cause: Name
    zone: Name
    path: str
    requests: Annotated[list[Count], Field(min_length=1)]

    @property
    def key(self) -> Key:
        """What it is compared by."""
        return self.cause, self.zone, self.path


class KnownLint(_Value):
    """An accepted clock, id or path in the stable part of a prompt."""

    cause: Name
    zone: Name
    place: str

    @property
    def key(self) -> Key:
        """What it is compared by."""
        return self.cause, self.zone, self.place


class KnownRecording(_Value):
    """One line: a recording as one policy sends it.

    Attributes:
        marked: Whether any request has a cache marker; written where one has.
    """

    source: Name
    policy: Name
    requests: Count
    hit_rate_estimated: Share
    hit_rate_ceiling_estimated: Share
    prompts: list[Name]
    breaks: list[KnownBreak]
    lints: list[KnownLint]
    marked: bool = False

    @property
    def id(self) -> tuple[str, str]:
        """What it is found by."""
        return self.source, self.policy


class Baseline(_Value):
    """Everything that has been accepted.

    Attributes:
        rules: By which hit rates are estimated.
    """

    schema_: Literal["coldturn.lock/1"] = Field(default="coldturn.lock/1", alias="schema")
    rules: Literal["longest-prefix-1024-128"] = LONGEST_PREFIX
    exemptions: list[Exemption] = []
    prompts: list[KnownPrompt] = []
    recordings: list[KnownRecording] = []

    def known(self) -> dict[tuple[str, str], KnownRecording]:
        """Recordings by what they are found by."""
        return {one.id: one for one in self.recordings}


def known_breaks(breaks: tuple[SeenBreak, ...]) -> list[KnownBreak]:
    """Breaks as a baseline keeps them: those of one key together, sorted."""
    requests: dict[Key, list[int]] = {}
    for one in breaks:
        requests.setdefault(one.key, []).append(one.request)
    return [
        KnownBreak(cause=cause, zone=zone, path=path, requests=sorted(at))
        for (cause, zone, path), at in sorted(requests.items())
    ]


def known_lints(lints: tuple[SeenLint, ...]) -> list[KnownLint]:
    """Lints as a baseline keeps them, sorted."""
    keys = sorted({one.key for one in lints})
    return [KnownLint(cause=cause, zone=zone, place=place) for cause, zone, place in keys]


def known_recording(
    measured: Measured, breaks: tuple[SeenBreak, ...], lints: tuple[SeenLint, ...]
) -> KnownRecording:
    """A recording's line, with the breaks and lints of it that no exemption covers."""
    return KnownRecording(
        source=measured.key,
        policy=measured.policy,
        requests=measured.requests,
        hit_rate_estimated=measured.hit_rate_estimated,
        hit_rate_ceiling_estimated=measured.ceiling_rate_estimated,
        prompts=sorted(head.digest for head in measured.heads),
        breaks=known_breaks(breaks),
        lints=known_lints(lints),
        marked=measured.marked,
    )

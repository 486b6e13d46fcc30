"""What one recording shows, as recorded or replayed under a policy: the values that a gate compares."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from coldturn.analysis.rates import rate

RECORDED = "recorded"
"""Stands in place of a policy's name for requests as they were recorded."""

Key: TypeAlias = tuple[str, str, str]
"""What makes two breaks the same one in two recordings: cause, zone, and the place without indices."""

_INDEX = re.compile(r"\[\d+\]")
_DIGITS = 4


def place_of(path: str | None) -> str:
    """A JSON path without its indices, which move whenever a session is recorded anew."""
    return "" if path is None else _INDEX.sub("[]", path)


@dataclass(frozen=True, slots=True)
class SeenBreak:
    """One unplanned break.

    Attributes:
        request: Ordinal among the model requests of its recording, from 0.
        rule: It breaks a rule of planned breaks: old results were shortened within a turn, or twice.
        message: One sentence for people.
    """

    request: int
    cause: str
    zone: str
    path: str | None
    rule: bool
    message: str

    @property
    def key(self) -> Key:
        """What it is compared by."""
        return self.cause, self.zone, place_of(self.path)


@dataclass(frozen=True, slots=True)
class SeenLint:
    """A clock, an id or a path in the stable part of a prompt, at its first request.

    Attributes:
        cause: ``time``, ``date``, ``id``, ``temp_path`` or ``git_state``.
        section: Nearest Markdown heading or tag.
    """

    request: int
    cause: str
    zone: str
    path: str
    section: str | None
    message: str

    @property
    def key(self) -> Key:
        """What it is compared by."""
        return self.cause, self.zone, f"{place_of(self.path)} {self.section or ''}".rstrip()


@dataclass(frozen=True, slots=True)
class PromptHead:
    """Tools and system text of a conversation's first request.

    Attributes:
        digest: 12 hex digits over both.
        marks: End of each segment in content bytes, with 8 hex digits over everything up to there.
    """

    digest: str
    tools_bytes: int
    system_bytes: int
    marks: tuple[tuple[int, str], ...]

    @property
    def bytes(self) -> int:
        """Content bytes of both."""
        return self.tools_bytes + self.system_bytes


@dataclass(frozen=True, slots=True)
class Measured:
    """One recording as one policy sends it.

    Attributes:
        source: Its name as the user gave it.
        key: Its path from the baseline's folder, with forward slashes.
        policy: A policy's name, or `RECORDED`.
        requests: Model requests.
        heads: One for each different prompt that a conversation begins with.
        hidden: Requests with breaks that stand behind or beside another: still there, and not counted.
        input_estimated: Estimated tokens of all requests; `ceiling_estimated` of the prefixes that repeat an
            earlier request, `read_estimated` what the rule lets a cache serve of them.
        marked: Whether any request has a cache marker.
    """

    source: str
    key: str
    policy: str
    requests: int
    breaks: tuple[SeenBreak, ...]
    lints: tuple[SeenLint, ...]
    heads: tuple[PromptHead, ...]
    input_estimated: int
    ceiling_estimated: int
    read_estimated: int
    hidden: tuple[tuple[int, Key], ...] = ()
    marked: bool = False

    @property
    def id(self) -> tuple[str, str]:
        """What its line in the baseline is found by."""
        return self.key, self.policy

    @property
    def hit_rate_estimated(self) -> float | None:
        """Share of the input that a cache serves by the rule; None without input."""
        return _rounded(rate(self.read_estimated, self.input_estimated))

    @property
    def ceiling_rate_estimated(self) -> float | None:
        """Share of the input that repeats an earlier request from its start; None without input."""
        return _rounded(rate(self.ceiling_estimated, self.input_estimated))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)

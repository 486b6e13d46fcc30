"""The base of every error that coldturn raises on purpose, and those of the prefix core."""

from __future__ import annotations


class ColdturnError(Exception):
    """An error a user can act on: one sentence that says what, where and what to try.

    Attributes:
        slug: Stable name; ``docs/errors.md`` explains it under that heading.
    """

    slug = "error"


class UnreadableBodyError(ColdturnError):
    """A request body that is no JSON object, or none of the surfaces we know."""

    slug = "unreadable-body"

    def __init__(self, reason: str, *, offset: int | None = None) -> None:
        self.reason = reason
        self.offset = offset
        at = "" if offset is None else f" at byte {offset}"
        super().__init__(f"the request body cannot be read{at}: {reason}")

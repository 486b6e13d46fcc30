"""Secrets that are known by value are blotted out where they would be written down."""

from __future__ import annotations

from collections.abc import Iterable

SHORTEST_SECRET = 8
"""Shorter values are placeholders such as ``none``, and stand in ordinary text."""


class Redaction:
    """Replaces exact values by as many asterisks, so that offsets in what is kept stay true."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Take secrets; those of fewer than `SHORTEST_SECRET` characters are no secrets."""
        # Longest first: a secret may begin with another one.
        values = sorted(
            {one.encode() for one in secrets if len(one) >= SHORTEST_SECRET}, key=len, reverse=True
        )
        self._values = values

    def bytes(self, data: bytes) -> bytes:
        """Give `data` without secrets, as long as it was."""
        for value in self._values:
            data = data.replace(value, b"*" * len(value))
        return data

    def text(self, text: str) -> str:
        """Give `text` without secrets."""
        return self.bytes(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

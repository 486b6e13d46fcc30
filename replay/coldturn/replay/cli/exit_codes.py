"""What the program's exit code says."""

from __future__ import annotations

from enum import IntEnum

INTERRUPTED = 130
"""What shells report of a program that Ctrl-C ended."""

BROKEN_PIPE = 141
"""What shells report of a program whose reader has gone."""


class ExitCode(IntEnum):
    """Exit codes, the same for every command."""

    FINE = 0
    FINDING = 1
    """A regression or finding that the user asked to fail on."""
    UNUSABLE = 2
    """Wrong usage, or an input that cannot be read."""
    CANNOT_EVALUATE = 3
    """Rules or data are missing: numbers only, where bytes are needed."""

"""The words of the plugin's option, and whether they may be obeyed."""

from __future__ import annotations

import os

import pytest

OFF = "off"
CHECK = "check"
WRITING = ("create", "fix", "trim", "update")
WORDS = (CHECK, *WRITING, OFF)
HELP = (
    "Check the prompt prefix of every recording that a test used. check: fail on what is new against the "
    "baseline; create, fix, trim, update: rewrite it (never in CI); off. Several words are parted by commas."
)


def words_of(option: str | None, setting: str) -> frozenset[str]:
    """The words in force; none when the gate is off.

    Args:
        option: What stands behind ``--coldturn``.
        setting: What the settings say, where there is no option.

    Raises:
        pytest.UsageError: One is none of the words.
    """
    given = (setting if option is None else option) or OFF
    words = frozenset(word.strip() for word in given.split(","))
    if unknown := sorted(words - set(WORDS)):
        where = "--coldturn" if option is not None else "the setting coldturn"
        raise pytest.UsageError(f"{where}: {unknown[0]!r} is none of {', '.join(WORDS)}")
    return frozenset() if OFF in words else words


def in_ci() -> bool:
    """Whether this is a run of CI, where a baseline is never rewritten."""
    return os.environ.get("CI", "").lower() not in {"", "0", "false"}

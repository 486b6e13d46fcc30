"""The pytest plugin: every cassette that a test used is a prefix check too.

This module is all that a run without recordings loads; what checks is imported with the first recording.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from coldturn.replay.pytest_plugin.words import HELP, OFF, words_of

if TYPE_CHECKING:
    from coldturn.replay.check.measured import Measured

__all__ = ["prefix_check", "pytest_addoption", "pytest_configure"]

_NAME = "coldturn-gate"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the one option that gives a project the gate, and its settings."""
    group = parser.getgroup("coldturn", "prompt-cache prefixes")
    group.addoption("--coldturn", metavar="WORD[,WORD]", default=None, help=HELP)
    parser.addini("coldturn", "As --coldturn, for every run.", default=OFF)
    parser.addini(
        "coldturn_paths",
        "Recordings, or folders of them, that are checked at the end of every run; one a line.",
        type="linelist",
        default=[],
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known, and wake up where that is asked for."""
    config.addinivalue_line(
        "markers", "moves_prefix(reason): the recordings of this test move their prompt's prefix on purpose"
    )
    words = words_of(config.getoption("coldturn"), str(config.getini("coldturn")))
    if words:
        from coldturn.replay.pytest_plugin.hooks import GateHooks

        config.pluginmanager.register(GateHooks(config, words), _NAME)


@pytest.fixture
def prefix_check(request: pytest.FixtureRequest) -> Callable[..., Measured]:
    """Check one recording inside a test: ``prefix_check("recordings/session.jsonl", policy="stable")``.

    The path is one from pytest's root folder. Without a policy its requests are checked as they were
    recorded; with one its MCP session is replayed. The test fails on what is new against the baseline.
    """
    from coldturn.replay.pytest_plugin.hooks import GateHooks

    hooks = request.config.pluginmanager.get_plugin(_NAME)
    if hooks is None:
        hooks = GateHooks(request.config, frozenset())
    node: pytest.Item = request.node

    def check(source: str | Path, policy: str | None = None) -> Measured:
        return hooks.check_now(node, Path(source), policy)

    return check

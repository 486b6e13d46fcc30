"""Requirements as data: every id that this version makes true, and the mark that ties a test to it.

A test carries ``@requirement("DEF-3")``. `test_requirements.py` checks both directions.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest


@dataclass(frozen=True, slots=True)
class Requirement:
    """One promise: its id, where it comes from (design, report, ours), and what holds, in one sentence."""

    id: str
    source: str
    behaviour: str


REQUIREMENTS: tuple[Requirement, ...] = ()


def requirement(*ids: str) -> pytest.MarkDecorator:
    """Mark a test as evidence for `ids`."""
    return pytest.mark.requirement(*ids)

"""Requirements as data: every id that this version makes true.

A test carries ``@pytest.mark.requirement("DEF-3")``. `test_requirements.py` checks both directions.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Requirement:
    """One promise: its id, where it comes from (design, report, ours), and what holds, in one sentence."""

    id: str
    source: str
    behaviour: str


REQUIREMENTS: tuple[Requirement, ...] = ()

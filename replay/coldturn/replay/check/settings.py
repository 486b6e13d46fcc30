"""``[tool.coldturn.check]`` of a pyproject.toml, for gates that are not the command line."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coldturn.reference.prefix.errors import ColdturnError


class GateSettingsError(ColdturnError):
    """A setting of the gate that is not what it should be."""

    slug = "gate-setting"

    def __init__(self, path: Path, name: str, wanted: str) -> None:
        super().__init__(f"{path}: {name} of [tool.coldturn.check] has to be {wanted}")


@dataclass(frozen=True, slots=True)
class GateSettings:
    """What a project says of its gate, as far as it says anything.

    Attributes:
        baseline: The baseline's file, from the project's folder.
        tolerance: How far an estimated hit rate may fall.
        lint: Whether the stable part of prompts is looked through.
    """

    baseline: str | None = None
    tolerance: float | None = None
    lint: bool = True

    @classmethod
    def of(cls, path: Path) -> GateSettings:
        """Those of a pyproject.toml.

        Raises:
            GateSettingsError: One is of another type.
        """
        table = check_table(path)
        baseline, tolerance, lint = table.get("baseline"), table.get("tolerance"), table.get("lint", True)
        if not isinstance(baseline, str | None):
            raise GateSettingsError(path, "baseline", "a path")
        if isinstance(tolerance, bool) or not isinstance(tolerance, int | float | None):
            raise GateSettingsError(path, "tolerance", "a number from 0 to 1")
        if tolerance is not None and not 0 <= tolerance <= 1:
            raise GateSettingsError(path, "tolerance", "a number from 0 to 1")
        if not isinstance(lint, bool):
            raise GateSettingsError(path, "lint", "true or false")
        return cls(baseline, tolerance, lint)


def check_table(path: Path) -> Mapping[str, Any]:
    """The table as it stands; empty when there is none. Whether the file is sound, its other readers say."""
    try:
        table: object = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    for name in ("tool", "coldturn", "check"):
        table = table.get(name) if isinstance(table, Mapping) else None
    return table if isinstance(table, Mapping) else {}

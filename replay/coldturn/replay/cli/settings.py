"""Settings of the project that coldturn is run in: ``[tool.coldturn]`` of its pyproject.toml.

A key of the table is an option of every command that has it; a table inside it is one command's.

    [tool.coldturn]
    no-content = true
    [tool.coldturn.explain]
    fail-on = ["catalog_growth"]
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from coldturn.reference.prefix.errors import ColdturnError


class SettingsError(ColdturnError):
    """A pyproject.toml that cannot be read, or a `tool.coldturn` that is no table."""

    slug = "settings"

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: the settings cannot be read: {reason}; mend [tool.coldturn] there")


def read_settings(
    command: str, options: Collection[str], folder: Path | None = None
) -> dict[str, dict[str, Any]]:
    """Defaults of a command's options, by parameter name, as the command line library takes them.

    Args:
        command: Its name.
        options: Names of its function's parameters.
        folder: Where to look; the working directory when not given.

    Raises:
        SettingsError: The file is damaged, or names an option that the command does not have.
    """
    path = (folder or Path()) / "pyproject.toml"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    if "coldturn" not in text:
        return {}
    try:
        table = tomllib.loads(text).get("tool", {}).get("coldturn", {})
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(path, str(error)) from error
    if not isinstance(table, Mapping):
        raise SettingsError(path, "it is no table")
    common = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    own = table.get(command, {})
    found = {name: value for key, value in common.items() if (name := _parameter(key, options))}
    for key, value in own.items():
        name = _parameter(key, options)
        if name is None:
            raise SettingsError(path, f"{command} has no option {key}")
        found[name] = value
    return {command: found}


def _parameter(key: str, options: Collection[str]) -> str | None:
    """The parameter behind an option's name; one that is a Python keyword or built-in ends in ``_``."""
    name = key.replace("-", "_")
    return next((one for one in (name, f"{name}_") if one in options), None)

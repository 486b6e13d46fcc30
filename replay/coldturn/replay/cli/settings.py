"""Settings of the project that coldturn is run in: ``[tool.coldturn]`` of its pyproject.toml.

A key of the table is an option of every command that has it; a table inside it is one command's.

    [tool.coldturn]
    no-content = true
    [tool.coldturn.explain]
    fail-on = ["catalog_growth"]
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from coldturn.reference.prefix.errors import ColdturnError

SETTINGS_FILE = Path("pyproject.toml")
_NO_OPTIONS = {"check": frozenset({"exemptions"})}
"""Keys of a command's table that are read by the command itself."""


class SettingsError(ColdturnError):
    """A pyproject.toml that cannot be read, or a `tool.coldturn` with something that is no setting."""

    slug = "settings"

    def __init__(self, path: Path, reason: str, mend: str = "[tool.coldturn] there") -> None:
        super().__init__(f"{path}: the settings cannot be read: {reason}; mend {mend}")


def read_settings(
    command: str,
    options: Collection[str],
    folder: Path | None = None,
    *,
    every_option: Callable[[], Collection[str]] = tuple,
    commands: Collection[str] = (),
    flags: Collection[str] = (),
) -> dict[str, dict[str, Any]]:
    """Defaults of a command's options, by parameter name, as the command line library takes them.

    Args:
        command: Its name.
        options: Names of its function's parameters.
        folder: Where to look; the working directory when not given.
        every_option: Names of the parameters of all commands; asked only about keys that `options` lacks.
        commands: Names of all commands.
        flags: Which of `options` are true or false.

    Raises:
        SettingsError: The file is damaged, or names an option or a command that there is not, or a flag is
            neither true nor false.
    """
    path = (folder or Path()) / SETTINGS_FILE
    table = _table(path)
    common = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    for key in table:
        if key in common and key in commands:
            raise SettingsError(
                path, f"{key} is a command, and its settings are a table: [tool.coldturn.{key}]"
            )
        is_known = key in commands if key not in common else _parameter(key, options) is not None
        if not is_known and (key not in common or _parameter(key, every_option()) is None):
            # It would do nothing, and nobody would notice.
            raise SettingsError(path, f"there is no option or command {key}")
    aside = _NO_OPTIONS.get(command, frozenset())
    own = {key: value for key, value in table.get(command, {}).items() if key not in aside}
    found = {name: value for key, value in common.items() if (name := _parameter(key, options))}
    for key, value in own.items():
        name = _parameter(key, options)
        if name is None:
            raise SettingsError(path, f"{command} has no option {key}")
        found[name] = value
    for name, value in found.items():
        if (name in flags) is not isinstance(value, bool):
            key = name.rstrip("_").replace("_", "-")
            wanted = "true or false is expected" if name in flags else "it is no switch to be true or false"
            raise SettingsError(path, f"{key}: {wanted}")
    return {command: found}


def _table(path: Path) -> Mapping[str, Any]:
    """The table ``[tool.coldturn]``, empty when there is none."""
    try:
        tool = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {})
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingsError(path, (error.strerror or str(error)).lower()) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(path, str(error), "the file") from error
    except ValueError as error:
        raise SettingsError(path, "a number in it has too many digits", "the file") from error
    except RecursionError as error:
        raise SettingsError(path, "its lists or tables lie too deep in one another", "the file") from error
    table = tool.get("coldturn", {}) if isinstance(tool, Mapping) else {}
    if not isinstance(table, Mapping):
        raise SettingsError(path, "tool.coldturn is no table")
    return table


def _parameter(key: str, options: Collection[str]) -> str | None:
    """The parameter behind an option's name; one that is a Python keyword or built-in ends in ``_``."""
    name = key.replace("-", "_")
    return next((one for one in (name, f"{name}_") if one in options), None)

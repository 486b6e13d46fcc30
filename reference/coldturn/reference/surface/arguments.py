"""Arguments against a tool's schema; what does not fit comes back as text that names the field."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from jsonschema import Draft202012Validator, SchemaError
from jsonschema.exceptions import ValidationError
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

JSON: TypeAlias = dict[str, Any] | list[Any] | str | int | float | bool | None

_ERRORS = 5
_CHARS = 300


class ArgumentsError(Exception):
    """The arguments do not fit. Its text is for the model; it never leaves the surface."""


def decode(text: str) -> dict[str, Any]:
    """Read a call's arguments; nothing at all counts as no arguments.

    Raises:
        ArgumentsError: No JSON, or no object.
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentsError(f"The arguments are not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise ArgumentsError(f"The arguments must be a JSON object, not {_json_type(value)}")
    return value


def check(arguments: dict[str, Any], schema: dict[str, Any]) -> None:
    """Validate `arguments`; a schema that is itself broken is left to the server to judge.

    Raises:
        ArgumentsError: They do not fit; the text has a line per field.
    """
    problems = violations(arguments, schema)
    if problems:
        raise ArgumentsError("\n".join(["The arguments do not fit the tool's input schema:", *problems]))


def violations(value: JSON, schema: dict[str, Any]) -> list[str]:
    """What of `value` does not fit, one line each, at most five; none when the schema cannot be used."""
    cls = validator_for(schema, default=Draft202012Validator)
    try:
        cls.check_schema(schema)
        # An empty registry: references resolve within the schema, never over a network.
        errors = sorted(cls(schema, registry=Registry()).iter_errors(value), key=_order)
    except (SchemaError, Unresolvable):
        return []
    return [f"- {_field(error)}: {_short(error.message)}" for error in errors[:_ERRORS]]


def _order(error: ValidationError) -> tuple[str, str]:
    return error.json_path, error.message


def _field(error: ValidationError) -> str:
    path = error.json_path.removeprefix("$").removeprefix(".")
    if error.validator == "required" and isinstance(error.instance, dict):
        # One error a missing name; the library tells which one only in its message.
        missing = error.message.partition(" is a required")[0].strip("'\"")
        return f"{path}.{missing}" if path else missing
    return path or "(arguments)"


def _short(text: str) -> str:
    return text if len(text) <= _CHARS else text[: _CHARS - 1] + "…"


def _json_type(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "a number"

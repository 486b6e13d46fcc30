"""Arguments that a JSON schema accepts: the least that it asks for, nothing at random."""

from __future__ import annotations

import re
from typing import Any

Schema = dict[str, Any]

_NIL = "00000000-0000-0000-0000-000000000000"
_TEXTS = ("abc", _NIL, f"1-{_NIL}", "#000000")
"""Tried in this order against a pattern."""

_PLAIN: dict[str, Any] = {"boolean": False, "null": None}


def least(schema: Schema, root: Schema | None = None) -> Any:  # noqa: ANN401 - any JSON value
    """Make a value for `schema`: required members only, shortest and smallest.

    Args:
        schema: What the value must fit.
        root: Where references point into; by default `schema` itself.

    Raises:
        ValueError: The schema asks for something that this does not know to make.
    """
    root = schema if root is None else root
    if "$ref" in schema:
        return least(_referenced(schema["$ref"], root), root)
    if "const" in schema or "enum" in schema:
        return schema["const"] if "const" in schema else schema["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema and "properties" not in schema:
            rest = {name: value for name, value in schema.items() if name != key}
            return least(rest | schema[key][0], root)
    return _typed(schema, root)


def _referenced(reference: str, root: Schema) -> Schema:
    found: Any = root
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return dict(found)


def _typed(schema: Schema, root: Schema) -> Any:  # noqa: ANN401 - any JSON value
    named = schema.get("type", "object" if "properties" in schema else "string")
    kind = named if isinstance(named, str) else named[0]
    match kind:
        case "object":
            members = schema.get("properties", {})
            return {name: least(members.get(name, {}), root) for name in schema.get("required", ())}
        case "array":
            return [least(schema.get("items", {}), root)] * schema.get("minItems", 0)
        case "string":
            return _text(schema)
        case "number" | "integer":
            return schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
        case _ if kind in _PLAIN:
            return _PLAIN[kind]
    raise ValueError(f"no value is known for {schema}")


def _text(schema: Schema) -> str:
    if "pattern" not in schema:
        return "x" * int(schema.get("minLength", 0))
    for text in _TEXTS:
        if re.search(schema["pattern"], text):
            return text
    raise ValueError(f"no text is known for the pattern {schema['pattern']!r}")

"""A tool's definition: its bytes as first seen, and a hash that knows no key order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import xxhash


def compact_json(value: object) -> bytes:
    """Encode `value` as compact UTF-8 JSON in its own key order; a lone surrogate stays an escape."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool as its server defines it, reduced to what a model can be shown.

    Attributes:
        name: The server's own name for it.
        hash: xxh3-128 (32 hex digits) of the definition as JSON with sorted keys: equal for the same
            definition under any key order.
        body: Compact JSON with name, title, description, inputSchema, outputSchema, as far as given.
    """

    name: str
    hash: str
    body: bytes


def define(
    name: str,
    *,
    input_schema: Mapping[str, Any],
    title: str | None = None,
    description: str | None = None,
    output_schema: Mapping[str, Any] | None = None,
) -> Definition:
    """Make a `Definition`; keys of the schemas keep the order they have."""
    fields: dict[str, Any] = {"name": name}
    if title is not None:
        fields["title"] = title
    if description is not None:
        fields["description"] = description
    fields["inputSchema"] = input_schema
    if output_schema is not None:
        fields["outputSchema"] = output_schema
    canonical = json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()
    return Definition(name, xxhash.xxh3_128_hexdigest(canonical), compact_json(fields))


@dataclass(frozen=True)
class CatalogueTool:
    """One row of the catalogue.

    Attributes:
        server: Connection id.
        position: Place in the server's own listing, from 0, at `last_seen_version`.
        body: The bytes first seen for this `hash`; nothing else of the definition is ever rendered.
        removed_version: The refresh that no longer saw it, or None.
    """

    server: str
    name: str
    hash: str
    body: bytes
    position: int
    added_version: int
    last_seen_version: int
    removed_version: int | None = None

    @cached_property
    def _fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = json.loads(self.body)
        return fields

    @property
    def title(self) -> str:
        """The server's title, or the empty string."""
        return str(self._fields.get("title") or "")

    @property
    def description(self) -> str:
        """The server's description, or the empty string."""
        return str(self._fields.get("description") or "")

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON schema of the arguments."""
        schema: dict[str, Any] = self._fields["inputSchema"]
        return schema

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """JSON schema of structured results, where the server gives one."""
        return self._fields.get("outputSchema")

    @cached_property
    def schema_bytes(self) -> bytes:
        """The input schema as rendered: compact JSON in the key order first seen."""
        return compact_json(self.input_schema)

    @cached_property
    def prompt_bytes(self) -> int:
        """UTF-8 bytes of the compact JSON that shows this tool to a model (no output schema)."""
        return len(
            compact_json(
                {"name": self.name, "description": self.description, "inputSchema": self.input_schema}
            )
        )


def catalogue_hash(tools: Iterable[tuple[str, str]]) -> str:
    """xxh3-128 (32 hex digits) of (name, definition hash) pairs, whatever their order."""
    digest = xxhash.xxh3_128()
    for name, definition_hash in sorted(tools):
        digest.update(name.encode("utf-8", "surrogatepass") + b"\0" + definition_hash.encode() + b"\n")
    return digest.hexdigest()

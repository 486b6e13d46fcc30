"""Which column of a usage table holds what: by names that providers and tools use, or as the user says."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any

from coldturn.traces.errors import InputError


class Column(StrEnum):
    """What a column can hold, by the names that ``--columns`` takes."""

    INPUT = "input"
    CACHED = "cached"
    WRITTEN = "written"
    OUTPUT = "output"
    MODEL = "model"
    CONVERSATION = "conversation"
    CALL = "call"
    STARTED = "started"
    PROVIDER = "provider"


KNOWN: Mapping[Column, tuple[str, ...]] = {
    Column.INPUT: ("prompt_tokens", "total_input_tokens", "input_tokens", "promptTokenCount"),
    Column.CACHED: (
        "cached_tokens", "cached_read", "cache_read_tokens", "cache_read_input_tokens", "cached_input_tokens",
        "prompt_cache_hit_tokens", "cache_read", "cachedContentTokenCount",
    ),
    Column.WRITTEN: (
        "cache_write_tokens", "cache_write", "cache_creation_input_tokens", "cache_write_input_tokens",
    ),
    Column.OUTPUT: ("completion_tokens", "output_tokens", "candidatesTokenCount"),
    Column.MODEL: ("model", "response_model", "model_name"),
    Column.CONVERSATION: ("path", "conversation", "conversation_id", "session_id", "session", "cassette"),
    Column.CALL: ("call", "step"),
    Column.STARTED: ("t", "started", "timestamp", "time", "created"),
    Column.PROVIDER: ("provider_name", "provider"),
}  # fmt: skip
"""Names that are known: the first that a table has counts. In JSON lines ``usage`` is looked into too."""

_INSIDE = ("", "usage.", "usage.prompt_tokens_details.", "usage.input_tokens_details.")
_SHOWN = 40


class MissingColumnError(InputError):
    """A table without a column that was named, or without one of the whole input."""

    slug = "missing-column"

    def __init__(self, source: str, wanted: str, seen: list[str]) -> None:
        self.wanted, self.seen = wanted, tuple(seen)
        there = ", ".join(map(on_one_line, seen[:12])) or "none"
        super().__init__(
            source,
            f"has no column {on_one_line(wanted)} (there are {there}); name the right ones with --columns",
        )


def settled(name: str, given: Mapping[Column, str], row: Mapping[str, Any]) -> Mapping[Column, str]:
    """A name for each column that is there.

    Args:
        name: What reports call the table.
        given: Names that the user gave.
        row: The first row, by column.

    Raises:
        MissingColumnError: A name that was given is not there, or there is no column of the input.
    """
    found: dict[Column, str] = {}
    for column, called in given.items():
        parts = called.split("+") if column is Column.CONVERSATION else [called]
        missing = next((part for part in parts if not _has(row, part)), None)
        if missing is not None:
            raise MissingColumnError(name, missing, list(row))
        found[column] = called
    for column, names in KNOWN.items():
        known = (f"{inside}{one}" for inside in _INSIDE for one in names if _has(row, f"{inside}{one}"))
        called_ = next(known, None)
        if column not in found and called_ is not None:
            found[column] = called_
    if Column.INPUT not in found:
        raise MissingColumnError(name, "of input tokens", list(row))
    return found


def _has(row: Mapping[str, Any], path: str) -> bool:
    if path in row:
        return True
    outer, dot, inner = path.partition(".")
    value = row.get(outer)
    return bool(dot) and isinstance(value, Mapping) and _has(value, inner)


def value_at(row: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401 - any cell
    """The cell behind a column's name; None when there is none."""
    if path in row:
        return row[path]
    outer, _, inner = path.partition(".")
    value = row.get(outer)
    return value_at(value, inner) if isinstance(value, Mapping) and inner else None


def on_one_line(value: object) -> str:
    """A cell or a name as a sentence can hold it."""
    return " ".join(str(value)[:_SHOWN].split())


def counts_calls(names: Collection[str]) -> bool:
    """Whether there are counts of the input and of what was read or answered."""
    others = (*KNOWN[Column.CACHED], *KNOWN[Column.OUTPUT])
    return any(one in names for one in KNOWN[Column.INPUT]) and any(one in names for one in others)

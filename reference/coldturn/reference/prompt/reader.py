"""`read_tool_output`: reads what elision left out, from the Record log and in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coldturn.reference.previews import READER_NAME
from coldturn.reference.prompt.errors import InvalidDeferredHandleError
from coldturn.reference.prompt.paging import (
    Page,
    PatternError,
    literal_matcher,
    pattern_matcher,
    read_matches,
    read_range,
)
from coldturn.reference.records import RecordLog
from coldturn.reference.surface.model import HostResult, HostTool
from coldturn.reference.wire.model import ToolDefinition

_MATCHES = 100
"""Matching lines a page holds when no limit is asked for."""

_DESCRIPTION = (
    "Reads an earlier tool result of this conversation, of which only a preview is shown. "
    "Without grep, offset and limit count characters from 0. With grep, they count matching lines."
)
_SCHEMA = msgspec.json.encode(
    {
        "type": "object",
        "properties": {
            "handle": {"type": "string", "description": "As the preview gives it."},
            "offset": {"type": "integer", "minimum": 0, "description": "Where to start; 0 by default."},
            "limit": {"type": "integer", "minimum": 0, "description": "How much to read at most."},
            "grep": {"type": "string", "description": "Show only lines that match this RE2 pattern."},
            "literal": {"type": "boolean", "description": "Take grep as plain text, not as a pattern."},
        },
        "required": ["handle"],
        "additionalProperties": False,
    }
)


class _Arguments(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    handle: str
    offset: Annotated[int, Field(ge=0)] = 0
    limit: Annotated[int, Field(ge=0)] | None = None
    grep: str | None = None
    literal: bool = False


def reader_tool(log: RecordLog, page_chars: int) -> HostTool:
    """Make the reader of one Run's log. It is always in the tools array: one that came later would move it.

    Args:
        log: Whose results can be read; a handle of any other Run is refused.
        page_chars: Code points an answer holds at most.
    """

    async def read(arguments: Mapping[str, Any]) -> HostResult:
        return read_tool_output(log, arguments, page_chars)

    definition = ToolDefinition(READER_NAME, _DESCRIPTION, _SCHEMA)
    return HostTool(definition, "read the rest of a shortened tool result", read, builtin=True)


def read_tool_output(log: RecordLog, arguments: Mapping[str, Any], page_chars: int) -> HostResult:
    """Read part of a result. The first line tells the range, the total and where to read on; then the part.

    Behind the end and where nothing matches the part is empty: an error would teach the model to leave a
    harmless probe alone. Content that is no text is told by type, size and digest, never read as text.

    Raises:
        InvalidDeferredHandleError: The handle names no tool result of this Run.
    """
    try:
        asked = _Arguments.model_validate(arguments)
    except ValidationError as error:
        return HostResult(_problems(error), is_error=True)
    result = log.result(asked.handle)
    if result is None:
        raise InvalidDeferredHandleError(asked.handle, log.run_id)
    if asked.grep is None:
        page = read_range(result.shown, asked.offset, min(page_chars, _given(asked.limit, page_chars)))
        return HostResult(_answer("characters", page))
    try:
        matches = literal_matcher(asked.grep) if asked.literal else pattern_matcher(asked.grep)
    except PatternError as error:
        return HostResult(
            f"grep: RE2 does not take this pattern ({error}); change it, or set literal to true to look for "
            "the text itself",
            is_error=True,
        )
    page = read_matches(result.shown, matches, asked.offset, _given(asked.limit, _MATCHES), page_chars)
    return HostResult(_answer("matching lines", page))


def reader_arguments(arguments: str) -> str | None:
    """Give the arguments of a reader call as a later preview repeats them, or None if they are no JSON."""
    try:
        return bytes(msgspec.json.format(arguments.encode(), indent=-1)).decode()
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None


def _given(limit: int | None, default: int) -> int:
    return default if limit is None else limit


def _answer(unit: str, page: Page) -> str:
    going_on = "end" if page.next_offset is None else f"next offset {page.next_offset}"
    return f"[{unit} {page.start} to {page.start + page.count} of {page.total}; {going_on}]\n{page.text}"


def _problems(error: ValidationError) -> str:
    problems = [f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}" for item in error.errors()]
    return "The arguments do not fit: " + "; ".join(problems)

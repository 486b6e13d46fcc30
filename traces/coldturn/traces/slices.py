"""The parts of a JSON text as the bytes that stood there, without building what is inside them."""

from __future__ import annotations

import json
from typing import Any

from coldturn.reference.prefix.errors import UnreadableBodyError
from coldturn.reference.prefix.slicing import items, members
from coldturn.traces.opening import BOM

_DECODER = json.JSONDecoder(strict=False)


class NotJsonError(ValueError):
    """A text that is no JSON of the kind asked for; the message says why."""


def object_parts(text: bytes) -> dict[str, bytes]:
    """The values of an object's keys, as sent; of a key that stands twice, the last.

    Raises:
        NotJsonError: It is no JSON object.
    """
    try:
        return {one.key: text[one.value : one.end] for one in members(text).members}
    except UnreadableBodyError as error:
        raise NotJsonError(_why(error)) from error


def array_parts(text: bytes) -> list[bytes]:
    """The elements of an array, as sent.

    Raises:
        NotJsonError: It is no JSON array.
    """
    try:
        return [text[start:end] for start, end in items(text)[0]]
    except UnreadableBodyError as error:
        raise NotJsonError(_why(error)) from error


def value_of(text: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """A JSON text's value, lone surrogates and NaN included.

    Raises:
        NotJsonError: It is no JSON.
    """
    try:
        return _DECODER.decode(text.removeprefix(BOM).decode("utf-8", "surrogatepass"))
    except RecursionError as error:
        raise NotJsonError("nested too deeply") from error
    except UnicodeDecodeError as error:
        raise NotJsonError(f"no UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise NotJsonError(f"{error.msg.lower()} at character {error.pos}") from error
    except ValueError as error:
        raise NotJsonError("a number has more digits than can be read") from error


def _why(error: UnreadableBodyError) -> str:
    return error.reason if error.offset is None else f"{error.reason} at byte {error.offset}"

"""The parts of a JSON text as the bytes that stood there, without building what is inside them."""

from __future__ import annotations

import json
import re
from itertools import accumulate
from typing import Any

from coldturn.reference.prefix.errors import UnreadableBodyError
from coldturn.reference.prefix.slicing import items, members
from coldturn.traces.limits import MAX_NESTING
from coldturn.traces.opening import BOM

_DECODER = json.JSONDecoder(strict=False)
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_STEPS = {ord("{"): 1, ord("["): 1, ord("}"): -1, ord("]"): -1}
_NO_BRACKETS = bytes(one for one in range(256) if one not in _STEPS)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


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


def flat_parts(text: bytes) -> dict[str, bytes]:
    """The values of an object's keys, each to be written into a message afresh.

    Raises:
        NotJsonError: It is no JSON object, or nested deeper than `MAX_NESTING` levels.
    """
    need_flat(text)
    return object_parts(text)


def array_parts(text: bytes) -> list[bytes]:
    """The elements of an array, as sent.

    Raises:
        NotJsonError: It is no JSON array.
    """
    try:
        return [text[start:end] for start, end in items(text)[0]]
    except UnreadableBodyError as error:
        raise NotJsonError(_why(error)) from error


def need_flat(text: bytes) -> None:
    """Refuse a JSON text that is nested deeper than what is written afresh may be; its bytes are passed once.

    Raises:
        NotJsonError: It is nested deeper than `MAX_NESTING` levels.
    """
    if text.count(b"[") + text.count(b"{") <= MAX_NESTING:
        return
    brackets = _STRING.sub(b"", text).translate(None, _NO_BRACKETS)
    if max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > MAX_NESTING:
        raise NotJsonError(f"nested deeper than {MAX_NESTING} levels")


def value_of(text: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """A JSON text's value, lone surrogates and NaN included.

    Raises:
        NotJsonError: It is no JSON, or nested deeper than `MAX_NESTING` levels.
    """
    need_flat(text)
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


def to_json(value: object) -> bytes:
    """A value as compact JSON in UTF-8, key order kept; a lone surrogate stands there as its escape.

    Raises:
        RecursionError: It is nested too deeply, as no value of `value_of` is.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def _why(error: UnreadableBodyError) -> str:
    return error.reason if error.offset is None else f"{error.reason} at byte {error.offset}"

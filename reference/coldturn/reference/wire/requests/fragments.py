"""Fragments of request bodies: each frozen part of a prompt is serialised once."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from typing import TypeAlias, TypeVar

import msgspec

from coldturn.reference.wire.requests.frozen import FrozenHistory

Blocks: TypeAlias = tuple[bytes, ...]
"""JSON objects, each the bytes of one content block or item."""

JsonText: TypeAlias = str | msgspec.Raw

Part = TypeVar("Part", bound=Hashable)

_encoder = msgspec.json.Encoder()


def dump(value: Mapping[str, object]) -> bytes:
    """Serialise: compact, UTF-8, keys in the order given, `msgspec.Raw` values as they are."""
    return _encoder.encode(value)


def text(value: str) -> JsonText:
    """Give `value` as `dump` can take it: lone surrogates, which UTF-8 has no bytes for, are escaped."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return msgspec.Raw(json.dumps(value).encode())
    return value


def with_marker(block: bytes, marker: bytes) -> bytes:
    """Put a cache breakpoint (``"name":value``) at the end of a JSON object."""
    return block[:-1] + b"," + marker + b"}"


class Fragments:
    """Remembers what the last request was made of, so that the next one serialises only what is new.

    Pass the same one for all requests of a Run. It forgets what the latest request did not use.

    Attributes:
        made: How many parts were serialised so far.
        frozen: Rows of the history that stand still, by what writes them.
    """

    def __init__(self) -> None:
        self.made = 0
        self.frozen: dict[Hashable, FrozenHistory] = defaultdict(FrozenHistory)
        self._kept: dict[Hashable, Blocks] = {}
        self._used: dict[Hashable, Blocks] = {}

    def of(self, item: Part, make: Callable[[Part], Blocks]) -> Blocks:
        """Give what `make` makes of `item`, made once while requests keep using it."""
        key = (make, item)
        blocks = self._used.get(key)
        if blocks is None:
            blocks = self._kept.get(key)
            if blocks is None:
                blocks = make(item)
                self.made += 1
            self._used[key] = blocks
        return blocks

    def finish(self) -> None:
        """End a request: what it did not use is forgotten."""
        self._kept, self._used = self._used, {}

"""Traces of block hashes, as Mooncake publishes them: a hash per block that stands for all before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from coldturn.traces.exchange import EntryError
from coldturn.traces.formats.model import Format, Head, Layout
from coldturn.traces.kinds import InputKind

_MILLISECONDS = 1_000


@dataclass(frozen=True, slots=True)
class BlockRequest:
    """One request of a trace.

    Attributes:
        started: Seconds from the trace's own zero.
        tokens: Of the whole input.
        blocks: A hash per block, in order.
    """

    entry: int
    started: float
    tokens: int
    blocks: list[int]


class _Line(msgspec.Struct):
    hash_ids: list[int]
    input_length: int
    timestamp: float
    output_length: int = 0


def read_block_trace(lines: Iterable[bytes], *, name: str) -> Iterator[BlockRequest | EntryError]:
    """Read a trace line by line.

    Args:
        lines: JSON objects with ``hash_ids``, ``input_length`` and ``timestamp`` in milliseconds.
        name: What reports call it.

    Yields:
        Requests in order, and an error for each line that is none or that holds a negative length.
    """
    decoder = msgspec.json.Decoder(_Line)
    for entry, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            read = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else error
            yield EntryError(name, entry, f"line {entry + 1} is no request of block hashes: {reason}")
            continue
        if min(read.input_length, read.output_length) < 0:
            yield EntryError(name, entry, f"line {entry + 1} holds a negative length")
            continue
        yield BlockRequest(entry, read.timestamp / _MILLISECONDS, read.input_length, read.hash_ids)


def block_size(requests: Iterable[BlockRequest]) -> int | None:
    """Tokens of a block, as lengths and numbers of blocks tell; None when several sizes fit, or none does.

    A request has as many blocks as are needed to hold its tokens, so each admits a range of sizes. Of those
    that all admit, the one that is a power of two counts.
    """
    low, high = 1, None
    for one in requests:
        blocks, tokens = len(one.blocks), one.tokens
        if not blocks or not tokens:
            continue
        low = max(low, -(-tokens // blocks))
        if blocks > 1:
            most = (tokens - 1) // (blocks - 1)
            high = most if high is None else min(high, most)
    if high is None:
        return None
    powers = [1 << bit for bit in range(low.bit_length() - 1, high.bit_length()) if low <= 1 << bit <= high]
    return powers[0] if len(powers) == 1 else None


def _is_trace(head: Head) -> bool:
    return head.layout is not Layout.TEXT and head.any_has("hash_ids")


FORMATS = (Format(InputKind.HASH_TRACE, "a trace of block hashes", _is_trace, None, numbers=True),)

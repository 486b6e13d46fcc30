"""Response bodies unpacked while they arrive, so that a recording holds what its reader can read."""

from __future__ import annotations

import zlib

from coldturn.traces.limits import MAX_BODY_UNPACKED

READABLE = ("gzip", "deflate")
"""Encodings that are unpacked, in the words of ``content-encoding``."""

_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class Unpacker:
    """Unpacks the parts of one body.

    Attributes:
        problem: Why the body cannot be read; empty when it can.
    """

    def __init__(self, encoding: str) -> None:
        """Begin a body.

        Args:
            encoding: The ``content-encoding`` header, or nothing.
        """
        name = encoding.strip().lower()
        self.problem = "" if name in ("", "identity", *READABLE) else f"it is compressed as {name}"
        self._zlib = zlib.decompressobj(_GZIP_OR_ZLIB) if name in READABLE else None
        self._room = MAX_BODY_UNPACKED
        self._begun = False

    def part(self, data: bytes) -> bytes:
        """What `data` adds to the body; nothing once there is a problem."""
        if self._zlib is None or self.problem:
            return b"" if self.problem else data
        try:
            unpacked = self._unpacked(data)
        except zlib.error:
            self.problem = "its compression is damaged"
            return b""
        self._room -= len(unpacked)
        if self._zlib.unconsumed_tail:
            self.problem = f"it unpacks to more than {MAX_BODY_UNPACKED // 1_048_576} MiB"
        return unpacked

    def _unpacked(self, data: bytes) -> bytes:
        if self._zlib is None:
            return data
        first, self._begun = not self._begun, True
        try:
            return self._zlib.decompress(data, self._room)
        except zlib.error:
            if not first:
                raise
        # Some servers send deflate without its zlib header.
        self._zlib = zlib.decompressobj(-zlib.MAX_WBITS)
        return self._zlib.decompress(data, self._room)


def unpacked_body(body: bytes, encoding: str) -> tuple[bytes, str]:
    """A whole body unpacked, and why it could not be (then it is empty)."""
    unpacker = Unpacker(encoding)
    content = unpacker.part(body)
    return (b"" if unpacker.problem else content), unpacker.problem

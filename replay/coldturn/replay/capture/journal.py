"""A file of JSON lines that only grows by whole ones, whoever dies and however full the disk is.

Several processes may write the same one: a proxy, and a shim per server. A line is written under a lock, in
one piece or not at all; what a killed writer left of its last line is cut off by the next.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

_TAIL = 65_536


class Journal:
    """An open file of lines. Private to its owner: recordings hold prompts."""

    def __init__(self, path: Path, first_line: bytes, *, join: bool = False) -> None:
        """Open a file.

        Args:
            path: Where it is.
            first_line: Written when the file is new or empty.
            join: Go on behind the lines that are there, instead of beginning anew.

        Raises:
            OSError: It cannot be opened or written.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._first_line = first_line
        self._file = os.open(path, flags, 0o600)
        try:
            with self._locked():
                if not join:
                    os.ftruncate(self._file, 0)
                self._begin()
        except OSError:
            os.close(self._file)
            raise

    def write(self, line: bytes) -> None:
        """Add a line, which ends in a line end.

        Raises:
            OSError: It could not be written; then nothing of it was.
        """
        with self._locked():
            self._mend()
            self._begin()
            self._put(line)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _put(self, line: bytes) -> None:
        begin = os.fstat(self._file).st_size
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            os.ftruncate(self._file, begin)
            raise

    def _begin(self) -> None:
        if not os.fstat(self._file).st_size:
            self._put(self._first_line)

    def _mend(self) -> None:
        """Cut off a last line that a killed writer left torn, or end one that only lacks its end."""
        end = os.fstat(self._file).st_size
        begin = self._last_line_begin(end)
        if begin == end:
            return
        try:
            orjson.loads(os.pread(self._file, end - begin, begin))
        except orjson.JSONDecodeError:
            os.ftruncate(self._file, begin)
        else:
            self._put(b"\n")

    def _last_line_begin(self, end: int) -> int:
        position = end
        while position:
            begin = max(0, position - _TAIL)
            found = os.pread(self._file, position - begin, begin).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            position = begin
        return 0

"""One JSON document from a stream, piece by piece, each as the bytes that stood there.

Libraries that stream JSON build values, which loses how a number was written and what UTF-8 cannot hold. Here
a value is cut out whole, and only the containers that the caller names are walked into.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, TypeAlias

from coldturn.traces.limits import MAX_LINE
from coldturn.traces.opening import BOM
from coldturn.traces.slices import NotJsonError, value_of

Path: TypeAlias = tuple[str | int, ...]

_CHUNK = 262_144
_HEAD = 65_536
_STRUCTURE = re.compile(rb'["{}\[\]]')
_IN_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_SCALAR_END = re.compile(rb"[\s,\]}]")
_SPACE = re.compile(rb"[ \t\r\n]*+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A value inside a document.

    Attributes:
        path: Keys and indices from the document's root.
        content: The value's bytes; only the first of them when `cut`.
        offset: Where it begins in the stream.
        length: Its bytes, held or not.
    """

    path: Path
    content: bytes
    offset: int = 0
    length: int = 0

    @property
    def cut(self) -> bool:
        """Whether only its beginning is held."""
        return self.length > len(self.content)


def pieces(
    stream: IO[bytes], opens: Callable[[Path], bool], *, hold: int = MAX_LINE, strict: bool = True
) -> Iterator[Piece]:
    """Cut a document into values.

    Args:
        stream: At the document's beginning.
        opens: Whether the object or list at a path is walked into; else it is a piece.
        hold: Bytes of a piece that are held.
        strict: Refuse a piece of more bytes; else it comes cut.

    Raises:
        NotJsonError: The document is damaged or cut off at some byte, or a piece is larger than `hold`.
    """
    cutter = _Cutter(stream, opens, hold, strict=strict)
    yield from cutter.value(())
    cutter.expect_end()


def opening_members(source: IO[bytes] | bytes, hold: int) -> dict[str, bytes]:
    """The members of an object as far as it can be read, each with the first `hold` bytes of its value.

    A value that the source breaks off in is there with what was read of it.
    """
    stream = io.BytesIO(source) if isinstance(source, bytes) else source
    cutter = _Cutter(stream, lambda path: not path, hold, strict=False)
    found: dict[str, bytes] = {}
    try:
        for piece in cutter.value(()):
            if piece.path:
                found[str(piece.path[0])] = piece.content
    except NotJsonError:
        if cutter.path:
            found.setdefault(str(cutter.path[0]), cutter.held())
    return found


def holds_lines(stream: IO[bytes]) -> bool:
    """Whether a stream of JSON objects has several lines, each a document by itself; it is left at its start.

    Only a first line that is long is looked through to its end, and none of it is held.
    """
    head = stream.read(_HEAD)
    stream.seek(0)
    first, feed, rest = head.removeprefix(BOM).lstrip().partition(b"\n")
    if feed or len(head) < _HEAD:
        goes_on = bool(rest.strip()) or (bool(feed) and len(head) == _HEAD)
        return goes_on and first.rstrip()[-1:] == b"}"
    cutter = _Cutter(stream, lambda _: False, 0, strict=False)
    try:
        for _ in cutter.value(()):
            pass
        return cutter.has_more()
    except NotJsonError:
        return False
    finally:
        stream.seek(0)


def documents(stream: IO[bytes]) -> Iterator[Piece]:
    """Documents that stand one behind another, however each is laid out.

    Raises:
        NotJsonError: The last one is cut off, or something stands between them that no value begins with.
    """
    cutter = _Cutter(stream, lambda _: False, MAX_LINE, strict=True)
    while cutter.has_more():
        yield from cutter.value(())


class _Cutter:
    """A window over the stream: `_at` is where reading goes on, `_mark` where the value began."""

    def __init__(self, stream: IO[bytes], opens: Callable[[Path], bool], hold: int, *, strict: bool) -> None:
        self._stream = stream
        self._opens = opens
        self._hold = hold
        self._strict = strict
        self._window = stream.read(_CHUNK)
        self._at = len(BOM) if self._window.startswith(BOM) else 0
        self._mark: int | None = None
        self._kept = bytearray()
        self._passed = 0
        self.path: Path = ()

    def value(self, path: Path) -> Iterator[Piece]:
        first = self._next()
        if first == b"{" and self._opens(path):
            yield from self._object(path)
        elif first == b"[" and self._opens(path):
            yield from self._list(path)
        else:
            self.path = path
            offset = self._passed + self._at
            yield Piece(path, self._cut(), offset, self._passed + self._at - offset)

    def has_more(self) -> bool:
        return bool(self._next(end=True))

    def expect_end(self) -> None:
        if self.has_more():
            raise self._damage("more stands behind the document")

    def _object(self, path: Path) -> Iterator[Piece]:
        self._at += 1
        if self._next() == b"}":
            self._at += 1
            return
        while True:
            if self._next() != b'"':
                raise self._damage("a key is missing")
            self.path = ()
            key = value_of(self._cut())
            self._take(b":")
            yield from self.value((*path, str(key)))
            if self._take(b",", b"}") == b"}":
                return

    def _list(self, path: Path) -> Iterator[Piece]:
        self._at += 1
        if self._next() == b"]":
            self._at += 1
            return
        index = 0
        while True:
            yield from self.value((*path, index))
            if self._take(b",", b"]") == b"]":
                return
            index += 1

    def _next(self, *, end: bool = False) -> bytes:
        """The next byte that is no space, without taking it; nothing at the end, where that is allowed."""
        while True:
            space = _SPACE.match(self._window, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._window):
                return self._window[self._at : self._at + 1]
            if not self._more():
                if end:
                    return b""
                raise self._damage("it is cut off")

    def _take(self, *wanted: bytes) -> bytes:
        found = self._next()
        if found not in wanted:
            raise self._damage(f"{' or '.join(one.decode() for one in wanted)} is missing")
        self._at += 1
        return found

    def held(self) -> bytes:
        """What was read of the value at `path`."""
        rest = b"" if self._mark is None else self._window[self._mark :]
        return bytes(self._kept + rest)[: self._hold]

    def _cut(self) -> bytes:
        """Take the value that begins here."""
        self._mark = self._at
        self._kept = bytearray()
        first = self._window[self._at : self._at + 1]
        if first == b'"':
            self._at += 1
            self._to_string_end()
        elif first in (b"{", b"["):
            self._to_container_end()
        else:
            self._to_scalar_end()
        self._keep()
        self._mark = None
        return bytes(self._kept[: self._hold])

    def _to_container_end(self) -> None:
        depth = 0
        while True:
            found = _STRUCTURE.search(self._window, self._at)
            if found is None:
                self._at = len(self._window)
                self._further()
                continue
            self._at = found.end()
            mark = found[0]
            if mark == b'"':
                self._to_string_end()
            elif mark in b"{[":
                depth += 1
            else:
                depth -= 1
                if not depth:
                    return

    def _to_string_end(self) -> None:
        """From inside a string to behind its closing quote."""
        while True:
            inside = _IN_STRING.match(self._window, self._at)
            self._at = inside.end() if inside else self._at
            if self._window[self._at : self._at + 1] == b'"':
                self._at += 1
                return
            self._further()

    def _to_scalar_end(self) -> None:
        start = self._passed + self._at
        while (found := _SCALAR_END.search(self._window, self._at)) is None:
            self._at = len(self._window)
            self._keep()
            if not self._more():
                return
        self._at = found.start()
        if self._passed + self._at == start:
            raise self._damage("a value is missing")

    def _further(self) -> None:
        """Go on with what follows the window; the value's part in it is kept."""
        self._keep()
        if not self._more():
            raise self._damage("it is cut off")

    def _keep(self) -> None:
        if self._mark is None:
            return
        if self._strict and len(self._kept) + self._at - self._mark > self._hold:
            raise self._damage(f"a value is larger than {self._hold // 1_048_576} MiB")
        if len(self._kept) <= self._hold:
            self._kept += self._window[self._mark : self._at]
        self._mark = self._at

    def _more(self) -> bool:
        """Read on; what was passed is dropped."""
        chunk = self._stream.read(_CHUNK)
        rest = self._window[self._at :]
        self._passed += self._at
        if self._mark is not None:
            self._mark = 0
        self._window, self._at = rest + chunk, 0
        return bool(chunk)

    def _damage(self, reason: str) -> NotJsonError:
        return NotJsonError(f"{reason} at byte {self._passed + self._at}")

"""Opening an input: a path, bytes or a stream; compressed or not; never beyond its bounds."""

from __future__ import annotations

import gzip
import io
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias, cast

from coldturn.traces.errors import (
    DamagedArchiveError,
    EmptyInputError,
    InputTooLargeError,
    MissingInputError,
    ReadFailedError,
)
from coldturn.traces.limits import MAX_DOCUMENT, MAX_LINE, MAX_RATIO, MAX_SWOLLEN, MAX_UNPACKED

if TYPE_CHECKING:
    from typing_extensions import Buffer

GZIP_MAGIC = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
_IN_MEMORY = 16 * 1_048_576
_BUFFER = 1_048_576
_READ_AHEAD = 65_536
"""What a stream holds by itself: smaller than `_BUFFER`, so that reads into that pass it by."""
_SHOWN = 4096

Source: TypeAlias = str | Path | bytes | IO[bytes]


@contextmanager
def opened(source: Source, name: str) -> Iterator[io.BufferedReader]:
    """A seekable stream of the input's content, unpacked when it is gzip.

    Args:
        source: A path, the content itself, or a binary stream (spooled to disk when it is long).
        name: What errors call the input.

    Raises:
        MissingInputError: It cannot be opened.
        EmptyInputError: It has no bytes.
        ReadFailedError: It was opened, and reading it fails.
    """
    try:
        with _raw(source, name) as stream:
            head = stream.read(2)
            stream.seek(0)
            if not head:
                raise EmptyInputError(name)
            if head == GZIP_MAGIC:
                yield io.BufferedReader(_Unpacked(stream, name), _READ_AHEAD)
            else:
                yield cast("io.BufferedReader", stream)
    except OSError as error:
        raise ReadFailedError(name, why(error)) from error


def why(error: OSError) -> str:
    """An error of the system in words."""
    return (error.strerror or str(error) or "unknown error").lower()


@contextmanager
def _raw(source: Source, name: str) -> Iterator[IO[bytes]]:
    if isinstance(source, bytes):
        yield io.BytesIO(source)
    elif isinstance(source, str | Path):
        try:
            stream = Path(source).open("rb", buffering=_READ_AHEAD)  # noqa: SIM115 - closed below; only its opening is guarded
        except OSError as error:
            raise MissingInputError(name, why(error)) from error
        except ValueError as error:
            raise MissingInputError(name, str(error)) from error
        with stream:
            if stream.seekable():
                yield stream
            else:
                with _spooled(stream) as spool:
                    yield spool
    else:
        with _spooled(source) as spool:
            yield spool


@contextmanager
def _spooled(source: IO[bytes]) -> Iterator[IO[bytes]]:
    """A copy of what can be read once only, such as a pipe."""
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as spool:
        shutil.copyfileobj(source, spool)
        spool.seek(0)
        yield cast("IO[bytes]", spool)


class _Unpacked(io.RawIOBase):
    """A gzip stream that stops at a bound instead of filling the disk or the memory of its reader."""

    def __init__(self, packed: IO[bytes], name: str) -> None:
        self._packed = packed
        self._file = gzip.GzipFile(fileobj=packed)
        self._name = name

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_END:  # which gzip itself finds by unpacking all, whatever its size
            passed = bytearray(_READ_AHEAD)
            while self.readinto(passed):
                pass
        with self._told():
            return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer)
        with self._told():
            piece = self._file.read1(len(view))
        unpacked = self._file.tell()
        if unpacked > MAX_UNPACKED:
            raise InputTooLargeError(self._name, "the unpacked content", MAX_UNPACKED)
        if unpacked > MAX_SWOLLEN and unpacked > MAX_RATIO * self._packed.tell():
            what = f"the content, which unpacks to {MAX_RATIO} times its size and more,"
            raise InputTooLargeError(self._name, what, MAX_SWOLLEN)
        view[: len(piece)] = piece
        return len(piece)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What gzip finds wrong, in one sentence."""
        try:
            yield
        except (EOFError, OSError, zlib.error) as error:
            raise DamagedArchiveError(self._name) from error


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file without its end.

    Attributes:
        number: From 1, as editors count.
        complete: Whether it ended with a line feed, as far as it was read.
        too_long: Beyond the bound; `content` is then only its beginning.
    """

    number: int
    content: bytes
    complete: bool
    too_long: bool = False


def lines(stream: IO[bytes]) -> Iterator[Line]:
    """Every line that is not blank, one at a time.

    Of a line beyond the bound the rest is read over, not held, once the next line is asked for.
    """
    for number, (piece, complete, too_long) in enumerate(_cut_lines(stream), start=1):
        content = piece[:_SHOWN] if too_long else piece
        if number == 1:
            content = content.removeprefix(BOM)
        content = content.strip(b" \t\r\n")
        if content:
            yield Line(number, content, complete, too_long)


def _cut_lines(stream: IO[bytes]) -> Iterator[tuple[bytes, bool, bool]]:
    """Lines without their line feed, whether they had one, and whether they are beyond the bound.

    Cut from one large buffer: `readline` would copy each line twice more.
    """
    buffer = bytearray(_BUFFER)
    view = memoryview(buffer)
    read_into = cast("io.BufferedIOBase", stream).readinto
    begun: list[bytes] = []
    held = 0
    while size := read_into(buffer):
        start = 0
        while (end := buffer.find(b"\n", start, size)) >= 0:
            if held < MAX_LINE:
                piece = bytes(view[start:end])
                too_long = held + len(piece) >= MAX_LINE
                if begun:
                    piece = begun[0] if too_long else b"".join((*begun, piece))
                yield piece, True, too_long
            begun, held, start = [], 0, end + 1
        if start < size and held < MAX_LINE:
            begun.append(bytes(view[start:size]))
            held += size - start
            if held >= MAX_LINE:
                yield begun[0], False, True
                begun = []
    if begun:
        yield b"".join(begun), False, False


def document(stream: IO[bytes], name: str) -> bytes:
    """The whole content, for formats that cannot be streamed.

    Raises:
        InputTooLargeError: It is beyond the bound.
    """
    content = stream.read(MAX_DOCUMENT + 1)
    if len(content) > MAX_DOCUMENT:
        raise InputTooLargeError(name, "the JSON document", MAX_DOCUMENT)
    return content

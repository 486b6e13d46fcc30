"""Files that stand under their name only once they are complete, and that replace nobody else's."""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from coldturn.reference.prefix.errors import ColdturnError
from coldturn.traces.otlp import TraceFileError
from coldturn.traces.span_reader import UnreadableTraceError, read_spans

_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a write says that names no file."""


class ForeignFileError(ColdturnError):
    """A file that a trace would replace, and that is something else."""

    slug = "foreign-file"

    def __init__(self, path: Path, what: str) -> None:
        self.path = path
        super().__init__(
            f"{path} exists and is no {what} of coldturn, so it stays: choose another name or folder"
        )


def need_place(path: Path, what: str, is_ours: Callable[[Path], bool]) -> None:
    """Refuse at once what `written_whole` would refuse later, and make nothing.

    Args:
        path: The file that is to be written.
        what: What it is, in a word, for the error.
        is_ours: Whether an existing file may be replaced; an empty one always may.

    Raises:
        TraceFileError: Its folder cannot be made or written.
        ForeignFileError: The file exists and is not ours.
    """
    path = led_to(path)
    try:
        there = next(one for one in path.absolute().parents if os.path.lexists(one))
        if not there.is_dir():
            raise TraceFileError(path, f"{path.parent} is no folder")
        if not os.access(there, os.W_OK | os.X_OK):
            raise TraceFileError(path, f"{there} may not be written to")
        _refuse_foreign(path, what, is_ours)
    except OSError as error:
        raise TraceFileError(path, _reason(error)) from error


@contextmanager
def written_whole(path: Path, what: str, is_ours: Callable[[Path], bool]) -> Iterator[Path]:
    """A name beside `path` to write to. It becomes `path` at the end, and is removed when that fails.

    Args:
        path: The file; its folders are made. A link stays one: what it leads to is written.
        what: What it is, in a word, for the error.
        is_ours: Whether an existing file may be replaced; an empty one always may.

    Raises:
        TraceFileError: The folder cannot be made or written, or the disk is full.
        ForeignFileError: The file exists and is not ours.
    """
    path = led_to(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    with made_folders(path.parent):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _remove_leftovers(path)
            _refuse_foreign(path, what, is_ours)
        except (FileExistsError, NotADirectoryError) as error:
            raise TraceFileError(path, f"{path.parent} is no folder") from error
        except OSError as error:
            raise TraceFileError(path, _reason(error)) from error
        try:
            yield partial
            partial.replace(path)
        except OSError as error:
            if error.filename == str(partial) or (error.filename is None and error.errno in _OF_THE_DISK):
                raise TraceFileError(path, _reason(error)) from error
            raise
        finally:
            with suppress(OSError):
                partial.unlink()


def led_to(path: Path) -> Path:
    """What a link leads to, be it there or not; a path that is no link stays as it was given."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def need_trace(path: Path) -> None:
    """Refuse to add spans to a file that is no trace. A device or a pipe takes whatever comes.

    Raises:
        TraceFileError: It cannot be looked at.
        ForeignFileError: It is a file, or a folder, of something else.
    """
    if path.is_file() or path.is_dir():
        try:
            _refuse_foreign(path, "trace", is_trace)
        except OSError as error:
            raise TraceFileError(path, _reason(error)) from error


def _refuse_foreign(path: Path, what: str, is_ours: Callable[[Path], bool]) -> None:
    if path.exists() and (not path.is_file() or (path.stat().st_size and not is_ours(path))):
        raise ForeignFileError(path, what)


@contextmanager
def made_folders(folder: Path) -> Iterator[None]:
    """Remove the folders on the way to `folder` that are not there yet, if they are empty in the end."""
    new = [one for one in (folder, *folder.parents) if not os.path.lexists(one)]
    try:
        yield
    finally:
        with suppress(OSError):
            for one in new:
                one.rmdir()


def _remove_leftovers(path: Path) -> None:
    """Remove what processes began to write to `path` and were killed over."""
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        pid = leftover.name.removesuffix(".part").rpartition(".")[2]
        if pid.isdecimal() and not lives(int(pid)):
            leftover.unlink(missing_ok=True)


def lives(pid: int) -> bool:
    """Whether there is a process of that number."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def is_trace(path: Path) -> bool:
    """Whether a file begins like a trace of ours."""
    try:
        next(read_spans(path), None)
    except UnreadableTraceError:
        return False
    return True


def is_request_dump(path: Path) -> bool:
    """Whether a file begins like the requests that a replay writes."""
    with path.open("rb") as file:
        line = file.readline()
    try:
        first = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return first.keys() == {"started", "request"}

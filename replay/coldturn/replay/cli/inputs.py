"""From what a user typed to the files that are read."""

from __future__ import annotations

import glob
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from coldturn.traces.errors import EmptyInputError, MissingInputError
from coldturn.traces.opening import Source, why

STANDARD_INPUT = "-"
_SUFFIXES = (".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".har")


@dataclass(frozen=True, slots=True)
class Input:
    """One file to read.

    Attributes:
        name: What reports call it.
        found: It was found in a folder rather than named: other kinds of files may stand there too.
    """

    name: str
    source: Source
    found: bool = False


def expand(arguments: Iterable[str]) -> Iterator[Input]:
    """Turn files, folders, globs and ``-`` into files, in the order given, folders sorted.

    Raises:
        MissingInputError: Nothing is there, no file matches, or a place may not be looked at.
        EmptyInputError: A folder holds no file that could be a recording.
    """
    for argument in arguments:
        try:
            yield from _expanded(argument)
        except OSError as error:
            raise MissingInputError(argument, why(error)) from error
        except ValueError as error:
            raise MissingInputError(argument, str(error)) from error


def _expanded(argument: str) -> Iterator[Input]:
    if not argument:
        raise MissingInputError("''", "an empty name names no file")
    if argument == STANDARD_INPUT:
        if sys.stdin is None:
            raise MissingInputError(argument, "standard input is closed")
        yield Input("<stdin>", sys.stdin.buffer)
        return
    if "\0" in argument:
        raise MissingInputError(argument.replace("\0", "·"), "no file has a zero byte in its name")
    path = Path(argument)
    if path.is_dir():
        yield from _folder(path)
    elif path.exists() or not glob.has_magic(argument):
        yield Input(argument, path)
    else:
        yield from _matches(argument)


def _matches(pattern: str) -> Iterator[Input]:
    matches = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - pathlib refuses absolute patterns
    if not matches:
        _look_into(_fixed_folder(pattern))
        raise MissingInputError(pattern, "no file matches")
    for match in matches:
        yield Input(match, Path(match))


def _fixed_folder(pattern: str) -> Path:
    """The folder in front of a pattern's first wildcard."""
    parts = Path(pattern).parts
    wild = next((at for at, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    return Path(*parts[:wild])


def _look_into(folder: Path) -> None:
    """Fail where the folder may not be looked into: searching it would find nothing, in silence."""
    if folder.is_dir():
        next(folder.iterdir(), None)


def once(inputs: Iterable[Input], note: Callable[[str], object], seen: dict[object, str]) -> Iterator[Input]:
    """Each file the first time it is met, under whatever name; a note says which was left out.

    Args:
        inputs: Files in order.
        note: Is told of each that is left out.
        seen: What was met so far, by what it is; goes on from call to call.
    """
    for one in inputs:
        what = followed(one.source) if isinstance(one.source, Path) else one.name
        first = seen.setdefault(what, one.name)
        if first != one.name:
            note(f"{one.name} is the same file as {first}, and read once")
        elif (what, "read") in seen:
            note(f"{one.name} was named more than once, and is read once")
        else:
            seen[what, "read"] = first
            yield one


def followed(path: Path) -> Path:
    """Where a path leads; itself where its links lead in a circle, which whoever opens it is told."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path.absolute()


def _folder(folder: Path) -> Iterator[Input]:
    _look_into(folder)
    names = sorted(path for path in folder.rglob("*") if _could_be_recording(path))
    if not names:
        raise EmptyInputError(str(folder), "no .json, .jsonl or .yaml file in this folder")
    for path in names:
        yield Input(str(path), path, found=True)


def _could_be_recording(path: Path) -> bool:
    name = path.name.lower().removesuffix(".gz")
    hidden = any(part.startswith(".") for part in path.parts if part not in (".", ".."))
    return name.endswith(_SUFFIXES) and not hidden and path.is_file()

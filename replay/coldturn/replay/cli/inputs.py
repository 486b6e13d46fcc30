"""From what a user typed to the files that are read."""

from __future__ import annotations

import glob
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from coldturn.traces.errors import EmptyInputError, MissingInputError
from coldturn.traces.opening import Source

STANDARD_INPUT = "-"
_SUFFIXES = (".json", ".jsonl", ".ndjson", ".yaml", ".yml")


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
        MissingInputError: Nothing is there, or no file matches.
        EmptyInputError: A folder holds no file that could be a recording.
    """
    for argument in arguments:
        path = Path(argument)
        if argument == STANDARD_INPUT:
            yield Input("<stdin>", sys.stdin.buffer)
        elif path.is_dir():
            yield from _folder(path)
        elif path.exists() or not glob.has_magic(argument):
            yield Input(argument, path)
        else:
            matches = sorted(glob.glob(argument, recursive=True))  # noqa: PTH207 - pathlib refuses absolute patterns
            if not matches:
                raise MissingInputError(argument, "no file matches")
            for match in matches:
                yield Input(match, Path(match))


def _folder(folder: Path) -> Iterator[Input]:
    names = sorted(path for path in folder.rglob("*") if _could_be_recording(path))
    if not names:
        raise EmptyInputError(str(folder), "no .json, .jsonl or .yaml file in this folder")
    for path in names:
        yield Input(str(path), path, found=True)


def _could_be_recording(path: Path) -> bool:
    name = path.name.lower().removesuffix(".gz")
    hidden = any(part.startswith(".") for part in path.parts if part not in (".", ".."))
    return name.endswith(_SUFFIXES) and not hidden and path.is_file()

"""Inputs that are read more than once, though standard input and pipes can be read only once."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, cast

from coldturn.replay.cli.inputs import Input


@dataclass(frozen=True, slots=True)
class KeptInputs:
    """Copies of inputs that can be read only once: standard input, pipes."""

    stack: ExitStack
    files: dict[str, IO[bytes]] = field(default_factory=dict)

    def again(self, one: Input) -> Input:
        """The input as often as it is asked for."""
        source = one.source
        if isinstance(source, str | bytes) or (isinstance(source, Path) and not _is_pipe(source)):
            return one
        if one.name not in self.files:
            copy = cast("IO[bytes]", self.stack.enter_context(TemporaryFile()))  # noqa: SIM115 - the stack closes it
            self.files[one.name] = copy
            stream = self.stack.enter_context(source.open("rb")) if isinstance(source, Path) else source
            shutil.copyfileobj(stream, copy)
        copy = self.files[one.name]
        copy.seek(0)
        return replace(one, source=copy)


def _is_pipe(path: Path) -> bool:
    return path.exists() and not path.is_file()

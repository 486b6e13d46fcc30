"""Names of recordings that are the same on every machine: paths from the baseline's folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePath

STANDARD_INPUT = "<stdin>"


@dataclass(frozen=True, slots=True)
class Places:
    """Turns what a user typed into a baseline's names, and back into files.

    Attributes:
        folder: The baseline's, with every link on the way to it followed.
    """

    folder: Path

    @classmethod
    def beside(cls, baseline: Path) -> Places:
        """Those of a baseline at this path, which need not exist."""
        return cls(baseline.parent.resolve())

    def key(self, source: str, base: Path | None = None) -> str:
        """A recording's name in the baseline: relative, with forward slashes.

        Args:
            source: A path, from `base` or from the working directory, or the name of standard input.
            base: Where a relative path starts.
        """
        if source == STANDARD_INPUT:
            return source
        path = (base or Path()) / source
        # The file itself may be a link; it goes by its own name.
        whole = path.parent.resolve() / path.name
        try:
            relative = os.path.relpath(whole, self.folder)
        except ValueError:
            relative = str(whole)  # another drive
        # Names that are no text are spelt out: a baseline is UTF-8.
        return os.fsencode(PurePath(relative).as_posix()).decode("utf-8", "backslashreplace")

    def is_there(self, key: str) -> bool:
        """Whether a recording of the baseline still exists."""
        return key == STANDARD_INPUT or (self.folder / key).exists()

"""Outputs whose encoding does not hold every sign of ours."""

from __future__ import annotations

import codecs
import sys
from io import TextIOWrapper

_PLAIN = {
    "·": "-", "→": "->", "…": "...",
    "⏎": r"\n", "⇥": r"\t", "␍": r"\r", "␛": r"\e",
}  # fmt: skip
_NAME = "coldturn.plain"


def _plain(error: UnicodeError) -> tuple[str, int]:
    """What stands for signs that cannot be written: a plain one for ours, an escape for everybody else's."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(_PLAIN.get(sign) or _escape(sign) for sign in signs), error.end


def _escape(sign: str) -> str:
    return sign.encode("ascii", "backslashreplace").decode()


def take_every_sign() -> None:
    """Let no sign stop the program on standard output and standard error."""
    codecs.register_error(_NAME, _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=_NAME)

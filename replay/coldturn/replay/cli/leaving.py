"""How the program ends: usage errors as one sentence, outputs that cannot be written, Ctrl-C."""

from __future__ import annotations

import errno
import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import typer

from coldturn.reference.complaints import plain_complaint
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.replay.cli.exit_codes import BROKEN_PIPE, ExitCode
from coldturn.replay.cli.settings import SETTINGS_FILE, SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable

_PLAIN = (
    (re.compile(r"Value must be an iterable"), "a list is expected"),
    (re.compile(r"^Invalid value for (.+?): "), r"\1: "),
    (re.compile(r"'(--?[\w-]+|(?:-- )?[A-Z.]+)'"), r"\1"),
)
_WORD = re.compile(r"[A-Z][a-z]")


class OutputError(ColdturnError):
    """A result that cannot be written where it should go."""

    slug = "output"

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where} cannot be written ({reason}): send the output elsewhere, or make room")


class SystemRefusalError(ColdturnError):
    """Something that the system did not let the program do, and that no command has better words for."""

    slug = "system"

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(f"{what}: {reason}; check the path, its permissions and the room on the disk")


def of_usage(error: typer.TyperException) -> ColdturnError:
    """The command line library's complaint as an error of ours; a setting of the project names its file."""
    from coldturn.replay.cli.options import usage_error

    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "coldturn"
    message = _plain(error.format_message())
    name = getattr(getattr(error, "param", None), "name", None)
    source = context.get_parameter_source(name) if context is not None and name else None
    if source is not None and source.name == "DEFAULT_MAP":
        return SettingsError(SETTINGS_FILE, message)
    place = command.removeprefix("coldturn").strip()
    return usage_error(f"{place + ': ' if place else ''}{message}; see {command} --help")


def _plain(message: str) -> str:
    text = " ".join(message.split()).rstrip(".")
    for pattern, words in _PLAIN:
        text = pattern.sub(words, text)
    text = ": ".join(plain_complaint(part) for part in text.split(": "))
    return text[:1].lower() + text[1:] if _WORD.match(text) else text


def of_system(error: OSError) -> ColdturnError:
    """An error of the system that nobody caught, in one sentence."""
    reason = (error.strerror or str(error) or "unknown error").lower()
    if error.filename is None:
        return OutputError("standard output", reason)
    return SystemRefusalError(str(error.filename), reason)


def finish(code: int) -> int:
    """Write out what is still held back, so that the exit code tells of it.

    Raises:
        OSError: The output cannot be written.
    """
    if sys.stdout is not None:
        sys.stdout.flush()
    return code


def tell(error: ColdturnError) -> int:
    """Say an error on standard error, where there is one, and return its exit code."""
    from coldturn.replay.cli.signs import shown_line

    with suppress(OSError):
        if sys.stderr is not None:
            sys.stderr.write(f"coldturn: {shown_line(str(error))} [{error.slug}]\n")
            sys.stderr.flush()
    return int(getattr(error, "exit_code", ExitCode.UNUSABLE))


def give_up(error: OSError) -> int:
    """End because of the system. A reader that has read enough is no news; shells call that 141."""
    code = BROKEN_PIPE if error.errno == errno.EPIPE else tell(of_system(error))
    _drop_output()
    return code


def _drop_output() -> None:
    """Keep the interpreter from trying once more, and complaining, when it ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                _to_nowhere(stream.fileno())


def _to_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def need_output(arguments: Iterable[str]) -> None:
    """Refuse to work for nobody; without standard error its messages are dropped.

    Raises:
        OutputError: Standard output is closed.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - for the rest of the process
    if sys.stdout is None:
        sys.stdout = sys.stderr
        raise OutputError(
            "standard output", f"it is closed, and {' '.join(['coldturn', *arguments][:2])} prints"
        )

"""What the commands share: reading inputs, printing, exit codes."""

from __future__ import annotations

import errno
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import orjson
from rich.console import Console, ConsoleRenderable, RenderHook
from rich.text import Text

from coldturn.analysis.breaks.findings import ReadError, Report
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.replay.cli.error_view import sentences
from coldturn.replay.cli.exit_codes import ExitCode
from coldturn.replay.cli.inputs import Input, expand, once
from coldturn.replay.cli.signs import Marking, shown_line
from coldturn.replay.cli.wrapping import wrapped
from coldturn.traces.errors import NumbersOnlyError, UnrecognisedInputError, UnsupportedFormatError
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.readers import read_exchanges
from coldturn.traces.sniff import InputKind

_OF_OPTIONS = frozenset({"rule-parameter", "unknown-rules"})
"""Errors that no input is to blame for."""


def stdout() -> Console:
    """Where results go; colours only on a terminal. What inputs hold cannot steer it."""
    console = _Console(file=sys.stdout, highlight=False, soft_wrap=True, markup=False, emoji=False)
    if console.is_terminal:
        console.push_render_hook(_Wrapping(console))
    console.push_render_hook(Marking())
    return console


class _Wrapping(RenderHook):
    def __init__(self, console: Console) -> None:
        self._console = console

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [wrapped(one, self._console) if isinstance(one, Text) else one for one in renderables]


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the program, which knows its exit code."""
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def say(message: str) -> None:
    """Tell the user something that is no result."""
    sys.stderr.write(f"coldturn: {shown_line(message)}\n")


def print_json(value: Any) -> None:  # noqa: ANN401 - any JSON
    """Print a result for machines. What the output's encoding cannot hold (lone surrogates) is escaped."""
    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
        text.encode(sys.stdout.encoding or "utf-8")
    except (TypeError, UnicodeEncodeError):
        text = json.dumps(value, indent=2)
    sys.stdout.write(text + "\n")


@contextmanager
def progress(what: str) -> Iterator[Progress]:
    """Show on standard error how far a long piece of work has come; nothing when that is no terminal."""
    ticker = Progress(what, shown=sys.stderr.isatty())
    try:
        yield ticker
    finally:
        ticker.clear()


class Progress:
    """A line that counts, at most five times a second."""

    def __init__(self, what: str, *, shown: bool) -> None:
        self._what = what
        self._shown = shown
        self._count = 0
        self._written = False
        self._next = time.monotonic() + 0.5

    def step(self) -> None:
        """One more is done."""
        self._count += 1
        if self._shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + 0.2
            self._written = True
            sys.stderr.write(f"\r{self._what}: {self._count:,}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._written:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Taker(Protocol):
    """What takes the exchanges of all inputs, one after another."""

    def add(self, item: Exchange | EntryError) -> None:
        """The next exchange of its source."""

    def fail(self, source: str, error: ColdturnError) -> None:
        """An input could not be read, or not to its end."""

    def finish(self, source: str) -> None:
        """An input is at its end."""


class _Counted:
    """Passes on what is read, and remembers the inputs that hold a single body and nothing around it."""

    def __init__(self, taker: Taker) -> None:
        self._taker = taker
        self._bodies: list[bool] = []
        self.alone: list[str] = []

    def add(self, item: Exchange | EntryError) -> None:
        self._taker.add(item)
        if len(self._bodies) < 2:
            self._bodies.append(
                isinstance(item, Exchange) and item.kind is ExchangeKind.MODEL and not item.url
            )

    def fail(self, source: str, error: ColdturnError) -> None:
        self._taker.fail(source, error)
        self._bodies = []

    def finish(self, source: str) -> None:
        self._taker.finish(source)
        if self._bodies == [True]:
            self.alone.append(source)
        self._bodies = []


def read_all(
    explainer: Taker,
    arguments: Iterable[str],
    kind: InputKind | None,
    numbers: Callable[[Input], bool] = lambda _: False,
    first: Callable[[Input], bool] = lambda _: False,
    note: Callable[[str], object] = say,
) -> ExitCode:
    """Feed every input to `explainer`; those that cannot be read are noted and do not stop the rest.

    Args:
        explainer: Takes what is read.
        arguments: What the user typed.
        kind: What the inputs are; recognised when None.
        numbers: Is asked to take an input that holds numbers instead of bytes; says whether it did.
        first: Is asked to take each input before it is read as requests; says whether it did.
        note: Is told of inputs that are left out.

    Raises:
        ColdturnError: An option is wrong, which only a request could show.

    Returns:
        FINE; UNUSABLE when an input could not be read; CANNOT_EVALUATE when that is only for want of bytes.
    """
    codes: list[ExitCode] = []
    seen: dict[object, str] = {}
    counted = _Counted(explainer)
    with progress("requests read") as ticker:
        for argument in arguments:
            try:
                codes += _read_argument(counted, argument, kind, ticker, numbers, seen, first, note)
            except ColdturnError as error:
                if error.slug in _OF_OPTIONS:
                    raise
                explainer.fail(argument, error)
                codes.append(ExitCode.UNUSABLE)
    if len(counted.alone) > 1:
        note(
            f"{len(counted.alone)} inputs from {counted.alone[0]} on hold one request each, and no "
            "conversation is followed from one input to another: what belongs together has to stand "
            "in one, in its order (jq -s . *.json > all.json)"
        )
    return max(codes, default=ExitCode.FINE, key=_severity)


def _read_argument(
    explainer: Taker,
    argument: str,
    kind: InputKind | None,
    ticker: Progress,
    numbers: Callable[[Input], bool],
    seen: dict[object, str],
    first: Callable[[Input], bool],
    note: Callable[[str], object],
) -> Iterator[ExitCode]:
    for one in once(expand([argument]), note, seen):
        try:
            if first(one):
                continue
            for item in read_exchanges(one.source, name=one.name, kind=kind):
                explainer.add(item)
                ticker.step()
        except NumbersOnlyError as error:
            if numbers(one):
                continue
            explainer.fail(one.name, error)
            yield ExitCode.FINE if one.found else ExitCode.CANNOT_EVALUATE
        except (UnrecognisedInputError, UnsupportedFormatError) as error:
            explainer.fail(one.name, error)
            yield ExitCode.FINE if one.found else ExitCode.UNUSABLE
        except ColdturnError as error:
            if error.slug in _OF_OPTIONS:
                raise
            explainer.fail(one.name, error)
            yield ExitCode.UNUSABLE
        else:
            explainer.finish(one.name)


def _severity(code: ExitCode) -> int:
    return (ExitCode.FINE, ExitCode.FINDING, ExitCode.CANNOT_EVALUATE, ExitCode.UNUSABLE).index(code)


def exit_code(report: Report, reading: ExitCode, *, strict: bool) -> ExitCode:
    """The code that reading alone leads to; what was found may raise it."""
    if reading is not ExitCode.FINE:
        return reading
    if not report.requests or (strict and report.errors):
        return ExitCode.UNUSABLE
    return ExitCode.FINE


def tell_errors(report: Report) -> None:
    """Print the errors of a report on standard error, as `tell` does."""
    tell(report.errors)


def tell(errors: Iterable[ReadError]) -> None:
    """Print errors on standard error, one sentence each; many of a kind are counted."""
    for sentence in sentences(errors):
        say(sentence)

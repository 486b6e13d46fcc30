"""Inputs of a comparison of two: exactly one request each, or two plain texts."""

from __future__ import annotations

import os
from collections.abc import Sequence

from coldturn.analysis.breaks.texts import NamedText
from coldturn.replay.cli.inputs import expand
from coldturn.replay.cli.options import usage_error
from coldturn.traces.errors import NoRequestsError, UnreadableEntryError, UnreadableTextError
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.opening import document, opened
from coldturn.traces.readers import read_exchanges
from coldturn.traces.sniff import InputKind


def two_texts(names: Sequence[str]) -> tuple[NamedText, NamedText]:
    """Read two plain text files.

    Raises:
        UsageError: There are not two.
        UnreadableTextError: One is no UTF-8.
    """
    if len(names) != 2:
        were = "was" if len(names) == 1 else "were"
        raise usage_error(
            f"--text compares two files, and {len(names)} {were} given: name the older one first"
        )
    return _text(names[0]), _text(names[1])


def _text(argument: str) -> NamedText:
    for one in expand([argument]):
        with opened(one.source, one.name) as stream:
            content = document(stream, one.name)
        try:
            content.decode()
        except UnicodeDecodeError as error:
            raise UnreadableTextError(one.name, error.start) from error
        return NamedText(one.name, content)
    raise usage_error(f"{argument}: names no file")


def only_request(argument: str, kind: InputKind | None) -> Exchange:
    """The one request to a model that an input holds.

    Raises:
        UsageError: It holds several.
        ColdturnError: It holds none, or cannot be read.
    """
    found: list[Exchange] = []
    others = 0
    if os.path.isdir(argument):  # noqa: PTH112 - false, not an error, for names that no file can have
        raise usage_error(f"{argument} is a folder: name the file that holds the one request to compare")
    for one in expand([argument]):
        for item in read_exchanges(one.source, name=one.name, kind=kind):
            if isinstance(item, EntryError):
                raise UnreadableEntryError(item.source, item.entry, item.message)
            if item.kind is ExchangeKind.MODEL:
                found.append(item)
            else:
                others += 1
            if len(found) > 1:
                raise usage_error(f"{argument} holds more than one request; diff compares one with one")
    if not found:
        raise NoRequestsError(argument, [f"{others} other request{'s'[: others != 1]}"] if others else [])
    return found[0]

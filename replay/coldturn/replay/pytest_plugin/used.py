"""Which recordings a test used, found by what its fixtures returned."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coldturn.replay.pytest_plugin.played import Played

_CASSETTES = "vcr.cassette"
_RECORDERS = "coldturn.replay.capture.recorder"
_PYTEST_RECORDING = "pytest_recording.plugin"


def recordings_of(
    value: object, fixture: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> list[Path]:
    """Files of the cassette or recorder that a fixture returned, if it is one; nothing is imported for that.

    Args:
        value: What the fixture returned.
        fixture: The fixture.
        request: Who asked for it.
    """
    kind = type(value).__module__
    if kind == _RECORDERS:
        value = getattr(value, "cassette", None)
    elif kind != _CASSETTES:
        return []
    path = getattr(value, "_path", None)
    if not isinstance(path, str | os.PathLike):
        return []
    found = [Path(path)]
    if fixture.func.__module__ == _PYTEST_RECORDING:
        found += _further(request)
    return [one.absolute() for one in found]


def played_of(value: object) -> Played | None:
    """Watch what a test sends to vcrpy's cassette from now on; None for other values of fixtures."""
    path = getattr(value, "_path", None)
    if type(value).__module__ != _CASSETTES or not isinstance(path, str | os.PathLike):
        return None
    played = Played(value, Path(path).absolute())
    played.watch()
    return played


def _further(request: pytest.FixtureRequest) -> Iterator[Path]:
    """More cassettes that pytest-recording's mark names: played besides the one of the test."""
    folder = Path(request.getfixturevalue("vcr_cassette_dir"))
    for mark in request.node.iter_markers("vcr"):
        for name in mark.args:
            yield folder / str(name)

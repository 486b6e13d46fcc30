"""Engines for the tests of this folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest

from engine.server import Engine, running_engine
from engine.tiny_model import write_tiny_model

EngineOf = Callable[..., Engine]


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model's file. Without the extra `engine` tests are skipped, but never where CI runs them."""
    if find_spec("xllamacpp") is None and "CI" not in os.environ:
        pytest.skip("the inference engine is not installed: pip install 'coldturn[engine]'")
    path = tmp_path_factory.mktemp("engine") / "tiny.gguf"
    write_tiny_model(path)
    return path


@pytest.fixture
def engine_of(tiny_model: Path) -> Iterator[EngineOf]:
    """Starts engines with empty slots: ``engine_of(slots=4)``; they end with the test."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(running_engine(tiny_model, **settings))

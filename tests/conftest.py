"""What every room's tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CORPUS_VARIABLE = "COLDTURN_CORPUS"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of published recordings; a user's clone has none."""
    value = os.environ.get(CORPUS_VARIABLE)
    if not value:
        pytest.skip(f"{CORPUS_VARIABLE} is not set: published recordings are not part of the project")
    folder = Path(value).resolve()
    assert folder.is_dir(), f"{CORPUS_VARIABLE} names no folder: {folder}"
    return folder


@pytest.fixture
def anyio_backend() -> str:
    """Async tests run on asyncio."""
    return "asyncio"

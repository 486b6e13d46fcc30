"""Pages of docs/ show what their commands print."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from gate.conftest import ROOT


@pytest.fixture(scope="module")
def update_pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("update_pages", ROOT / "docs" / "update_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["docs/check.md", "docs/inputs.md", "docs/pytest.md"])
def test_pages_show_what_their_commands_print(update_pages: ModuleType, name: str) -> None:
    assert name in update_pages.PAGES
    page = (ROOT / name).read_text(encoding="utf-8")
    assert page.count("<!-- run") == page.count("<!-- /run -->") > 2
    assert update_pages.with_outputs(page) == page, "run `make readme`"


def test_a_page_with_another_output_is_noticed(update_pages: ModuleType) -> None:
    page = "<!-- run: echo new -->\n```console\n$ echo new\nold\n```\n<!-- /run -->\n"
    assert update_pages.with_outputs(page) == page.replace("old", "new")
    with pytest.raises(ValueError, match="ended with 0"):
        update_pages.with_outputs(page.replace("run: ", "run 1: "))
    with pytest.raises(ValueError, match="no <!-- /run -->"):
        update_pages.with_outputs(page.replace("<!-- /run -->", ""))

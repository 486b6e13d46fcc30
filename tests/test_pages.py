"""Pages of docs/ show what their commands print."""

from __future__ import annotations

import re

import pytest
from docs import update_pages


@pytest.mark.parametrize("name", update_pages.PAGES)
def test_a_page_shows_what_its_commands_print(name: str) -> None:
    if name == "docs/notebook.md":
        pytest.importorskip("marimo", reason="the extra `notebooks` is not installed")
    page = (update_pages.ROOT / name).read_text(encoding="utf-8")
    assert page.count("<!-- run") == page.count("<!-- /run -->") > 0
    assert update_pages.with_outputs(page) == page, "run `make readme`"


def test_every_page_with_commands_is_among_them() -> None:
    found = {
        path.relative_to(update_pages.ROOT).as_posix()
        for path in (update_pages.ROOT / "docs").glob("*.md")
        if re.search(r"^<!-- run", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert found == set(update_pages.PAGES)


def test_a_page_with_another_output_is_noticed() -> None:
    page = "<!-- run: echo new -->\n```console\n$ echo new\nold\n```\n<!-- /run -->\n"
    assert update_pages.with_outputs(page) == page.replace("old", "new")
    with pytest.raises(ValueError, match="ended with 0"):
        update_pages.with_outputs(page.replace("run: ", "run 1: "))
    with pytest.raises(ValueError, match="no <!-- /run -->"):
        update_pages.with_outputs(page.replace("<!-- /run -->", ""))

"""Every cause that no text shows has a remedy and a paragraph, and the page's tables are the code's."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from coldturn.analysis import verdicts
from coldturn.analysis.verdicts.cached_content import CHANGED, EXPIRED
from coldturn.analysis.verdicts.handoff import API, PROVIDER
from coldturn.analysis.verdicts.remedies import NO_TEXT, SETTINGS
from coldturn.analysis.verdicts.settings import HEADERS, ORDER, PATHS
from coldturn.traces.exchange import CACHE_HEADERS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "causes.md").read_text(encoding="utf-8")
PARAGRAPHS = dict(re.findall(r"^### (\w+)\n\n(.+?)(?=\n\n#|\Z)", PAGE, re.MULTILINE | re.DOTALL))


def named() -> Iterator[str]:
    """The first argument of every `Named(...)` and `Changed(...)` that is written out."""
    for path in sorted(Path(verdicts.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                first = node.args[0]
                if node.func.id in {"Named", "Changed"} and isinstance(first, ast.Constant):
                    yield str(first.value)


def test_every_cause_of_the_code_has_a_remedy() -> None:
    of_text = {"unknown", "image_toggle"}
    known = {*PATHS, *HEADERS.values(), *named(), "image_detail_changed", "too_many_markers", "ttl_order"}
    known |= {PROVIDER, API, CHANGED, EXPIRED}
    assert known - of_text == {*SETTINGS, *NO_TEXT}
    assert {*PATHS, "model_changed", "image_toggle"} == set(ORDER)
    assert set(HEADERS) == CACHE_HEADERS


@pytest.mark.parametrize("cause", [*SETTINGS, *NO_TEXT])
def test_each_has_a_paragraph_that_says_more(cause: str) -> None:
    remedy = {**SETTINGS, **NO_TEXT}[cause]
    assert "\n" not in remedy
    assert 20 < len(remedy) < 140
    assert remedy.endswith(".")
    assert len(PARAGRAPHS[cause]) > len(remedy)


def test_the_table_of_others_words_is_the_code_s() -> None:
    update = runpy.run_path(str(DOCS / "update_causes.py"))
    assert update["with_table"](PAGE) == PAGE

"""Every cause that the code can name has a remedy of one line and a paragraph under its own anchor."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from coldturn.analysis.verdicts.remedies import ALL_REMEDIES
from coldturn.reference.prefix import causes
from coldturn.reference.prefix.causes import REMEDIES

PACKAGE = Path(causes.__file__).parent
PAGE = (Path(__file__).parents[2] / "docs" / "causes.md").read_text(encoding="utf-8")
PARAGRAPHS = dict(re.findall(r"^### (\w+)\n\n(.+?)(?=\n\n#|\Z)", PAGE, re.MULTILINE | re.DOTALL))
CAUSE = re.compile(
    r"^(tool|tier|facade|schema|defer|random|clock|date|attribution|env|catalog|skills|subagent|memory|section|system"
    r"|elision|planned|transient|compaction|thinking|image|history|content|whitespace|json|empty|message"
    r"|block)_\w+$|^(compaction|unknown)$"
)
NO_CAUSES = {"tool_search", "tool_reference", "defer_loading"}
"""Words of the formats that look like causes."""


def strings() -> Iterator[str]:
    """Every string constant of the rules' modules."""
    for path in sorted(PACKAGE.glob("*.py")):
        if path.name != "remedies.py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def test_every_cause_in_the_code_has_a_remedy() -> None:
    named = {text for text in strings() if CAUSE.match(text)} - NO_CAUSES
    assert sorted(named - set(REMEDIES)) == []
    assert sorted(set(REMEDIES) - named) == []


def test_every_cause_has_a_paragraph_and_the_page_no_other() -> None:
    assert sorted(set(REMEDIES) - set(PARAGRAPHS)) == []
    assert sorted(set(PARAGRAPHS) - set(ALL_REMEDIES)) == [], "settings and placement have theirs here too"


@pytest.mark.parametrize("cause", sorted(REMEDIES))
def test_remedies_are_one_sentence_line_and_paragraphs_say_more(cause: str) -> None:
    remedy = REMEDIES[cause]
    assert "\n" not in remedy
    assert 20 < len(remedy) < 140
    assert remedy.endswith(".")
    assert len(PARAGRAPHS[cause]) > len(remedy) or cause in {"content_shape", "image_replaced", "unknown"}

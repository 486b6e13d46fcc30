"""docs/explain.md shows what the command prints, and its Python runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explain.md").read_text(encoding="utf-8")


def test_its_outputs_are_real() -> None:
    update = runpy.run_path(str(ROOT / "docs" / "update_explain.py"))
    assert update["with_outputs"](PAGE) == PAGE, "run python docs/update_explain.py"


def test_its_python_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "explain.md", "exec"), {})  # noqa: S102 - the page's own example
    assert "ttl_expired" in capsys.readouterr().out


def test_no_content_shows_none_of_the_prompt() -> None:
    (block,) = re.findall(r"<!-- no-content: .*?<!-- /no-content -->", PAGE, re.DOTALL)
    assert "House rules" not in block
    assert "09:" not in block

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def update_readme() -> ModuleType:
    spec = importlib.util.spec_from_file_location("update_readme", ROOT / "docs" / "update_readme.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("block", ["demo", "ablation", "explain", "advise"])
def test_figures_in_the_readme_are_what_the_command_prints(update_readme: ModuleType, block: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert update_readme.with_output(readme, block) == readme, "run `make readme`"


def test_every_block_is_checked(update_readme: ModuleType) -> None:
    assert sorted(update_readme.BLOCKS) == ["ablation", "advise", "demo", "explain"]

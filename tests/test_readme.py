from __future__ import annotations

import importlib.util
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from coldturn.replay.cli.app import main

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


def first_commands() -> Iterator[list[str]]:
    """The commands of the README's first block, without the one that installs."""
    block = (ROOT / "README.md").read_text(encoding="utf-8").partition("```console\n")[2].partition("```")[0]
    for line in block.splitlines():
        words = shlex.split(line, comments=True)
        if words[0] == "coldturn":
            yield words[1:]


def test_the_first_commands_run_as_they_are_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = list(first_commands())
    assert [words[0] for words in commands] == ["docs", "explain", "advise", "report", "check", "demo"]
    for words in commands:
        arguments, _, out = " ".join(words).partition(" > ")
        with pytest.raises(SystemExit) as left:
            main(arguments.split())
        printed = capsys.readouterr()
        assert not left.value.code, (words, printed.err)
        if out:
            Path(out).write_text(printed.out, encoding="utf-8")
    assert {one.name for one in tmp_path.iterdir()} == {
        "tickets.jsonl",
        "report.html",
        "coldturn.lock.json",
        "coldturn-demo",
    }

"""`coldturn docs`: pages, sections and examples print; what links led to is named by a command."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli_runs import Run, runner
from coldturn.analysis.verdicts.remedies import ALL_REMEDIES
from coldturn.replay.cli.app import COMMANDS
from coldturn.replay.manual.pages import EXAMPLES, PAGES, UnknownPageError, find, sections
from coldturn.replay.manual.printable import printable

DOCS = Path(__file__).parents[2] / "docs"
_COMMANDS = re.compile(r"`coldturn docs ([^`\s]+)`")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def test_the_list_names_every_page_and_example(run: Run) -> None:
    printed = run("docs")
    assert printed.code == 0
    for name, about in PAGES.items():
        assert re.search(rf"^  {name} +{re.escape(about)}$", printed.out, re.MULTILINE)
    for name in EXAMPLES:
        assert name in printed.out


def test_every_page_that_users_read_is_listed() -> None:
    written = {path.stem for path in DOCS.glob("*.md")}
    assert written - {"design"} == PAGES.keys()


@pytest.mark.parametrize("page", PAGES)
def test_links_and_pictures_become_words_and_commands(page: str) -> None:
    shown = find(page).text
    prose = re.sub(r"^```.*?^```$", "", shown, flags=re.MULTILINE | re.DOTALL)
    assert prose.startswith("# ")
    assert "<!--" not in prose
    assert not re.search(r"\]\((?!https://)", prose)
    for name in _COMMANDS.findall(prose):
        if name != "NAME":
            find(name)


def test_code_stays_as_it_is_written() -> None:
    blocks = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
    for page in PAGES:
        assert blocks.findall(find(page).text) == blocks.findall((DOCS / f"{page}.md").read_text("utf-8"))


@pytest.mark.parametrize("cause", sorted(ALL_REMEDIES))
def test_every_cause_prints_its_paragraph_alone(cause: str) -> None:
    shown = find(cause)
    assert shown.name == f"causes#{cause}"
    assert shown.text.startswith(f"### {cause}\n")
    assert shown.text.count("\n#") == 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("docs/causes.md#tool_added", "causes#tool_added"),
        ("causes#tool_added", "causes#tool_added"),
        ("Tool-Added", "causes#tool_added"),
        ("[missing-input]", "errors#missing-input"),
        ("usage", "errors#usage"),
        ("settings", "errors#settings"),
        ("causes#settings", "causes#settings"),
        ("replaying.md", "replaying"),
        ("system-prompt", "causes#system-prompt"),
        ("tools_changed", "causes#what-others-call-them"),
        ("docs/examples/agent.toml", "agent.toml"),
    ],
)
def test_a_name_means_what_it_says(name: str, expected: str) -> None:
    assert find(name).name == expected


@pytest.mark.parametrize("command", [command.name for command in COMMANDS if command.name != "docs"])
def test_every_command_has_a_page_or_a_section(command: str) -> None:
    assert find(command).text


def test_a_section_holds_those_inside_it_and_ends_before_the_next() -> None:
    found = sections("causes")
    assert "### tool_added" in found["tools"]
    assert "### clock_in_prefix" not in found["tools"]
    assert "minetoml" not in sections("replaying"), "a comment in code is no heading"


def test_a_section_of_several_pages_needs_its_page(run: Run) -> None:
    printed = run("docs", "policies")
    assert printed.code == 2
    assert "replaying#policies" in printed.err
    assert "[several-pages]" in printed.err
    assert run("docs", "runtime#policies").out.startswith("## Policies\n")


def test_an_unknown_name_gets_what_is_called_alike(run: Run) -> None:
    printed = run("docs", "clok_in_prefix")
    assert printed.code == 2
    assert not printed.out
    assert "did you mean clock_in_prefix" in printed.err
    assert printed.err.count("\n") == 1
    with pytest.raises(UnknownPageError) as unknown:
        find("causes#tool_aded")
    assert "tool_added" in unknown.value.near
    assert "did you mean" not in run("docs", "zzzzzz").err


def test_an_example_prints_byte_for_byte(run: Run) -> None:
    for name in EXAMPLES:
        assert run("docs", name).out == (DOCS / "examples" / name).read_text("utf-8")


def test_links_of_every_kind() -> None:
    page = (
        "# A\n<!-- run: x -->\n[causes.md](causes.md), [words\nof mine](b.md#c), [here](#d), [out](https://e)\n"
        "![seen](images/f.png) [why](design.md) [file](examples/agent.toml)\n```\n[kept](g.md)\n```\n"
    )
    assert printable(page, "a") == (
        "# A\n`coldturn docs causes`, words\nof mine (`coldturn docs b#c`), here (`coldturn docs a#d`), "
        "[out](https://e)\n(Picture: seen) why file (`coldturn docs agent.toml`)\n```\n[kept](g.md)\n```\n"
    )


def test_a_terminal_gets_the_page_laid_out(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "90")
    shown = re.sub(r"\x1b\[[\d;]*m", "", run("docs", "surfaces").out)
    assert "**" not in shown
    assert "generate_content" in shown
    assert "…" not in shown, "a long word of a table is broken, not cut off"
    assert max(map(len, shown.splitlines())) <= 90


def test_the_list_needs_neither_readers_nor_frames() -> None:
    code = (
        "import sys; from coldturn.replay.manual.pages import find; find('tool_added');"
        "print({'polars', 'mcp', 'vcr', 'matplotlib'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - ours
    assert done.stdout.strip() == "set()"

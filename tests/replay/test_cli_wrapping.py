"""What a narrow terminal and a poor encoding show: nothing is cut, words stand below words."""

from __future__ import annotations

import io
import re
import sys
from itertools import pairwise

import pytest
import typer
from rich.console import Console
from rich.text import Text

from coldturn.replay.cli import common
from coldturn.replay.cli.app import COMMANDS, Command, main
from coldturn.replay.cli.streams import take_every_sign
from coldturn.replay.cli.wrapping import wrapped

LOST = (
    "    lost   about 1,020 tokens: 2,735 bytes behind byte 374 of the prompt, and what is in front of them"
)


def shown(text: Text | str, width: int) -> list[str]:
    return wrapped(Text(text) if isinstance(text, str) else text, Console(width=width)).plain.split("\n")


def test_words_go_on_below_words() -> None:
    assert shown(LOST, 50) == [
        "    lost   about 1,020 tokens: 2,735 bytes behind",
        "           byte 374 of the prompt, and what is in",
        "           front of them",
    ]


def test_a_line_without_a_label_goes_on_a_little_further_in() -> None:
    lines = shown("  a sentence that is longer than this terminal is wide", 40)
    assert lines == ["  a sentence that is longer than this", "    terminal is wide"]


def test_a_long_word_is_broken_and_nothing_is_lost() -> None:
    lines = shown("    was    " + "x" * 100, 50)
    assert max(map(len, lines)) <= 50
    assert sum(line.count("x") for line in lines) == 100


def test_columns_are_no_labels_and_short_lines_stay() -> None:
    row = "clock_in_prefix_and_more            2         2,062"
    assert shown(f"{row}\nshort", 51) == [row, "short"]
    assert shown(row, 45)[1].startswith("  2,062")


def test_colours_stay_where_they_are() -> None:
    text = Text("    do     ") + Text("word " * 20, style="green")
    spans = wrapped(text, Console(width=40)).spans
    assert {str(span.style) for span in spans} == {"green"}


def test_nothing_is_wrapped_where_there_is_no_room_or_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(LOST, 38) == [LOST]
    monkeypatch.setenv("COLUMNS", "50")
    common.stdout().print(LOST)
    assert capsys.readouterr().out == LOST + "\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    common.stdout().print(LOST)
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_signs_of_ours_have_plain_ones_where_the_encoding_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="ascii", write_through=True)
    monkeypatch.setattr(sys, "stdout", stream)
    take_every_sign()
    stream.write("a · b → c … Time:⏎⇥\u00e9\ud800")
    assert written.getvalue() == rb"a - b -> c ... Time:\n\t\xe9\ud800"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_examples_are_whole_and_paragraphs_filled_at_eighty_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: Command
) -> None:
    loaded = command.load()
    programs = loaded.registered_commands if isinstance(loaded, typer.Typer) else []
    monkeypatch.setenv("COLUMNS", "80")
    for words in [[command.name], *([command.name, str(one.name)] for one in programs)]:
        with pytest.raises(SystemExit):
            main([*words, "--help"])
        text = capsys.readouterr().out.partition("╭")[0]
        lines = [line.strip() for line in text.splitlines()]
        prose, _, examples = "\n".join(lines).partition("Examples:")
        whole = re.compile(rf"coldturn {' '.join(words)}\b.*")
        assert all(whole.fullmatch(line) for line in examples.splitlines() if line), "each can be copied"
        for line, following in pairwise(prose.splitlines()):
            if line and following and not following.startswith("-"):
                assert len(line) + 1 + len(following.split()[0]) > 77, f"{line!r} ends early"

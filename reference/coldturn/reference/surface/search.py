"""Keyword search over the permitted tools, ranked by BM25.

SQLite's full-text index ranks: it is kept, and it is there with the catalogue's database. Splitting names
into words is ours, so the index is fed words that are already split.
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from coldturn.reference.catalogue import CatalogueTool
from coldturn.reference.surface.lines import first_line, one_line

_CAMEL = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|[\W_]+")
_LINE_CHARS = 160


def words(text: str) -> list[str]:
    """Split at case changes, digits and everything that is no letter, in any script; casefolded.

    East Asian text has no spaces: a word of another script in it ("GitHubのissue") stands by itself.
    """
    spaced = []
    for before, here, after in zip(" " + text, text, text[1:] + " ", strict=False):
        starts_word = here.isupper() and (before.islower() or (before.isupper() and after.islower()))
        other_script = not (before.isascii() and here.isascii()) and _is_wide(before) != _is_wide(here)
        spaced.append(" " + here if starts_word or other_script else here)
    return [word.casefold() for word in _CAMEL.split("".join(spaced)) if word]


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in {"W", "F"}


@dataclass(frozen=True, slots=True)
class Hits:
    """The best matches, best first, and how many there are in all."""

    tools: tuple[CatalogueTool, ...]
    total: int


def search(tools: Sequence[CatalogueTool], query: str, *, limit: int) -> Hits:
    """Rank `tools` for `query`: an exact name first, then BM25, ties by (server, name)."""
    wanted = list(dict.fromkeys(words(query)))
    exact = {index for index, tool in enumerate(tools) if tool.name.casefold() == query.strip().casefold()}
    scores = _scores(tools, wanted) if wanted else {}
    found = sorted(
        scores.keys() | exact,
        key=lambda index: (
            index not in exact,
            scores.get(index, 0.0),
            tools[index].server,
            tools[index].name,
        ),
    )
    return Hits(tuple(tools[index] for index in found[:limit]), len(found))


def _scores(tools: Iterable[CatalogueTool], wanted: Iterable[str]) -> dict[int, float]:
    """BM25 by index; SQLite's is negative, smaller is better."""
    database = sqlite3.connect(":memory:")
    try:
        # The words are split already: the ascii tokenizer takes every other character for part of a word.
        database.execute("CREATE VIRTUAL TABLE tool USING fts5 (words, content='', tokenize='ascii')")
        database.executemany(
            "INSERT INTO tool (rowid, words) VALUES (?, ?)",
            ((index + 1, _document(tool)) for index, tool in enumerate(tools)),
        )
        match = " OR ".join(f'"{word}"' for word in wanted)
        rows = database.execute("SELECT rowid, bm25(tool) FROM tool WHERE tool MATCH ?", (match,))
        # Twelve digits: the last bits of a logarithm differ between machines, and must not order a tie.
        return {rowid - 1: round(score, 12) for rowid, score in rows}
    finally:
        database.close()


@lru_cache(maxsize=4096)
def _document(tool: CatalogueTool) -> str:
    """The words of a tool, spaced. Rows are immutable, and splitting them is most of a search."""
    arguments = tool.input_schema.get("properties")
    names = list(arguments) if isinstance(arguments, dict) else []
    return " ".join(
        word for text in (tool.name, tool.title, tool.description, *names) for word in words(text)
    )


def hit_line(tool: CatalogueTool) -> str:
    """One line: the pair, the required arguments, what it is for."""
    required = tool.input_schema.get("required")
    arguments = ", ".join(str(name) for name in required) if isinstance(required, list) else ""
    line = f"server={tool.server} tool={tool.name} required=({arguments})"
    about = one_line(first_line(tool.description), _LINE_CHARS)
    return f"{line}: {about}" if about else line

"""How often the search of the tool surface puts the right tool first, among five, among the eight it shows.

The queries are ours (`search_queries.toml`), the tools are the published listings: each by itself, and all
joined (one listing per server). Two ways of the same engine, SQLite's BM25 over the same fields, are measured
beside it: *plain* takes what stands between white space for a word, *stock* takes SQLite's own tokenizer.
``python -m benchmarks.search_quality [--misses]`` prints the tables of docs/search.md.
"""

from __future__ import annotations

import re
import sqlite3
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from benchmarks.catalogues import NO_CORPUS, SUBSETS, corpus_folder, read_listings, rows
from coldturn.reference.catalogue import CatalogueTool
from coldturn.reference.policy import Policy
from coldturn.reference.surface.search import search

_SHOWN = Policy().search_hits
QUERIES = Path(__file__).with_name("search_queries.toml")

Kind: TypeAlias = Literal["words", "name", "foreign"]
Find: TypeAlias = Callable[[str], Sequence[CatalogueTool]]
"""A query to the best eight tools, best first."""

Ranker: TypeAlias = Callable[[Sequence[CatalogueTool]], Find]
"""Makes the search of some tools."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query and the tools, as (listing, tool), each of which answers it."""

    text: str
    kind: Kind
    language: str
    answers: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Score:
    """Of `queries`, how many found a right tool in the first place, in the first five, in the first eight."""

    queries: int = 0
    top1: int = 0
    top5: int = 0
    top8: int = 0

    def plus(self, place: int | None) -> Score:
        """Count one more; `place` of the best right tool, from 0."""
        hits = [place is not None and place < limit for limit in (1, 5, _SHOWN)]
        return Score(self.queries + 1, self.top1 + hits[0], self.top5 + hits[1], self.top8 + hits[2])


def read_queries() -> tuple[Query, ...]:
    """The committed queries."""
    return tuple(
        Query(q["text"], q["kind"], q["language"], frozenset(_pair(answer) for answer in q["answers"]))
        for q in tomllib.loads(QUERIES.read_text(encoding="utf-8"))["query"]
    )


def _pair(answer: str) -> tuple[str, str]:
    listing, _, tool = answer.partition("/")
    return listing, tool


def ours(tools: Sequence[CatalogueTool]) -> Find:
    """The surface's own search."""
    return lambda query: search(tools, query, limit=_SHOWN).tools


def plain(tools: Sequence[CatalogueTool]) -> Find:
    """BM25 over what stands between white space."""
    numbers: dict[str, str] = {}

    def numbered(text: str) -> list[str]:
        # The engine would split words itself; a number cannot be split.
        return [numbers.setdefault(word, f"w{len(numbers)}") for word in text.casefold().split()]

    return _engine(tools, numbered)


def stock(tools: Sequence[CatalogueTool]) -> Find:
    """BM25 with the engine's own tokenizer, which knows punctuation and no camelCase."""
    return _engine(tools, re.compile(r"[^\W_]+").findall)


def _engine(tools: Sequence[CatalogueTool], split: Callable[[str], list[str]]) -> Find:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE tool USING fts5 (words)")
    database.executemany("INSERT INTO tool VALUES (?)", ((" ".join(split(_text(tool))),) for tool in tools))

    def find(query: str) -> Sequence[CatalogueTool]:
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(split(query)))
        if not match:
            return ()
        rows = database.execute("SELECT rowid, bm25(tool) FROM tool WHERE tool MATCH ?", (match,))
        # Equal scores stand in the order of `tools`.
        ranked = sorted((round(score, 12), number) for number, score in rows)
        return [tools[number - 1] for _, number in ranked[:_SHOWN]]

    return find


def _text(tool: CatalogueTool) -> str:
    arguments = tool.input_schema.get("properties")
    names = list(arguments) if isinstance(arguments, dict) else []
    return " ".join((tool.name, tool.title, tool.description, *names))


RANKERS: Mapping[str, Ranker] = {"ours": ours, "plain": plain, "stock": stock}


def place_of(query: Query, found: Iterable[CatalogueTool]) -> int | None:
    """Where the first right tool stands, from 0; None when none was found."""
    return next((at for at, tool in enumerate(found) if (tool.server, tool.name) in query.answers), None)


def measure_joined(
    tools: Sequence[CatalogueTool], queries: Iterable[Query], ranker: Ranker
) -> dict[str, Score]:
    """Scores over all tools at once, by kind of query, and of ``all``."""
    scores: dict[str, Score] = {"all": Score()}
    find = ranker(tools)
    for query in queries:
        place = place_of(query, find(query.text))
        for group in (query.kind, "all"):
            scores[group] = scores.get(group, Score()).plus(place)
    return scores


def measure_each(
    listings: Mapping[str, Sequence[CatalogueTool]], queries: Iterable[Query], ranker: Ranker
) -> dict[str, Score]:
    """Scores by listing, of all ``English`` queries, and of ``all``.

    Each query is put to every listing that has an answer to it.
    """
    scores = {"English": Score(), "all": Score()}
    for listing, tools in listings.items():
        find = ranker(tools)
        for query in queries:
            if any(name == listing for name, _ in query.answers):
                place = place_of(query, find(query.text))
                for group in (listing, "all", *(["English"] if query.language == "en" else [])):
                    scores[group] = scores.get(group, Score()).plus(place)
    return scores


def searched(corpus: Path) -> dict[str, tuple[CatalogueTool, ...]]:
    """One listing per server, as catalogue rows."""
    return {name: rows(name, pages) for name, pages in read_listings(corpus).items() if name not in SUBSETS}


def everything(listings: Mapping[str, Sequence[CatalogueTool]]) -> list[CatalogueTool]:
    """All rows, in the order in which the runtime would search them."""
    return sorted((row for tools in listings.values() for row in tools), key=lambda r: (r.server, r.name))


def run() -> dict[str, float]:
    """The main figures, for ``python -m benchmarks``."""
    folder = corpus_folder()
    if folder is None:
        return {}
    tools, queries = everything(searched(folder)), read_queries()
    figures: dict[str, float] = {"queries": len(queries), "tools": len(tools)}
    for name, ranker in RANKERS.items():
        score = measure_joined(tools, queries, ranker)["all"]
        figures |= {f"{name}_top1": score.top1, f"{name}_top5": score.top5}
    return figures


def main() -> None:
    """Print the tables."""
    folder = corpus_folder()
    if folder is None:
        raise SystemExit(NO_CORPUS)
    listings = searched(folder)
    tools, queries = everything(listings), read_queries()
    joined = {name: measure_joined(tools, queries, ranker) for name, ranker in RANKERS.items()}
    each = {name: measure_each(listings, queries, ranker) for name, ranker in RANKERS.items()}
    print(f"All listings joined: {len(tools)} tools of {len(listings)} servers\n")
    print("\n".join(table("queries", joined)))
    print("\nEach listing by itself\n")
    print("\n".join(table("listing", each)))
    if "--misses" in sys.argv:
        _misses(tools, queries)


def table(label: str, columns: Mapping[str, Mapping[str, Score]]) -> list[str]:
    """A table in Markdown; the last row is of all together."""
    titles = " | ".join(f"{name} top 1 | top 5 | top 8" for name in columns)
    lines = [f"| {label} | asked | {titles} |", "|---|---:|" + "---:|---:|---:|" * len(columns)]
    for row in sorted(columns["ours"], key=["English", "all"].count):
        scores = [column[row] for column in columns.values()]
        cells = " | ".join(f"{score.top1} | {score.top5} | {score.top8}" for score in scores)
        lines.append(f"| {row} | {scores[0].queries} | {cells} |")
    return lines


def _misses(tools: Sequence[CatalogueTool], queries: Iterable[Query]) -> None:
    print("\nNot among our first eight\n")
    for query in queries:
        found = ours(tools)(query.text)
        if place_of(query, found) is None:
            names = ", ".join(f"{tool.server}/{tool.name}" for tool in found)
            print(f"- {query.text!r} -> {names or 'nothing'}; wanted {sorted(query.answers)}")


if __name__ == "__main__":
    main()

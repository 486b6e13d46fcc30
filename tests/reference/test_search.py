"""Keyword search: words of names, BM25, exact names first, ties by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldturn.reference.catalogue import CatalogueTool
from coldturn.reference.catalogue.definition import define
from coldturn.reference.surface.search import hit_line, search, words


def row(name: str, description: str = "", server: str = "s", **properties: str) -> CatalogueTool:
    schema = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in properties.items()},
        "required": sorted(properties)[:1],
    }
    made = define(name, description=description, input_schema=schema)
    return CatalogueTool(server, made.name, made.hash, made.body, 0, 1, 1)


@pytest.mark.requirement("TIER-6")
@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("getHTTPResponse2Body", ["get", "http", "response", "2", "body"]),
        ("read_file.v10-beta", ["read", "file", "v", "10", "beta"]),
        ("StraßeÄnderung", ["strasse", "änderung"]),
        ("检索文件 ファイル", ["检索文件", "ファイル"]),
        ("GitHubのissueを作成する", ["git", "hub", "の", "issue", "を作成する"]),
        ("Notion페이지2개", ["notion", "페이지", "2", "개"]),
        ("__", []),
    ],
)
def test_names_are_split_into_words(text: str, split: list[str]) -> None:
    assert words(text) == split


@pytest.mark.requirement("TIER-6")
def test_an_exact_name_comes_first_then_the_best_match_then_names() -> None:
    tools = [
        row("zz_file_list_files", "file file file file"),
        row("file", "Something else entirely, at length and about nothing in particular."),
        row("b_tool", "one file"),
        row("a_tool", "one file"),
        row("unrelated", "nothing of the kind"),
    ]
    found = search(tools, "FILE", limit=8)
    assert found.tools[0].name == "file"
    assert [tool.name for tool in found.tools][2:] == ["a_tool", "b_tool"]
    assert found.total == 4


@pytest.mark.requirement("TIER-6")
def test_title_and_argument_names_are_searched_and_hits_are_cut() -> None:
    tools = [row(f"tool{n}", repositoryUrl="string") for n in range(12)]
    found = search(tools, "repository", limit=8)
    assert (len(found.tools), found.total) == (8, 12)
    titled = define("x", title="Fancy Title", input_schema={})
    tool = CatalogueTool("s", "x", titled.hash, titled.body, 0, 1, 1)
    assert search([tool], "fancy", limit=8).tools == (tool,)
    assert search(tools, "absent", limit=8).tools == ()


@pytest.mark.requirement("TIER-6")
def test_a_rare_word_outweighs_a_common_one() -> None:
    tools = [row(f"t{n}", "list common things") for n in range(20)] + [row("rare", "list peculiar things")]
    assert search(tools, "list peculiar", limit=1).tools[0].name == "rare"


@pytest.mark.requirement("TIER-6")
def test_a_hit_line_names_the_pair_and_the_required_arguments() -> None:
    line = hit_line(row("read", "Reads.\nMore.", path="string"))
    assert line == "server=s tool=read required=(path): Reads."
    assert "\n" not in line


@given(st.text(max_size=30), st.lists(st.text(max_size=20), max_size=5))
def test_no_query_and_no_text_breaks_the_index(query: str, texts: list[str]) -> None:
    tools = [row(f"t{n}", text) for n, text in enumerate(texts)]
    found = search(tools, query, limit=8)
    assert found.total >= len(found.tools)
    wanted = set(words(query))
    expected = {tool.name for tool in tools if wanted & {*words(tool.description), *words(tool.name)}}
    exact = {tool.name for tool in tools if tool.name == query.strip().casefold()}
    assert {tool.name for tool in found.tools} == expected | exact

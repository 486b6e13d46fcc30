"""Published recordings: a break where their authors say that the prefix moves."""

from __future__ import annotations

import csv
from pathlib import Path

from coldturn.analysis.breaks.explain import explain
from coldturn.traces.readers import read_exchanges


def labels(corpus: Path) -> dict[str, str]:
    with (corpus / "prefix_labels.tsv").open(newline="") as file:
        return {row["file"]: row["label"] for row in csv.DictReader(file, delimiter="\t")}


NOT_SHOWN = {
    "pydantic-ai__test_bedrock_mantle__test_reused_tool_call_ids(stream).yaml": (
        "the moving request was not recorded"
    ),
    "pydantic-ai__test_openai_responses__test_openai_responses_thinking_with_modified_history.yaml": (
        "the request with the modified history shares less than a fifth: it begins a lineage"
    ),
    "pydantic-ai__test_tool_search__test_cross_provider_capability_replay"
    "(anthropic-claude-sonnet-4-5-openai-responses-gpt-5.4).yaml": "it moves to another provider",
    "pydantic-ai__test_tool_search__test_live_tool_search_handoff_openai_to_anthropic.yaml": (
        "it moves to another provider"
    ),
}
BY_DESIGN = {
    "pydantic-ai__test_cache_prefix_stability__test_openai_tool_call_roundtrip_wire_stable(ag_ui).yaml",
    "pydantic-ai__test_cache_prefix_stability__test_openai_tool_call_roundtrip_wire_stable(vercel).yaml",
}
"""Their third request leaves the tools away, which their own check does not look at."""


def unplanned(path: Path) -> list[str]:
    report = explain(read_exchanges(path))
    return [found.cause for found in report.breaks if found.verdict.unplanned]


def test_where_the_authors_say_the_prefix_moves_a_break_is_found(corpus: Path) -> None:
    moving = {name for name, label in labels(corpus).items() if label.startswith("moves")}
    found = {name: unplanned(corpus / "vcr-llm" / name) for name in moving}
    assert {name for name, causes in found.items() if not causes} == set(NOT_SHOWN)
    disclosed = [causes for name, causes in found.items() if causes and "tool_search" in name]
    assert disclosed
    assert all("tool_promoted" in causes for causes in disclosed)


def test_where_the_authors_hold_the_prefix_still_no_break_is_found(corpus: Path) -> None:
    still = [name for name, label in labels(corpus).items() if label.startswith("no-marker")]
    assert len(still) > 60
    broken = {name for name in still if unplanned(_found(corpus, name))}
    assert broken == BY_DESIGN


def _found(corpus: Path, name: str) -> Path:
    return next(path for folder in ("vcr-llm", "vcr-mcp") if (path := corpus / folder / name).exists())


READ_SURFACES = {"anthropic", "chat", "openai-responses"}


def truth(corpus: Path) -> dict[tuple[str, str], list[dict[str, str]]]:
    """Reported tokens by repository and cassette, where all calls are on surfaces that we read."""
    rows: dict[tuple[str, str], list[dict[str, str]]] = {}
    with (corpus / "cached_token_truth.tsv").open(newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            stem = row["cassette"].split(".yaml")[0].replace("[", "(").replace("]", ")")
            rows.setdefault((row["repo"], stem), []).append(row)
    return {key: found for key, found in rows.items() if {row["kind"] for row in found} <= READ_SURFACES}


def test_reported_tokens_are_those_of_the_published_table(corpus: Path) -> None:
    paths = list((corpus / "vcr-llm").iterdir())
    checked = 0
    for (repo, stem), rows in truth(corpus).items():
        fitting = [
            path
            for path in paths
            if path.name.startswith(repo) and path.name.split(".yaml")[0].endswith(stem)
        ]
        if len(fitting) != 1:
            continue
        lineages = explain(read_exchanges(fitting[0])).lineages
        sent = sum(lineage.tokens.input_reported or 0 for lineage in lineages)
        read = sum(lineage.tokens.read_reported or 0 for lineage in lineages)
        assert (stem, sent) == (stem, sum(int(row["total_input_tokens"]) for row in rows))
        assert (stem, read) == (stem, sum(int(row["cached_read"] or 0) for row in rows))
        checked += 1
    assert checked >= 20

"""Published recordings: what they report is what a table made elsewhere says."""

from __future__ import annotations

import csv
from pathlib import Path

from coldturn.analysis.breaks.explain import explain
from coldturn.traces.readers import read_exchanges

READ_SURFACES = {"anthropic", "chat", "openai-responses", "bedrock-converse", "gemini"}


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

"""Published recordings, every one: no break but labelled moves and those that a committed list argues."""

from __future__ import annotations

import csv
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from coldturn.analysis.breaks.explain import explain
from coldturn.analysis.breaks.findings import Finding, Verdict
from coldturn.reference.prefix.errors import ColdturnError
from coldturn.traces.readers import read_exchanges

ARGUED: dict[str, list[dict[str, Any]]] = tomllib.loads(
    Path(__file__).with_name("false_alarms.toml").read_text(encoding="utf-8")
)
HANDOFF = frozenset({"provider_changed", "api_changed"})
FOLDERS = ("vcr-llm", "vcr-mcp")


def moving(corpus: Path) -> set[str]:
    """Files of which their authors say that the prefix moves."""
    with (corpus / "prefix_labels.tsv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return {row["file"] for row in rows if row["label"].startswith("moves")}


@cache
def found_in(path: Path) -> tuple[Finding, ...]:
    return tuple(explain(read_exchanges(path)).breaks)


def unplanned(path: Path) -> tuple[Finding, ...]:
    return tuple(found for found in found_in(path) if found.verdict.unplanned)


def handed_over(path: Path) -> tuple[Finding, ...]:
    """Conversations that come from another provider, told as first or as neighbouring cause."""
    return tuple(
        found for found in found_in(path) if HANDOFF & {found.cause, *(o.cause for o in found.alongside)}
    )


def recordings(corpus: Path) -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (corpus / folder).iterdir())


def test_no_alarm_is_false(corpus: Path) -> None:
    labelled = moving(corpus)
    paths = [path for path in recordings(corpus) if path.name not in labelled]
    assert len(paths) > 90
    found = {(path.name, one.request, one.cause) for path in paths for one in unplanned(path)}
    argued = {(one["file"], one["request"], one["cause"]) for one in ARGUED["true_break"]}
    assert found == argued
    assert all(one["why"].endswith(".") for one in ARGUED["true_break"])


def test_every_labelled_move_is_found_or_argued(corpus: Path) -> None:
    labelled = moving(corpus)
    assert len(labelled) == 7
    silent = {
        path.name
        for path in recordings(corpus)
        if path.name in labelled and not unplanned(path) and not handed_over(path)
    }
    assert silent == {one["file"] for one in ARGUED["not_shown"]}


def test_no_conversation_is_said_to_come_from_elsewhere_that_does_not(corpus: Path) -> None:
    found = [(path.name, one) for path in recordings(corpus) for one in handed_over(path)]
    argued = {(one["file"], one["request"], one["parent"]) for one in ARGUED["handoff"]}
    assert {(name, one.request, one.parent) for name, one in found} == argued
    assert {(one.cause, one.verdict, one.offset) for _, one in found} == {
        ("provider_changed", Verdict.COLD_START, None)
    }


def test_what_the_moves_are(corpus: Path) -> None:
    """By their authors: a fresh agent, and tools disclosed after a search."""
    causes = {
        path.name: [one.cause for one in unplanned(path)]
        for path in recordings(corpus)
        if path.name in moving(corpus) and unplanned(path)
    }
    assert {tuple(sorted(set(found))) for name, found in causes.items() if "tool_search" in name} == {
        ("tool_promoted",)
    }
    (replayed,) = (found for name, found in causes.items() if "reused_tool_call_ids" in name)
    assert replayed == ["tool_removed"]


def test_every_published_file_is_explained_or_refused_in_a_sentence(corpus: Path) -> None:
    answered, refused = 0, []
    for path in sorted(one for one in corpus.rglob("*") if one.is_file()):
        try:
            answered += explain(read_exchanges(path)).requests > 0
        except ColdturnError as error:
            refused.append(str(error))
    assert answered > 130
    assert all(len(sentence) < 500 and path_named(sentence, corpus) for sentence in refused)


def path_named(sentence: str, corpus: Path) -> bool:
    return str(corpus) in sentence and "\n" not in sentence


def test_an_agent_that_is_told_to_try_again_breaks_nothing(corpus: Path) -> None:
    """Turns that a harness takes back share its canned texts with the turns that follow them."""
    paths = sorted((corpus / "llm-trace" / "swe-agent-multi").iterdir())
    assert len(paths) == 2
    for path in paths:
        report = explain(read_exchanges(path))
        assert report.requests > 10
        assert len(report.lineages) == 1
        assert [found.cause for found in report.breaks if found.verdict.unplanned] == []

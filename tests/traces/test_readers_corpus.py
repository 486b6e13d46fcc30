"""Recordings that others published: every one is read, or refused with a reason."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.readers import read_exchanges


def counted(folder: Path) -> tuple[Counter[str], list[str]]:
    """Exchanges by kind, and what could not be read."""
    kinds: Counter[str] = Counter()
    errors: list[str] = []
    for path in sorted(folder.iterdir()):
        for item in read_exchanges(path):
            if isinstance(item, EntryError):
                errors.append(f"{path.name} {item.entry}: {item.message}")
            else:
                kinds[item.kind.value] += 1
    return kinds, errors


def test_every_provider_cassette_is_read(corpus: Path) -> None:
    kinds, errors = counted(corpus / "vcr-llm")
    print(dict(kinds))  # noqa: T201 - the counts are the evidence
    assert errors == []
    assert kinds["model"] > 200
    assert kinds["mcp"] == 0


def test_the_cassette_with_mcp_and_provider_traffic_is_told_apart(corpus: Path) -> None:
    kinds, errors = counted(corpus / "vcr-mcp")
    assert errors == []
    assert kinds == {"mcp": 7, "model": 2}


def test_bodies_in_published_cassettes_are_json_of_the_recorded_values(corpus: Path) -> None:
    path = corpus / "vcr-mcp" / "pydantic-ai__test_temporal__test_mcptoolset_in_temporal_workflow.yaml"
    first = next(item for item in read_exchanges(path) if isinstance(item, Exchange))
    assert first.kind is ExchangeKind.MCP
    assert first.request_body.startswith(b'{"id":0,"jsonrpc":"2.0","method":"initialize"')
    assert first.url == "https://mcp.deepwiki.com/mcp"

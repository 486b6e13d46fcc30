"""Recordings that others published: every one is read, or refused with a reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from coldturn.reference.prefix.errors import ColdturnError
from coldturn.traces.exchange import EntryError, Exchange, ExchangeKind
from coldturn.traces.opening import opened
from coldturn.traces.readers import read_exchanges, read_records
from coldturn.traces.sniff import sniff
from coldturn.traces.usage_record import UsageRecord


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


COUNTS: dict[str, dict[str, int]] = {
    "kv-trace": {"usage-table numbers": 1456, "numbers-only": 2},
    "llm-trace/lmcache": {"prompt-log model messages": 216},
    "llm-trace/swe-agent-multi": {"jsonl model canonical": 49},
    "mcp-tools": {"body mcp wire": 31, "body other wire": 1},
    "otel": {"langfuse model messages": 15, "langfuse numbers": 4, "spans model messages": 9},
    "sessions/mini-swe-agent": {"mini-swe-agent model messages": 480},
    "sessions/pi": {"pi model messages": 439},
    "vcr-llm": {
        "cassette-json model wire": 1,
        "cassette-yaml model wire": 106,
        "cassette-yaml model canonical": 142,
        "cassette-yaml other wire": 11,
        "cassette-yaml other canonical": 1,
    },
    "vcr-mcp": {"cassette-yaml mcp canonical": 7, "cassette-yaml model canonical": 2},
}
"""What every folder holds, by format, kind and fidelity; a refused file counts under the error's name."""


def held(path: Path) -> Iterator[str]:
    """A word for each record of a file."""
    try:
        with opened(path, path.name) as stream:
            kind = sniff(stream, path.name)
        for record in read_records(path):
            match record:
                case Exchange():
                    yield f"{kind} {record.kind} {record.fidelity}"
                case UsageRecord():
                    yield f"{kind} numbers"
                case EntryError():
                    yield record.message
    except ColdturnError as error:
        yield error.slug


@pytest.mark.parametrize("folder", COUNTS)
def test_every_published_file_is_read_or_refused(corpus: Path, folder: str) -> None:
    files = sorted(path for path in (corpus / folder).iterdir() if path.is_file())
    assert Counter(word for path in files for word in held(path)) == COUNTS[folder]


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

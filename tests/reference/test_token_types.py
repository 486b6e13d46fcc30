"""Estimates never meet metering: a type checker refuses it, and the names tell them apart."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mypy import api

from coldturn.reference.tokens import estimate_tokens
from coldturn.reference.wire.model import Usage

ROOT = Path(__file__).parents[2]
ROOMS = ("reference", "traces", "analysis", "replay")

MIXED = """
from coldturn.reference.tokens import EstimatedTokens, ReportedTokens, estimate_tokens
from coldturn.reference.wire.model import Usage

fine = Usage(input_tokens=ReportedTokens(7), output_tokens=None)
first = Usage(input_tokens=estimate_tokens(7))
second = Usage(cache_read_tokens=EstimatedTokens(7))
third = Usage(None, None, None, estimate_tokens(28))


def bill(tokens: ReportedTokens) -> int:
    return tokens


bill(ReportedTokens(1))
bill(estimate_tokens(4))
"""


@pytest.mark.requirement("BIG-1")
def test_a_type_checker_refuses_an_estimate_wherever_usage_is_asked_for(tmp_path: Path) -> None:
    source = tmp_path / "mixed.py"
    source.write_text(MIXED)
    told, errors, _ = api.run(
        ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache"), str(source)]
    )
    assert errors == ""
    refused = [line for line in told.splitlines() if "mixed.py" in line and "error:" in line]
    wrong = [number for number, line in enumerate(MIXED.splitlines(), 1) if "stimate" in line][1:]
    assert [int(line.split(":")[1]) for line in refused] == wrong, told
    assert all(
        'has incompatible type "EstimatedTokens"; expected "ReportedTokens' in line for line in refused
    )


def annotated(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Attributes and results with their annotations."""
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, ast.unparse(node.annotation)
        elif isinstance(node, ast.arg) and node.annotation is not None:
            yield node.arg, ast.unparse(node.annotation)
        elif isinstance(node, ast.FunctionDef) and node.returns is not None:
            yield node.name, ast.unparse(node.returns)


@pytest.mark.requirement("BIG-1")
def test_whatever_holds_an_estimate_says_so_in_its_name() -> None:
    files = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    found = [
        (path.name, name)
        for path in files
        for name, annotation in annotated(ast.parse(path.read_text(encoding="utf-8")))
        if "EstimatedTokens" in annotation
    ]
    assert len(found) > 5
    assert [pair for pair in found if "estimate" not in pair[1]] == []


@pytest.mark.requirement("BIG-1")
def test_usage_holds_reported_counts_and_nothing_else() -> None:
    types = {field.name: field.type for field in dataclasses.fields(Usage)}
    assert types.pop("raw") == "str"
    assert set(types.values()) == {"ReportedTokens | None"}


@pytest.mark.requirement("BIG-1")
@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_estimates_are_a_quarter_rounded_up_and_monotone(size: int, other: int) -> None:
    assert estimate_tokens(size) * 4 in range(size, size + 4)
    if size <= other:
        assert estimate_tokens(size) <= estimate_tokens(other)

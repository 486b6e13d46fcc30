from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from requirements import REQUIREMENTS

TESTS = Path(__file__).parent
ID = re.compile(r"^(NAR|DEF|TIER|RES|CAT|BIG|ZONE|CONN|SPAN|REC|REP)-\d+$")


def marked_ids(source: str) -> Iterator[str]:
    """Ids named by ``pytest.mark.requirement(...)`` marks."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name == "requirement":
            for argument in node.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value


def all_marked_ids() -> set[str]:
    files = [path for path in TESTS.rglob("test_*.py") if path != Path(__file__)]
    return {found for path in files for found in marked_ids(path.read_text(encoding="utf-8"))}


def test_every_requirement_has_a_test() -> None:
    assert sorted({r.id for r in REQUIREMENTS} - all_marked_ids()) == []


def test_every_mark_names_a_requirement() -> None:
    assert sorted(all_marked_ids() - {r.id for r in REQUIREMENTS}) == []


def test_ids_are_well_formed_and_unique() -> None:
    ids = [r.id for r in REQUIREMENTS]
    assert [i for i in ids if not ID.match(i)] == []
    assert len(ids) == len(set(ids))
    assert {r.source for r in REQUIREMENTS} <= {"design", "report", "ours"}
    assert [r.id for r in REQUIREMENTS if not r.behaviour.endswith(".")] == []


def test_the_scan_sees_marks() -> None:
    assert list(marked_ids('@pytest.mark.requirement("DEF-3", "DEF-4")\ndef test_x(): ...')) == [
        "DEF-3",
        "DEF-4",
    ]
    assert list(marked_ids("def test_x(): ...")) == []

"""docs/runtime.md names every field of a policy with its values and defaults as they are in the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

from coldturn.reference.policy import Policy
from coldturn.reference.publish import publish
from coldturn.reference.run import open_run

PAGE = Path(__file__).parents[2] / "docs" / "runtime.md"


def rows(text: str) -> dict[str, str]:
    """First column's names -> second column, of every table."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) >= 2:
            names = re.findall(r"`(\w+)`", cells[0])
            values = re.split(r",\s(?!\d{3}\b)", cells[1]) if len(names) > 1 else [cells[1]]
            found |= dict(zip(names, values, strict=False))
    return found


def shown(value: object) -> str:
    return "none" if value is None else f"{value:,}"


def test_every_field_stands_there_with_its_values_and_its_default() -> None:
    told = rows(PAGE.read_text(encoding="utf-8"))
    fields: dict[str, Any] = {n: f for n, f in Policy.model_fields.items() if n != "name"}
    assert set(fields) <= set(told)
    for name, field in fields.items():
        choices = get_args(field.annotation)
        if all(isinstance(choice, str) for choice in choices) and choices:
            assert told[name] == ", ".join(f"`{choice}`" for choice in choices), name
            assert choices[0] == field.default, "the page says: stable first"
        else:
            assert told[name] == shown(field.default), name


def test_what_the_page_calls_by_name_is_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in (publish.__name__, open_run.__name__, "Host.partition", "Host.system_prompt"):
        assert name in text

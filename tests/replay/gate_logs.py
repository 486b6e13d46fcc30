"""Small logs of requests for the tests of the gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RULES = "## Rules\n" + "Be brief. " * 60
SYSTEM = f"You are careful.\n\n## Tool Catalog\n- read: reads\n\n{RULES}"
GROWN = SYSTEM.replace("- read: reads\n", "- read: reads\n- grep: finds\n")


def body(*users: str, system: str = SYSTEM) -> dict[str, Any]:
    """A request of Chat Completions."""
    messages = [{"role": "system", "content": system}, *({"role": "user", "content": user} for user in users)]
    return {"model": "m", "messages": messages}


def write(name: str | Path, *bodies: object) -> str:
    """Write a log and give back its name."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in bodies), encoding="utf-8")
    return str(name)


def sound(name: str | Path = "a.jsonl", system: str = SYSTEM) -> str:
    """A log whose prefix never breaks."""
    return write(name, *(body(*"abc"[:count], system=system) for count in (1, 2, 3)))


def broken(name: str | Path = "a.jsonl") -> str:
    """A log whose third request breaks the prefix: a line was added to the catalogue."""
    return write(name, body("a"), body("a", "b"), body("a", "b", "c", system=GROWN))

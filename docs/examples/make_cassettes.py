"""Write the two cassettes of docs/pytest.md: one whose prefix stands, and one that loads a tool midway."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SYSTEM = "You help with files.\n\n## Rules\n" + "Read before you write. " * 30
URL = "https://api.openai.com/v1/chat/completions"


def tool(name: str) -> dict[str, Any]:
    """A tool without parameters."""
    return {"type": "function", "function": {"name": name, "description": name, "parameters": {}}}


def body(tools: list[str], *users: str) -> dict[str, Any]:
    """A request of Chat Completions."""
    messages = [{"role": "system", "content": SYSTEM}, *({"role": "user", "content": one} for one in users)]
    return {"model": "m", "messages": messages, "tools": [tool(name) for name in tools]}


def write(path: Path, *bodies: dict[str, Any]) -> None:
    """Write a cassette as vcrpy reads it; JSON is YAML."""
    answer = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": "{}"}}
    interactions = [
        {
            "request": {"method": "POST", "uri": URL, "headers": {}, "body": json.dumps(one)},
            "response": answer,
        }
        for one in bodies
    ]
    path.write_text(json.dumps({"interactions": interactions, "version": 1}), encoding="utf-8")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    write(
        folder / "test_answers_a_question.yaml", body(["read"], "Hello."), body(["read"], "Hello.", "Go on.")
    )
    write(
        folder / "test_searches_for_a_tool.yaml",
        body(["read"], "Find it."),
        body(["read", "grep"], "Find it.", "Go on."),
    )

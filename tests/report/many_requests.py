"""A log of many requests, made and never stored: conversations that grow, with a break here and there."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

URL = "https://api.openai.com/v1/responses"
TURNS = 50


def write_many(path: Path, count: int) -> Path:
    """Write `count` requests as JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        for line in _lines(count):
            file.write(json.dumps(line) + "\n")
    return path


def _lines(count: int) -> Iterator[dict[str, Any]]:
    chance = random.Random(7)  # noqa: S311 - a shape, not a secret
    tools = [_tool(f"tool_{number}") for number in range(24)]
    for number in range(count):
        conversation, turn = divmod(number, TURNS)
        if turn == 0:
            history: list[dict[str, Any]] = []
            minute = 0
        words = " ".join(chance.choice(_WORDS) for _ in range(chance.randrange(20, 200)))
        history.append({"role": "user", "content": f"{conversation}.{turn} {words}"})
        minute += chance.random() < 0.1
        time = f"## Time\n\nIt is 10:{minute:02d}.\n"
        body = {
            "model": "gpt-5.5",
            "instructions": f"Agent {conversation}\n\n## Rules\n\n{_RULES}\n\n{time}",
            "tools": tools[: 20 + (turn > 30) * 2],
            "input": list(history),
        }
        usage = {
            "input_tokens": 4000 + 90 * turn,
            "output_tokens": 50,
            "input_tokens_details": {"cached_tokens": 3840},
        }
        answer = {
            "id": f"resp_{number}",
            "object": "response",
            "status": "completed",
            "output": [],
            "usage": usage,
        }
        yield {"url": URL, "request": body, "response": answer, "started": 1_790_000_000 + number * 5}


def _tool(name: str) -> dict[str, Any]:
    properties = {f"field_{at}": {"type": "string", "description": "what it is for"} for at in range(6)}
    return {"type": "function", "name": name, "parameters": {"type": "object", "properties": properties}}


_WORDS = ("read", "the", "file", "and", "write", "what", "you", "found", "there", "again", "please", "now")
_RULES = "\n".join(f"- rule {number}: be brief, and say what you did" for number in range(120))

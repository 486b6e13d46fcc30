"""Made-up texts, messages and tools for the benchmarks' sessions."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """Says things at random; equal seeds say equal things."""

    random: random.Random

    def text(self, words: int) -> str:
        """A line of so many words."""
        return " ".join(self.random.choices(_WORDS, k=words))

    def message(self, number: int, size: int) -> dict[str, str]:
        """A chat message of at least `size` characters; the assistant says those with odd numbers."""
        lines = [f"Note {number}."]
        while sum(map(len, lines)) < size:
            lines.append(self.text(12))
        return {"role": ("user", "assistant")[number % 2], "content": "\n".join(lines)}

    def tool(self, number: int) -> dict[str, object]:
        """A chat tool with six properties."""
        properties = {
            f"{self.random.choice(_WORDS)}_{place}": {"type": "string", "description": self.text(12)}
            for place in range(6)
        }
        parameters = {"type": "object", "properties": properties, "required": list(properties)[:2]}
        return {
            "type": "function",
            "function": {"name": f"tool_{number}", "description": self.text(60), "parameters": parameters},
        }


_WORDS = [
    "account",
    "agent",
    "answer",
    "archive",
    "boundary",
    "branch",
    "budget",
    "cache",
    "change",
    "check",
    "client",
    "column",
    "commit",
    "content",
    "cost",
    "draft",
    "engine",
    "entry",
    "error",
    "event",
    "feature",
    "field",
    "file",
    "filter",
    "folder",
    "format",
    "handle",
    "index",
    "input",
    "item",
    "journal",
    "label",
    "language",
    "latency",
    "ledger",
    "library",
    "limit",
    "machine",
    "memory",
    "merge",
    "message",
    "method",
    "model",
    "module",
    "name",
    "naïve",
    "note",
    "number",
    "object",
    "order",
    "output",
    "owner",
    "package",
    "page",
    "parent",
    "path",
    "pattern",
    "place",
    "plan",
    "policy",
    "prefix",
    "prompt",
    "query",
    "question",
    "queue",
    "range",
    "record",
    "region",
    "release",
    "report",
    "request",
    "result",
    "review",
    "role",
    "rule",
    "sample",
    "schema",
    "scope",
    "search",
    "section",
    "server",
    "session",
    "signal",
    "source",
    "stage",
    "state",
    "step",
    "storage",
    "stream",
    "string",
    "summary",
    "system",
]

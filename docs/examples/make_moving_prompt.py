"""Write requests of an agent with three things wrong: a clock, a tool that arrives late, a shuffled array."""

from __future__ import annotations

import json
import sys

RULES = "Answer briefly. Say what you looked at, and when you do not know say so. " * 60
NAMES = ("read_file", "list_files", "search", "write_file", "run_tests", "git_log")


def tool(name: str) -> dict[str, object]:
    """A definition of some length."""
    text = f"{name.replace('_', ' ').capitalize()} in the workspace. " + "Paths start at its root. " * 12
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    return {"type": "function", "function": {"name": name, "description": text, "parameters": schema}}


def main() -> None:
    """Print eight requests, one a line."""
    history: list[dict[str, str]] = []
    for number in range(8):
        names = NAMES[:5] if number < 3 else NAMES
        array = [tool(name) for name in (names[::-1] if number == 5 else names)]
        system = f"# Clerk\n\n## Current Time\n2026-11-30 10:0{number // 2}\n\n## Rules\n{RULES}"
        history.append(
            {"role": "user", "content": f"Question {number}: " + "what changed in this part? " * 20}
        )
        messages = [{"role": "system", "content": system}, *history]
        body = {"model": "gpt-4o", "tools": array, "messages": messages}
        line = {
            "url": "https://api.openai.com/v1/chat/completions",
            "request": body,
            "started": 1.78e9 + 9 * number,
        }
        sys.stdout.write(json.dumps(line) + "\n")
        history.append(
            {"role": "assistant", "content": f"Answer {number}: " + "this and that was renamed. " * 20}
        )


if __name__ == "__main__":
    main()

"""Small inputs for reports: a conversation that breaks, MCP traffic between its requests, hostile text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

URL = "https://api.openai.com/v1/responses"
MCP = "http://stdio.files.invalid/mcp"
HOSTILE = (
    '</script><script>document.title="owned"</script><img src=x onerror="document.title=\'owned\'">'
    "<!-- \u202eemordnilap\u202c \0 \U0001f4a9 \U0001f469\u200d\U0001f4bb \u05e9\u05dc\u05d5\u05dd "
    "&lt;b&gt; ]]> ${1} {{ 1 }}"
)
PADDING = "Be brief, and say what you did. " * 400


def request(
    *users: str,
    system: str = "",
    tools: Sequence[str] = ("read_file", "write_file"),
    calls: Sequence[str] = (),
) -> dict[str, Any]:
    """A Responses body with the time in its instructions."""
    return {
        "model": "gpt-5.5",
        "instructions": f"You keep files.\n\n{system}\n\n## Rules\n\n{PADDING}",
        "tools": [
            {"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}}
            for name in tools
        ],
        "input": [
            *({"role": "user", "content": user} for user in users),
            *(
                {"type": "function_call", "call_id": f"call_{at}", "name": name, "arguments": "{}"}
                for at, name in enumerate(calls)
            ),
        ],
    }


def answered(body: Mapping[str, Any], *, read: int | None = None, at: float = 0.0) -> dict[str, Any]:
    """A request as a line of a log; with usage when `read` is given."""
    usage = {"input_tokens": 3000, "output_tokens": 9, "input_tokens_details": {"cached_tokens": read}}
    answer = {"id": "resp", "object": "response", "status": "completed", "output": [], "usage": usage}
    return {
        "url": URL,
        "request": body,
        "response": answer if read is not None else None,
        "started": 1_790_000_000 + at,
    }


def listing(at: float, *tools: Mapping[str, Any]) -> dict[str, Any]:
    """A server's list of tools as a line of a log."""
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    result = {"jsonrpc": "2.0", "id": 1, "result": {"tools": list(tools)}}
    return {"url": MCP, "request": asked, "response": result, "started": 1_790_000_000 + at}


def call(at: float, tool: str) -> dict[str, Any]:
    """A call of a tool as a line of a log."""
    asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": {}}}
    result = {"jsonrpc": "2.0", "id": 2, "result": {"content": [], "isError": False}}
    return {"url": MCP, "request": asked, "response": result, "started": 1_790_000_000 + at}


def tool(name: str, about: str) -> dict[str, Any]:
    """A tool as a server lists it."""
    return {"name": name, "description": about, "inputSchema": {"type": "object"}}


def conversation() -> list[dict[str, Any]]:
    """Five requests: one that holds, one with another clock, one with another tool; servers in between."""
    clock = "Current time: 10:0{}"
    more = ("read_file", "write_file", "grep")
    return [
        listing(0, tool("read_file", "Reads."), tool("write_file", "Writes.")),
        answered(request("one", system=clock.format(1)), read=0, at=1),
        answered(request("one", "two", system=clock.format(1)), read=2304, at=2),
        call(2.5, "read_file"),
        answered(request("one", "two", "three", system=clock.format(2)), read=0, at=3),
        listing(3.5, tool("read_file", "Reads a whole file."), tool("grep", "Finds.")),
        answered(
            request("one", "two", "three", "four", system=clock.format(2), tools=more),
            read=None,
            at=4,
        ),
        answered(
            request(
                "one", "two", "three", "four",
                system=clock.format(2), tools=more, calls=["read_file"],
            ),
            read=2432,
            at=5,
        ),
    ]  # fmt: skip


def hostile() -> list[dict[str, Any]]:
    """Requests whose every text is an attack, one of them a megabyte long."""
    names = ("a", f"b{HOSTILE[:60]}")
    return [
        answered(request(HOSTILE, system=f"## {HOSTILE}\n\nCurrent time: 10:01", tools=names), read=0, at=1),
        answered(request(HOSTILE, HOSTILE, system=f"## {HOSTILE}\n\nCurrent time: 10:02", tools=names), at=2),
        answered(
            request(HOSTILE, "x" * 1_000_000, system=f"## {HOSTILE}\n\nCurrent time: 10:02", tools=names),
            at=3,
        ),
        answered(request(HOSTILE, system=f"## {HOSTILE}\n\nCurrent time: 10:02", tools=names[:1]), at=4),
        listing(5, tool(HOSTILE, HOSTILE)),
        listing(6, tool(HOSTILE, HOSTILE[:40])),
    ]


def written(path: Path, lines: Sequence[Mapping[str, Any]]) -> Path:
    """Write lines as JSONL."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path

"""Write the session and the table that docs/inputs.md explains: python make_session.py FOLDER."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

READS = ((0, 21_400), (21_400, 260), (21_660, 310), (0, 22_300), (22_300, 240))
"""Tokens read and written by each call: the fourth reads nothing, though its messages only went on."""


def transcript() -> list[dict[str, Any]]:
    """Lines of a Claude Code transcript: every call asks for a command and gets what it printed."""
    lines: list[dict[str, Any]] = [line("user", "u0", None, 0, content="Why does the build fail?")]
    for turn, (read, written) in enumerate(READS):
        usage = {"input_tokens": 4, "cache_read_input_tokens": read, "cache_creation_input_tokens": written}
        call = {"type": "tool_use", "id": f"t{turn}", "name": "Bash", "input": {"command": f"make s{turn}"}}
        result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": f"step {turn}: no such target"}
        message: dict[str, Any] = {"id": f"msg_{turn}", "model": "claude-opus-4-5", "content": [call]}
        message["usage"] = {**usage, "output_tokens": 90}
        lines += [
            line("assistant", f"a{turn}", str(lines[-1]["uuid"]), 40 * turn + 8, **message),
            line("user", f"u{turn + 1}", f"a{turn}", 40 * turn + 9, content=[result]),
        ]
    return lines


def line(role: str, uuid: str, parent: str | None, second: int, **message: object) -> dict[str, Any]:
    """One line of it."""
    time = f"2026-11-30T09:{second // 60:02d}:{second % 60:02d}Z"
    told = {"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "isSidechain": False}
    return {**told, "timestamp": time, "message": {"role": role, **message}}


def table() -> list[str]:
    """A table of calls on GPT-5.5, of which most read one small number."""
    reads = (0, 1_536, 1_536, 8_704, 1_536, 1_536)
    rows = (f"ticket-7,{at},gpt-5.5,{9_000 + 700 * at},{read},210" for at, read in enumerate(reads))
    return ["run,step,model,prompt,hits,answer", *rows]


def main(folder: Path) -> None:
    """Write both files."""
    lines = (json.dumps(one, separators=(",", ":")) for one in transcript())
    (folder / "session.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "calls.csv").write_text("\n".join(table()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

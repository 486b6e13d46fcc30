"""Add to a log its last request once more, with one more tool: the change that docs/check.md shows."""

from __future__ import annotations

import json
import sys
from pathlib import Path

if __name__ == "__main__":
    log = Path(sys.argv[1])
    lines = log.read_text(encoding="utf-8").splitlines()
    last = json.loads(lines[-1])
    tools = last["request"]["tools"]
    tools.append({**tools[0], "name": "send_mail"})
    log.write_text("\n".join([*lines, json.dumps(last)]) + "\n", encoding="utf-8")

"""Write the table of others' words for our causes into ``docs/causes.md``, from the tables of the code.

Run it as ``python docs/update_causes.py``; a test fails when the page differs.
"""

from __future__ import annotations

import re
from pathlib import Path

from coldturn.analysis.verdicts.aliases import ALIASES, NO_VERDICT, Alias

PAGE = Path(__file__).resolve().parent / "causes.md"
_NAMES = {"claude_code": "Claude Code", "anthropic": "Anthropic", "openai": "OpenAI"}
_BLOCK = re.compile(r"(<!-- aliases -->\n).*?(<!-- /aliases -->)", re.DOTALL)


def with_table(page: str) -> str:
    """`page` with the table as the code has it now."""
    rows = ["| whose | word | ours |", "|---|---|---|"]
    for source, table in ALIASES.items():
        rows += [f"| {_NAMES[source]} | `{word}` | {_ours(alias)} |" for word, alias in table.items()]
        rows += [
            f"| {_NAMES[source]} | `{word}` | no verdict |" for word in sorted(NO_VERDICT.get(source, ()))
        ]
    block = "\n".join(rows)
    return _BLOCK.sub(lambda found: f"{found[1]}{block}\n{found[2]}", page)


def _ours(alias: Alias) -> str:
    if alias.causes:
        return ", ".join(f"`{cause}`" for cause in sorted(alias.causes))
    return "any cause in " + ", ".join(sorted(zone.value for zone in alias.zones))


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

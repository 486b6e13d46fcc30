"""How estimates agree with what was reported: writes docs/accuracy.md.

Needs the published recordings (COLDTURN_CORPUS names their folder). With ``--engine`` the engine's table is
made anew as well, which takes a minute and the extra ``engine``; without it that table stays as it is.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import accuracy_blocks, accuracy_recordings, accuracy_sessions

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "accuracy.md"
CORPUS_VARIABLE = "COLDTURN_CORPUS"
_ENGINE_START, _ENGINE_END = "<!-- engine -->", "<!-- /engine -->"

_TOP = """\
# How accurate estimates are

Every figure here comes from a command: `make accuracy COLDTURN_CORPUS=FOLDER`, where the folder holds
published recordings (they are not part of this project); `python -m benchmarks.accuracy --engine` asks the
engine anew as well. A test says when the page is out of date. For recordings of your own,
`coldturn estimate FILE --validate` prints the same kind of table.

Three columns are kept apart: the **ceiling** is what a cache without bounds could have served, **should**
is what the provider's rules allow, **did** is what was reported. Only did is not an estimate.

## A real engine: not one token apart

llama.cpp's server runs in the tests, with a model in which a token is a byte. 200 generated conversations
append, edit, promote tools, shorten results, branch and interleave; each request is estimated before it
is sent, by the registry's rules and by a simulation of slots, and both must equal the engine's own count
of cached tokens.
"""
_SESSIONS = """\
## DeepSeek: agent sessions known by their counts

Public sessions of mini-swe-agent give tokens of prompt, answer and read for each call. Prompts were only
appended to, so everything before could have been read. The first call of a session is left out: nothing
is known of what was cached before it.
"""
_AFTER_SESSIONS = """\
Where a session lags, about every other call leaves nothing that the next one could read, and what is not
there for the next call hardly ever comes later. Nothing in the counts (pauses, sizes, growth) was found
that would tell such calls from the others, so no rule over what a recording holds predicts them. The
estimate stays what the prompt deserves; the gap is the provider's.
"""
_RECORDINGS = """\
## Recordings with reported reads

Cassettes of public projects, whole requests and answers. Most are short and read nothing; a first request
that reads something found the cache warm from an earlier run of the same test.
"""
_BLOCKS = """\
## Traces of block hashes

Mooncake's traces, 512 tokens a block, hit rate in blocks by the capacity of the cache in blocks. All
capacities come from one pass (stack distances); for the ones shown, a cache of that size was simulated by
itself as well, and the rates are equal. The order in which a request's blocks become the most recent ones
is a parameter: `front_to_back`, or `tail_first` as vLLM frees them.
"""


def page(corpus: Path, engine: str) -> str:
    """The whole page.

    Args:
        corpus: Folder of published recordings.
        engine: The engine's table.
    """
    sections: list[Iterator[str] | list[str]] = [
        [_TOP, _ENGINE_START, engine, _ENGINE_END, "", _SESSIONS],
        accuracy_sessions.section(corpus),
        ["", _AFTER_SESSIONS, _RECORDINGS],
        accuracy_recordings.section(accuracy_recordings.estimated(corpus)),
        ["", _BLOCKS],
        accuracy_blocks.section(corpus),
    ]
    return "\n".join(line for lines in sections for line in lines) + "\n"


def engine_table_of(text: str) -> str:
    """The engine's table as a page has it; empty without one."""
    return text.partition(f"{_ENGINE_START}\n")[2].partition(f"\n{_ENGINE_END}")[0]


def ask_the_engine() -> str:
    """Run the engine's conversations and return the table."""
    done = subprocess.run(
        [sys.executable, "-m", "engine.accuracy"],
        cwd=ROOT / "tests",
        check=True,
        capture_output=True,
        text=True,
    )
    version, table = done.stdout.split("\n\n")[:2]
    return f"{table.rstrip()}\n\nBy {version}."


def main(arguments: list[str]) -> int:
    """Write the page; 2 when the folder of recordings is not named."""
    folder = os.environ.get(CORPUS_VARIABLE)
    if not folder:
        print(f"set {CORPUS_VARIABLE} to the folder of published recordings", file=sys.stderr)
        return 2
    known = engine_table_of(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else ""
    engine = ask_the_engine() if "--engine" in arguments else known
    PAGE.write_text(page(Path(folder), engine), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)} written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

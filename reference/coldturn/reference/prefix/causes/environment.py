"""Lines that tell the state of the user's machine: directory, git, platform, open files."""

from __future__ import annotations

import re

from coldturn.reference.prefix.causes.hunks import Hunk
from coldturn.reference.prefix.causes.topics import Topic

_LABEL = re.compile(
    r"^\W*(?:is (?:this )?(?:directory )?a git repo|git[ _-]?(?:repo|branch|status|remote|user|commit|head)"
    r"|(?:last|latest|recent|head) commits?|(?:current |main )?branch|cwd"
    r"|(?:current |primary |additional )?working director(?:y|ies)|platform"
    r"|os(?: version)?|shell|workspace|open (?:files|tabs|editors)|visible files|home(?: directory)?"
    r"|hostname)\b[^:=]*[:=]",
    re.IGNORECASE,
)
_BLOCK_LABEL = re.compile(
    r"^\W*(?:(?:git[ _-]?)?status|(?:last|latest|recent) commits?"
    r"|(?:modified|changed|untracked|staged|open|visible) (?:files|tabs|editors))\b[^:=]*[:=]",
    re.IGNORECASE,
)
_COMMIT = re.compile(r"^\s*[-*]?\s*[0-9a-f]{7,40}\s+\S|^\W*(?:\w{1,12} )?commits?\b[^:=]*[:=]", re.IGNORECASE)
_ENTRY = re.compile(
    r"""^\s*(?:[MADRCUT?!]{1,2}\s+\S        # as git status writes it
          | [-*]?\s*[0-9a-f]{7,40}\s+\S    # as git log writes it
          | [-*]?\s*[\w.@~-]*[/\\.][\w./\\@~-]*\s*$
          | \(?(?:clean|dirty|none)\)?\s*$)""",
    re.VERBOSE,
)


def is_environment(hunk: Hunk) -> bool:
    """Whether a run of lines tells nothing but such state."""
    lines = _lines(hunk)
    if hunk.topic is Topic.ENVIRONMENT or (lines and all(map(_LABEL.match, lines))):
        return True
    return _stands_in_list(hunk)


def is_commit(hunk: Hunk) -> bool:
    """Whether a run of lines names commits: their hashes are no values drawn at random."""
    return is_environment(hunk) and all(map(_COMMIT.match, _lines(hunk)))


def _stands_in_list(hunk: Hunk) -> bool:
    """Whether the lines are entries of a status or commit list, whose label stands above them."""
    lines = _lines(hunk)
    if not lines or not all(_ENTRY.match(line) or _LABEL.match(line) for line in lines):
        return False
    for line in reversed(hunk.paragraph.splitlines()):
        if _BLOCK_LABEL.match(line):
            return True
        if not _ENTRY.match(line):
            return False
    return False


def _lines(hunk: Hunk) -> list[str]:
    return [line for line in (hunk.was + "\n" + hunk.now).splitlines() if line.strip()]

"""Names of the machine and its user are taken out of the demo, at equal length so that offsets stay true."""

from __future__ import annotations

import getpass
import os
import re
import socket
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from coldturn.reference.prefix.errors import ColdturnError

_SHORTEST = 4
_ORDINARY = frozenset({"root", "user", "demo", "home", "localhost"})
_KEY_SHAPES = (
    re.compile(rb"\bsk-[A-Za-z0-9_-]{16,}"),
    re.compile(rb"\b(?:ghp|gho|ghs|github_pat)_[A-Za-z0-9_]{16,}"),
    re.compile(rb"\bAKIA[0-9A-Z]{16}\b"),
    re.compile(rb"\bAIza[0-9A-Za-z_-]{35}\b"),
    re.compile(rb"\beyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    re.compile(rb"AccountKey=[A-Za-z0-9+/]{20,}"),
    re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
)
_HOME = re.compile(rb"(?:/home/|/Users/|/root/)[A-Za-z0-9._-]+")


class UncleanRecordingError(ColdturnError):
    """Something in a recording that must not be shipped."""

    slug = "unclean-recording"

    def __init__(self, found: Iterable[str]) -> None:
        self.found = tuple(found)
        super().__init__(
            f"the recording holds {'; '.join(self.found)}: mend the script or the scrubber and record again"
        )


def machine_names() -> tuple[str, ...]:
    """What is particular to this machine: its name, its user and home, where our code and Python are."""
    names = {
        socket.gethostname(),
        socket.getfqdn(),
        getpass.getuser(),
        str(Path.home()),
        sys.prefix,
        sys.base_prefix,
        str(Path(__file__).resolve().parents[4]),
        os.environ.get("HOSTNAME", ""),
    }
    usable = {name for name in names if len(name) >= _SHORTEST and name.strip("/") not in _ORDINARY}
    return tuple(sorted(usable - {"/usr", "/usr/local"}, key=lambda name: (-len(name), name)))


def scrub(data: bytes, names: Iterable[str]) -> bytes:
    """Replace each of `names` by as many ``x``; the length of `data` stays the same."""
    for name in names:
        found = name.encode()
        data = data.replace(found, b"x" * len(found))
    return data


def _unclean(data: bytes, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if name.encode() in data:
            yield f"the name {name!r}"
    for shape in (*_KEY_SHAPES, _HOME):
        if match := shape.search(data):
            yield f"{match.group()[:40].decode('ascii', 'replace')!r} at byte {match.start()}"


def ensure_clean(data: bytes, names: Iterable[str]) -> None:
    """Check that nothing of this machine and nothing that looks like a key is left.

    Raises:
        UncleanRecordingError: Naming each thing that was found.
    """
    if found := list(_unclean(data, names)):
        raise UncleanRecordingError(found)

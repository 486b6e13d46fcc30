"""Replays a part of a job, and dies of some."""

from __future__ import annotations

import os
import signal
from typing import Any

from coldturn.replay.runs import runner

_in_worker = runner._in_worker


def deadly(part: Any, options: Any) -> Any:  # noqa: ANN401 - the runner's own types are private
    """As the runner does it, but for recordings called one, which end their process."""
    if "one.jsonl" in part.path:
        os.kill(os.getpid(), signal.SIGKILL)
    return _in_worker(part, options)

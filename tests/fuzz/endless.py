"""Fuzz every part by turns until the time is up: ``make fuzz``, or ``python -m fuzz.endless SECONDS``."""

from __future__ import annotations

import faulthandler
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from fuzz.targets import TARGETS, Target

SECONDS = 600.0
ROUND = 200
"""Examples of one part before it is the next one's turn."""
SLOW = timedelta(seconds=5)
HANGS = 60
"""Seconds after which an example counts as hanging: where it does is printed, and the process ends."""


def fuzz_once(target: Target, number: int, count: int, done: Counter[str]) -> None:
    """Some examples of one part; raises what a check raised, with its example reduced."""

    def check(example: Any) -> None:  # noqa: ANN401 - whatever the target takes
        faulthandler.dump_traceback_later(HANGS, exit=True)
        try:
            target.check(example)
        finally:
            faulthandler.cancel_dump_traceback_later()
        done[target.name] += 1

    run = settings(
        max_examples=count,
        deadline=SLOW,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.target, Phase.shrink),
    )(given(target.inputs)(check))
    seed(number)(run)()


def main(arguments: Sequence[str]) -> int:
    """Run until the time is up; 1 when anything failed."""
    seconds = float(arguments[0]) if arguments else SECONDS
    only = set(arguments[1:])
    targets = [target for target in TARGETS if not only or target.name in only]
    end = time.monotonic() + seconds
    done: Counter[str] = Counter()
    failed: dict[str, int] = {}
    number = time.time_ns() % 1_000_000
    while time.monotonic() < end and len(failed) < len(targets):
        for target in targets:
            if target.name not in failed and time.monotonic() < end:
                number += 1
                try:
                    fuzz_once(target, number, ROUND, done)
                except Exception:  # noqa: BLE001 - whatever a check raises is what is looked for
                    failed[target.name] = number
                    sys.stderr.write(f"\n{target.name} failed with seed {number}:\n")
                    traceback.print_exc()
    for target in targets:
        verdict = f"FAILED (seed {failed[target.name]})" if target.name in failed else "ok"
        sys.stdout.write(f"{target.name:12} {done[target.name]:8,} examples  {verdict}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

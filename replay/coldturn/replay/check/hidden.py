"""Accepted breaks that are still there and no findings: they stand behind another, or are excused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coldturn.replay.check.baseline import KnownBreak, KnownRecording
from coldturn.replay.check.measured import Key, Measured, SeenBreak


def hidden_of(one: Measured, counted: Sequence[SeenBreak]) -> dict[Key, set[int]]:
    """Requests of breaks that are there and do not count, by what breaks are compared by.

    Args:
        one: What a recording shows.
        counted: Those of its breaks that no exemption and no mark of a test excuses.
    """
    found: dict[Key, set[int]] = {}
    excused = ((each.request, each.key) for each in one.breaks if each not in counted)
    for request, key in (*one.hidden, *excused):
        found.setdefault(key, set()).add(request)
    return found


def with_hidden(
    line: KnownRecording, accepted: KnownRecording, hidden: Mapping[Key, set[int]]
) -> KnownRecording:
    """A recording's line that also keeps what was accepted and is hidden now, in no greater number.

    Args:
        line: As it is now, with the breaks that count.
        accepted: As the baseline has it.
        hidden: What `hidden_of` gives.
    """
    now = {one.key: one for one in line.breaks}
    for one in accepted.breaks:
        seen = now[one.key].requests if one.key in now else []
        behind = sorted(hidden.get(one.key, set()) - set(seen), key=lambda at: (at not in one.requests, at))
        kept = behind[: max(0, len(one.requests) - len(seen))]
        if kept:
            now[one.key] = one.model_copy(update={"requests": sorted([*seen, *kept])})
    breaks: list[KnownBreak] = [now[key] for key in sorted(now)]
    return line.model_copy(update={"breaks": breaks})

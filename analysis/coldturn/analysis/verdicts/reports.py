"""What two reports tell of what could have been read, where rules say nothing or too little."""

from __future__ import annotations

from coldturn.analysis.verdicts.model import Case
from coldturn.analysis.verdicts.readable import Readable
from coldturn.analysis.verdicts.server_edits import fewer_words
from coldturn.reference.tokens import EstimatedTokens


def by_reports(case: Case, readable: Readable | None) -> Readable | None:
    """What could have been read of a text that was sent again: no less than the older request read of it.

    That is the only measure without rules. With rules it counts where the provider left words out: what they
    allow is bounded by an input that has shrunk.

    Args:
        case: A pair whose text is intact.
        readable: By the rules; None where there are none.
    """
    before, now = case.was.usage.read, case.now.usage.read
    if not before or now is None or not case.same_cache or case.missing or case.by_reference:
        return readable
    if readable is None and (case.known.rules is not None or not case.comparison.stable):
        return None
    if readable is not None and (before <= readable.whole_estimated or fewer_words(case) is None):
        return readable
    return Readable(EstimatedTokens(before), EstimatedTokens(before))

"""Causes that lie with who serves: another upstream, an engine that cannot resume, or nobody knows what."""

from __future__ import annotations

import re
from collections.abc import Iterator

from coldturn.analysis.breaks.findings import Verdict
from coldturn.analysis.verdicts.model import Case, Named, tokens_words
from coldturn.analysis.verdicts.timing import lifetime
from coldturn.analysis.verdicts.words import plain
from coldturn.reference.prefix.model import Confidence

_ENGINES = frozenset({"llama.cpp", "vllm", "sglang"})
_UPSTREAM = re.compile(rb'"(?:provider|system_fingerprint)"\s*:\s*"([^"\\]{1,100})"')
_ANSWER_HEAD = 4_096
_ENDS = 4_096


def upstream_of(answer: bytes | None) -> str | None:
    """Who served an answer, where it names somebody: OpenRouter's provider, a fingerprint of the backend."""
    if answer is None:
        return None
    found = _UPSTREAM.search(answer, 0, _ANSWER_HEAD)
    if found is None and len(answer) > _ANSWER_HEAD:
        found = _UPSTREAM.search(answer, max(len(answer) - _ENDS, 0))
    return None if found is None else plain(found.group(1).decode("utf-8", "replace"))


def serving_causes(case: Case, read: int, readable: int) -> Iterator[Named]:
    """What may explain a reported miss that text, settings, markers and times do not.

    Args:
        case: The pair.
        read: Tokens that the provider reported as read.
        readable: Tokens that could have been read.
    """
    rules = case.known.rules
    if rules is None:
        return
    report = f"read {tokens_words(read)} of {readable:,} that could have been read (estimated)"
    if drops_reasoning(case):
        evidence = f"{report}; the server drops earlier reasoning when a plain user message follows"
        yield drifted(evidence)
        return
    if case.missing:
        zones = " and ".join(sorted(zone.value for zone in case.missing))
        evidence = f"{report}; the recording does not hold {zones}, so a change there cannot be seen"
        yield Named("unknown", Verdict.UNKNOWN, Confidence.UNKNOWN, evidence)
        return
    if case.was.upstream and case.now.upstream and case.was.upstream != case.now.upstream:
        evidence = f"{report}; served by {case.now.upstream}, before by {case.was.upstream}"
        yield Named("routing", Verdict.PROVIDER_SIDE_SUSPECTED, Confidence.INFERRED, evidence)
        return
    if rules.provider in _ENGINES:
        yield _engine(read, report)
        return
    if case.gap is None and lifetime(case) is not None:
        evidence = f"{report}; without times an entry that expired cannot be told from one that was lost"
        yield Named("unknown", Verdict.PROVIDER_SIDE_SUSPECTED, Confidence.UNKNOWN, evidence)
        return
    yield Named("provider_side", Verdict.PROVIDER_SIDE_SUSPECTED, Confidence.INFERRED, report)


def drops_reasoning(case: Case) -> bool:
    """Whether the provider leaves out reasoning of the older request that the newer one sends again."""
    was, now = case.was.places, case.now.places
    return was is not None and now is not None and case.comparison.stable and now.reasoning < was.reasoning


def drifted(evidence: str) -> Named:
    """The same messages, rendered in another way."""
    return Named("template_history_drift", Verdict.PROVIDER_SIDE_SUSPECTED, Confidence.INFERRED, evidence)


def _engine(read: int, report: str) -> Named:
    """An engine of one's own reads all or up to where its template renders something else."""
    if read:
        return drifted(f"{report}; the rendered history differs from there on though the messages do not")
    return Named("engine_no_checkpoint", Verdict.PROVIDER_SIDE_SUSPECTED, Confidence.INFERRED, report)

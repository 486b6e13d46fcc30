"""Causes that lie with who serves: another upstream, an engine that cannot resume, or nobody knows what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from coldturn.analysis.breaks.findings import Verdict
from coldturn.analysis.verdicts.model import Case, Named, tokens_words
from coldturn.analysis.verdicts.remedies import ASK_SERVERS, DRIFT_BY_DESIGN, NAME_RULES, SPREAD_KEYS
from coldturn.analysis.verdicts.server_edits import left_out
from coldturn.analysis.verdicts.timing import lifetime, may_have_expired
from coldturn.analysis.verdicts.words import plain
from coldturn.reference.prefix.model import Confidence

_ENGINES = frozenset({"llama.cpp", "vllm", "sglang"})
_UPSTREAMS = tuple(
    re.compile(rb'"%b"\s*:\s*"([^"\\]{1,100})"' % key) for key in (b"provider", b"system_fingerprint")
)
_ANSWER_HEAD = 4_096
_ENDS = 4_096
_MOST_A_MINUTE = 15
"""Requests a minute with one beginning and key that OpenAI keeps on one machine, about (its guide)."""


def upstream_of(answer: bytes | None) -> str | None:
    """Who served an answer, where it names somebody: OpenRouter's provider, a fingerprint of the backend."""
    if answer is None:
        return None
    for pattern in _UPSTREAMS:
        found = pattern.search(answer, 0, _ANSWER_HEAD)
        if found is None and len(answer) > _ANSWER_HEAD:
            found = pattern.search(answer, max(len(answer) - _ENDS, 0))
        if found is not None:
            return plain(found.group(1).decode("utf-8", "replace"))
    return None


def serving_causes(case: Case, read: int, readable: int) -> Iterator[Named]:
    """What may explain a reported miss that text, settings, markers and times do not.

    Args:
        case: The pair.
        read: Tokens that the provider reported as read.
        readable: Tokens that could have been read.
    """
    report = _report(case, read, readable)
    named = (
        _unseen(case, read, report)
        or _elsewhere(case, report)
        or _of_cache(case, read, report)
        or _nobody_knows(case, report)
    )
    yield named


def _report(case: Case, read: int, readable: int) -> str:
    if case.known.rules is None:
        return (
            f"read {tokens_words(read)}, before {readable:,} of the same text; no cache rules are known for "
            "this model"
        )
    return f"read {tokens_words(read)} of {readable:,} that could have been read (estimated)"


def _unseen(case: Case, read: int, report: str) -> Named | None:
    """What bytes cannot show: words that the server drops, and zones that were not recorded."""
    if drops_reasoning(case):
        evidence = f"{report}; the server drops earlier reasoning when a plain user message follows"
        return drifted(evidence, DRIFT_BY_DESIGN)
    if case.missing:
        zones = " and ".join(sorted(zone.value for zone in case.missing))
        evidence = f"{report}; the recording does not hold {zones}, so a change there cannot be seen"
        return Named("unknown", Verdict.UNKNOWN, Confidence.UNKNOWN, evidence)
    return left_out(case, read, report)


def _elsewhere(case: Case, report: str) -> Named | None:
    """Another account or upstream than before, by what the answers say."""
    was, now = dict(case.was.signs.account), dict(case.now.signs.account)
    differing = [name for name in sorted(was.keys() & now.keys()) if was[name] != now[name]]
    if differing:
        names = plain(", ".join(differing))
        evidence = f"{report}; the answers are made for two accounts: {names} differs in their headers"
        return Named("scope_changed", Verdict.BROKEN, Confidence.INFERRED, evidence, keys=tuple(differing))
    if case.was.upstream and case.now.upstream and case.was.upstream != case.now.upstream:
        evidence = f"{report}; served by {case.now.upstream}, before by {case.was.upstream}"
        return Named("routing", Verdict.PROVIDER_SIDE_SUSPECTED, Confidence.INFERRED, evidence)
    return None


def _of_cache(case: Case, read: int, report: str) -> Named | None:
    """What is known of the cache itself: that of an engine, a lifetime nobody promises, too many requests."""
    rules = case.known.rules
    if rules is None:
        return Named(
            "unknown", Verdict.PROVIDER_SIDE_SUSPECTED, Confidence.UNKNOWN, report, remedy=NAME_RULES
        )
    if rules.provider in _ENGINES:
        return _engine(read, report)
    if case.gap is None and lifetime(case) is not None:
        evidence = f"{report}; without times an entry that expired cannot be told from one that was lost"
        return Named("unknown", Verdict.PROVIDER_SIDE_SUSPECTED, Confidence.UNKNOWN, evidence)
    expired = may_have_expired(case)
    if expired is not None:
        return replace(expired, evidence=f"{report}; {expired.evidence}")
    return _crowded(case, report)


def _crowded(case: Case, report: str) -> Named | None:
    crowd = case.now.signs.crowd
    if crowd <= _MOST_A_MINUTE:
        return None
    evidence = (
        f"{report}; {crowd} requests with this beginning and cache key within a minute, and above about "
        f"{_MOST_A_MINUTE} some go to other machines"
    )
    cause = "routing"
    return Named(cause, Verdict.PROVIDER_SIDE_SUSPECTED, Confidence.INFERRED, evidence, remedy=SPREAD_KEYS)


def _nobody_knows(case: Case, report: str) -> Named:
    """The provider, with a hint at tools that a server lists for it and no body holds."""
    remedy = None
    if "mcp_servers" in case.child.settings:
        report = f"{report}; the tools of mcp_servers are not in the bytes, and their list may have changed"
        remedy = ASK_SERVERS
    cause, verdict = "provider_side", Verdict.PROVIDER_SIDE_SUSPECTED
    return Named(cause, verdict, Confidence.INFERRED, report, remedy=remedy)


def drops_reasoning(case: Case) -> bool:
    """Whether the provider leaves out reasoning of the older request that the newer one sends again."""
    was, now = case.was.places, case.now.places
    return was is not None and now is not None and case.comparison.stable and now.reasoning < was.reasoning


def drifted(evidence: str, remedy: str | None = None) -> Named:
    """The same messages, rendered in another way."""
    cause, verdict = "template_history_drift", Verdict.PROVIDER_SIDE_SUSPECTED
    return Named(cause, verdict, Confidence.INFERRED, evidence, remedy=remedy)


def _engine(read: int, report: str) -> Named:
    """An engine of one's own reads all or up to where its template renders something else."""
    if read:
        return drifted(f"{report}; the rendered history differs from there on though the messages do not")
    return Named("engine_no_checkpoint", Verdict.PROVIDER_SIDE_SUSPECTED, Confidence.INFERRED, report)

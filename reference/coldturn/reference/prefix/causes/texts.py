"""Causes of a changed text: one small rule each, the more specific first."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace

from coldturn.reference.prefix.causes.environment import is_commit, is_environment
from coldturn.reference.prefix.causes.hunks import Hunk
from coldturn.reference.prefix.causes.rosters import added_lines, entries, inline_items
from coldturn.reference.prefix.causes.spans import typed_changes
from coldturn.reference.prefix.causes.topics import Topic, is_ban, topic_of
from coldturn.reference.prefix.model import Confidence, Zone


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a run of lines changed."""

    cause: str
    confidence: Confidence = Confidence.OBSERVED
    names: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    alongside: tuple[str, ...] = ()


TextRule = Callable[[Hunk], Reason | None]

LONGEST_EXAMINED = 8 * 1_048_576
"""Bytes of a run of lines up to which rules look for its reason; no provider takes a request of that size."""

MICRO_CHARACTERS = 16
"""An unexplained change shorter than this on both sides is a drift rather than an edit."""


def whitespace_drift(hunk: Hunk) -> Reason | None:
    """Equal after Unicode normalisation and without white space at the ends of lines."""
    if not is_equal_plain(hunk.was, hunk.now):
        return None
    return Reason("whitespace_drift", kinds=whitespace_kinds(hunk.was, hunk.now))


def whitespace_kinds(was: str, now: str) -> tuple[str, ...]:
    """Which normalisations it takes to make two texts equal."""
    kinds: list[str] = []
    if unicodedata.normalize("NFC", was) != was or unicodedata.normalize("NFC", now) != now:
        kinds.append("nfc")
    if ("\r" in was) != ("\r" in now):
        kinds.append("crlf")
    was, now = (unicodedata.normalize("NFC", text).replace("\r\n", "\n") for text in (was, now))
    return (*kinds, "trailing") if was != now else tuple(kinds)


def is_equal_plain(was: str, now: str) -> bool:
    """Whether two texts differ in white space at the ends of lines or in Unicode form only."""
    return _plain(was) == _plain(now)


def _plain(text: str) -> list[str]:
    lines = unicodedata.normalize("NFC", text).splitlines()
    return [line.strip() for line in lines if line.strip()]


_BILLING_LINE = re.compile(r"^.*x-anthropic-billing-header.*$", re.IGNORECASE | re.MULTILINE)
_BILLING_VALUE = re.compile(r"\b(cch|cc_version|cc_entrypoint|cc_workload)=[^;\s]*")


def attribution_nonce(hunk: Hunk) -> Reason | None:
    """Only a billing or attribution line, or its values, differ."""
    for pattern, put in ((_BILLING_VALUE, r"\1="), (_BILLING_LINE, "")):
        was, now = pattern.sub(put, hunk.was), pattern.sub(put, hunk.now)
        if was.strip() == now.strip() and (was, now) != (hunk.was, hunk.now):
            return Reason("attribution_nonce")
    return None


def typed_span(hunk: Hunk) -> Reason | None:
    """Only clocks, dates or random ids differ; the first of them names the cause."""
    reason = typed_reason(
        hunk.was, hunk.now, random="random_id_in_system", about=lambda: " ".join(hunk.headings)
    )
    if reason is not None and reason.cause == "random_id_in_system" and is_commit(hunk):
        return None
    return reason


def typed_reason(was: str, now: str, *, random: str, about: Callable[[], str] = str) -> Reason | None:
    """The cause when two texts differ in typed spans only. A date beside a clock moves with it."""
    changes = typed_changes(was, now, about)
    if not changes:
        return None
    causes = tuple(
        dict.fromkeys(
            "clock_in_prefix" if c.kind.is_time else random if c.kind.is_id else "date_rollover"
            for c in changes
        )
    )
    if "clock_in_prefix" in causes and causes[0] == "date_rollover":
        causes = ("clock_in_prefix", *(cause for cause in causes if cause != "clock_in_prefix"))
    kinds = tuple(dict.fromkeys(change.kind.value for change in changes))
    return Reason(causes[0], kinds=kinds, alongside=causes[1:])


_ROSTERS: dict[Topic | None, tuple[str, str]] = {
    Topic.TOOLS: ("catalog_growth", "catalog_shrink"),
    Topic.SKILLS: ("skills_roster", "skills_roster"),
    Topic.AGENTS: ("subagent_roster", "subagent_roster"),
}


def roster(hunk: Hunk) -> Reason | None:
    """Whole entries of a list of tools, skills or agents came or went; those that stayed are as they were."""
    if hunk.topic is Topic.MEMORY or is_ban(hunk.headings[:1]):
        return None
    topic: Topic | None = hunk.topic if hunk.topic in _ROSTERS else None
    was, now = hunk.was.splitlines(), hunk.now.splitlines()
    added = _entries_beyond(was, now, bare=topic is not None)
    removed = _entries_beyond(now, was, bare=topic is not None)
    if not added and not removed:
        topic, added, removed = _inline(hunk, topic)
    if not added and not removed:
        added, removed = _exchanged(was, now, bare=topic is not None)
    growth, shrink = _ROSTERS.get(_subject(hunk, topic, added + removed), ("", ""))
    if not growth or not (added or removed):
        return None
    if added and removed:
        return Reason(growth, names=added, alongside=(shrink,) if shrink != growth else ())
    return Reason(growth, names=added) if added else Reason(shrink, names=removed)


def _subject(hunk: Hunk, topic: Topic | None, names: tuple[str, ...]) -> Topic | None:
    """What a list is of; one whose names the tools array knows is a list of tools."""
    known = sum(name in hunk.texts.tools for name in names)
    return Topic.TOOLS if names and 2 * known >= len(names) else topic


def _entries_beyond(was: list[str], now: list[str], *, bare: bool) -> tuple[str, ...]:
    rest = added_lines(was, now)
    return entries(rest, bare=bare) if rest else ()


def _exchanged(was: list[str], now: list[str], *, bare: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    removed, added = entries(was, bare=bare), entries(now, bare=bare)
    return (added, removed) if added and removed and not set(added) & set(removed) else ((), ())


def _inline(hunk: Hunk, topic: Topic | None) -> tuple[Topic | None, tuple[str, ...], tuple[str, ...]]:
    """A list on one line: its subject (its label may tell), and the items that came and went."""
    was, now = inline_items(hunk.was), inline_items(hunk.now)
    if was is None or now is None or was[0] != now[0] or is_ban((now[0],)):
        return topic, (), ()
    added, removed = added_lines(was[1], now[1]) or (), added_lines(now[1], was[1]) or ()
    return topic or topic_of(now[0]), tuple(added), tuple(removed)


def memory_injection(hunk: Hunk) -> Reason | None:
    """The place is tagged as memory or recall, or stands in the prompt's dynamic tail."""
    if hunk.topic is Topic.MEMORY or hunk.texts.zone is Zone.TAIL:
        return Reason("memory_injection")
    return None


def env_state(hunk: Hunk) -> Reason | None:
    """Only lines that tell directory, git state, platform or open files differ."""
    return Reason("env_state") if is_environment(hunk) else None


SPECIFIC: tuple[TextRule, ...] = (
    whitespace_drift,
    attribution_nonce,
    typed_span,
    roster,
    memory_injection,
    env_state,
)
"""In order: what the bytes themselves prove stands before what the surroundings suggest."""


def explain(hunk: Hunk) -> Reason | None:
    """The most specific reason that fits, with the causes of the others alongside; None when no rule fits.

    Of a run of lines beyond `LONGEST_EXAMINED` the rules would take minutes and many times its memory: none
    is asked.
    """
    if max(sum(map(len, lines)) for lines in (hunk.was_lines, hunk.now_lines)) > LONGEST_EXAMINED:
        return None
    reasons = [reason for rule in SPECIFIC if (reason := rule(hunk)) is not None]
    if not reasons:
        return None
    first = reasons[0]
    others = (*first.alongside, *(reason.cause for reason in reasons[1:]))
    return replace(first, alongside=tuple(dict.fromkeys(c for c in others if c != first.cause)))


def is_micro(hunk: Hunk) -> bool:
    """Whether an unexplained change stands within lines, shorter than a drift's limit on both sides."""
    return len(hunk.was_lines) == len(hunk.now_lines) and max(map(len, hunk.spans)) < MICRO_CHARACTERS

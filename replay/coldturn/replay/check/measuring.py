"""From requests, one at a time, to what a gate compares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from xxhash import xxh3_128

from coldturn.analysis.breaks.findings import Finding
from coldturn.analysis.estimates.longest_prefix import LongestPrefix
from coldturn.reference.prefix.ledger import Ledger, SegmentHash
from coldturn.reference.prefix.model import Zone
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.prefix.running_ledger import RunningLedger
from coldturn.reference.prompt.lint import LINTED, ZoneFinding, lint_zones
from coldturn.replay.check.measured import Key, Measured, PromptHead, SeenBreak, SeenLint, place_of

RULE_CAUSES: Final = frozenset({"elision_moving_boundary", "elision_not_idempotent"})
"""Shortening old results is a planned break only between turns, once, and from the original."""

_HEAD = (Zone.TOOLS, Zone.SYSTEM)


@dataclass(slots=True)
class Measure:
    """Takes the requests of one recording in order, then gives what was `measured`.

    Attributes:
        content: Whether messages may repeat prompt text.
        lint: Whether the stable part of prompts is looked through.
    """

    content: bool = True
    lint: bool = True
    requests: int = 0
    _breaks: list[SeenBreak] = field(default_factory=list)
    _hidden: list[tuple[int, Key]] = field(default_factory=list)
    _lints: dict[Key, SeenLint] = field(default_factory=dict)
    _heads: dict[str, PromptHead] = field(default_factory=dict)
    _looked_at: set[str] = field(default_factory=set)
    _ledgers: RunningLedger = field(default_factory=RunningLedger)
    _rule: LongestPrefix = field(default_factory=LongestPrefix)
    _input: int = 0
    _ceiling: int = 0
    _read: int = 0
    _marked: bool = False

    def request(
        self,
        request: PromptRequest,
        *,
        number: int,
        first: bool,
        common_bytes: int,
        scope: str,
        cached: bool = True,
    ) -> None:
        """Take the next request.

        Args:
            request: The request.
            number: Its number in the recording.
            first: Whether a conversation begins with it.
            common_bytes: Content bytes in common with the request that it was compared with.
            scope: What can share a cache.
            cached: Whether the server answered; what it refused was not cached and is not read.
        """
        self.requests += 1
        self._marked = self._marked or bool(request.markers)
        ledger = self._ledgers.of(request)
        if first:
            self._add_head(ledger)
        if self.lint:
            self._look_at(request, ledger, number)
        if cached:
            step = self._rule.step(ledger, common_bytes, scope)
            self._input += step.input_tokens_estimated
            self._ceiling += step.ceiling_estimated
            self._read += step.read_estimated

    def broke(self, found: Finding) -> None:
        """Take a difference from the request before; planned and harmless ones do not count."""
        rules = [later for later in found.later if later.cause in RULE_CAUSES]
        if found.verdict.unplanned:
            rule = found.cause in RULE_CAUSES
            self._breaks.append(
                SeenBreak(found.request, found.cause, found.zone.value, found.path, rule, sentence_of(found))
            )
        self._hidden += ((found.request, key) for key in _hidden_keys(found))
        for later in rules:
            behind = f"behind {found.cause}, request {found.request} breaks a rule of planned breaks: "
            message = f"{behind}{later.cause} at {later.path or later.zone.value}"
            self._breaks.append(
                SeenBreak(
                    found.request, later.cause, later.zone.value, later.path, rule=True, message=message
                )
            )

    def measured(self, source: str, key: str, policy: str) -> Measured:
        """What was seen so far."""
        return Measured(
            source=source,
            key=key,
            policy=policy,
            requests=self.requests,
            breaks=tuple(self._breaks),
            lints=tuple(self._lints.values()),
            heads=tuple(sorted(self._heads.values(), key=lambda head: head.digest)),
            input_estimated=self._input,
            ceiling_estimated=self._ceiling,
            read_estimated=self._read,
            hidden=tuple(self._hidden),
            marked=self._marked,
        )

    def _add_head(self, ledger: Ledger) -> None:
        head = head_of(ledger)
        if head is not None:
            self._heads.setdefault(head.digest, head)

    def _look_at(self, request: PromptRequest, ledger: Ledger, number: int) -> None:
        stable = "".join(zone.hash for zone in ledger.zones if zone.zone in LINTED)
        if stable in self._looked_at:
            return
        self._looked_at.add(stable)
        lints = lint_zones(request)
        timed = {(found.path, found.section) for found in lints if found.kind == "time"}
        for found in lints:
            if found.kind == "date" and (found.path, found.section) in timed:
                continue  # one clock under one heading is one finding
            seen = SeenLint(
                request=number,
                cause=found.kind,
                zone=found.zone.value,
                path=found.path,
                section=found.section,
                message=self._words(found),
            )
            self._lints.setdefault(seen.key, seen)

    def _words(self, found: ZoneFinding) -> str:
        what = f"{found.text!r} " if self.content else "(not shown) "
        section = f" in {found.section!r}" if found.section else ""
        where = f"at byte {found.offset:,} of {found.path}{section}"
        return (
            f"{_LINT_WORDS[found.kind]} {what}stands in the stable part of the prompt, {where}. {found.mend}"
        )


def _hidden_keys(found: Finding) -> set[Key]:
    """Causes behind and beside the first one, without those that count as breaks of their own."""
    first = found.cause, found.zone.value, place_of(found.path)
    behind = {
        (later.cause, later.zone.value, place_of(later.path))
        for later in found.later
        if later.cause not in RULE_CAUSES
    }
    beside = {(one.cause, *first[1:]) for one in found.alongside}
    return (behind | beside) - {first}


_LINT_WORDS = {
    "time": "the clock",
    "date": "the date",
    "id": "the id",
    "temp_path": "the temporary path",
    "git_state": "the git state",
}


def sentence_of(found: Finding) -> str:
    """What a break is, where and what it costs, in one sentence, and what to do in another."""
    names = f" ({', '.join(found.names[:3])}{', ...' if len(found.names) > 3 else ''})" if found.names else ""
    what = f"request {found.request} parts from request {found.parent}{_where(found)}: {found.cause}{names}"
    return f"{what}; {_cost(found)}. {found.remedy or ''}".rstrip()


def _cost(found: Finding) -> str:
    size = f"{found.lost_bytes:,} bytes" if found.lost_bytes else ""
    if not found.lost_tokens_estimated and found.readable_estimated == 0:
        return f"{size} are sent anew, which costs nothing yet" if size else "it costs nothing yet"
    tokens = f"about {found.lost_tokens_estimated:,} tokens (estimated)"
    return f"{size}, {tokens}, are sent anew" if size else f"{tokens} are sent anew"


def _where(found: Finding) -> str:
    """Where a break stands; nothing for settings, markers and times, which stand nowhere in the text."""
    if found.segment is None:
        return ""
    where = found.segment if found.section is None else f"{found.segment} in {found.section!r}"
    return f" in {where}" + ("" if found.block_offset is None else f" at byte {found.block_offset:,}")


def head_of(ledger: Ledger) -> PromptHead | None:
    """Tools and system text as digests; None for a request with neither."""
    rolling = xxh3_128()
    marks: list[tuple[int, str]] = []
    sizes = dict.fromkeys(_HEAD, 0)
    for segment in _leading(ledger):
        rolling.update(segment.digest)
        sizes[segment.zone] += segment.bytes
        marks.append((sum(sizes.values()), rolling.hexdigest()[:8]))
    if not marks:
        return None
    return PromptHead(rolling.hexdigest()[:12], sizes[Zone.TOOLS], sizes[Zone.SYSTEM], tuple(marks))


def _leading(ledger: Ledger) -> Iterator[SegmentHash]:
    for segment in ledger.segments:
        if segment.zone not in _HEAD:
            return
        yield segment

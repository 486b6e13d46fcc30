"""Conversations that move to another provider or request format: no cache there holds any of them.

Such a request has no parent, since candidates share their format. It is looked at when it begins a lineage,
and only then; remembering a request costs nothing that grows with it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from coldturn.analysis.breaks.findings import Beside, Finding, Verdict
from coldturn.analysis.breaks.pair import PairOptions
from coldturn.analysis.verdicts.continued import (
    Mark,
    produced,
    same_agent,
    share_repeated,
    tell,
    written,
)
from coldturn.analysis.verdicts.findings import beside, placeless
from coldturn.analysis.verdicts.judge import Observed
from coldturn.analysis.verdicts.model import Case, Named, Sent, tokens_words
from coldturn.analysis.verdicts.readable import Readable, nothing_yet, readable_of
from coldturn.analysis.verdicts.timing import lifetime
from coldturn.analysis.verdicts.words import plain, seconds_words
from coldturn.reference.prefix.causes.branches import NEW_CONVERSATION
from coldturn.reference.prefix.elements import Content
from coldturn.reference.prefix.model import Comparison, Confidence, Zone
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.tokens import EstimatedTokens, estimate_tokens
from coldturn.reference.wire.model import Reply

MOST_CONVERSATIONS = 64
"""Conversations of one source that are remembered, the latest of them."""
_LEAST_SHARE = 0.5
"""Of the older messages: a side call looks at fewer."""
PROVIDER, API = "provider_changed", "api_changed"
"""The causes: another provider, or another request format of the same one."""


@dataclass(slots=True)
class _Held:
    """The latest request of a conversation, and what its first one said."""

    number: int
    request: PromptRequest
    reply: Reply | None
    sent: Sent
    missing: frozenset[Zone]
    first: Sequence[Content]
    marks: frozenset[Mark] | None = None

    def produced(self) -> frozenset[Mark]:
        """Marks of what the model wrote in it, sought once."""
        if self.marks is None:
            self.marks = produced(self.request, self.reply, self.first)
        return self.marks


@dataclass(slots=True)
class Handoffs:
    """The latest conversations of the source that is read, each by its latest request."""

    _source: str = ""
    _held: OrderedDict[str, _Held] = field(default_factory=OrderedDict)

    def remember(self, observed: Observed, lineage: str, number: int) -> None:
        """Take a request, once it has been judged; one that was refused leaves nothing.

        Args:
            observed: The request.
            lineage: Name of its conversation.
            number: Its number in the recording.
        """
        if observed.exchange.source != self._source:
            self._source = observed.exchange.source
            self._held.clear()
        if observed.sent.refused:
            return
        known = self._held.get(lineage)
        first = observed.request.contents if known is None else known.first
        self._held[lineage] = _Held(
            number,
            observed.request.without_body(),
            observed.reply,
            observed.sent,
            observed.exchange.parts_missing,
            first,
        )
        self._held.move_to_end(lineage)
        if len(self._held) > MOST_CONVERSATIONS:
            self._held.popitem(last=False)

    def begun(self, observed: Observed, number: int, options: PairOptions) -> Finding | None:
        """What is told of the first request of a lineage when it goes on with another one's conversation.

        Args:
            observed: The request.
            number: Its number in the recording.
            options: What a finding carries.
        """
        was = self._older(observed)
        if was is None:
            return None
        case = _as_if_continued(was, observed)
        readable = readable_of(case, 0)
        lost, why = _lost_estimated(case, readable)
        named = _named(was, observed, why)
        found = placeless(observed.request.labels.turn, named, Zone.NONE, lost, options)
        rules = was.sent.known.name
        return replace(
            found,
            source=observed.exchange.source,
            request=number,
            entry=observed.exchange.entry,
            parent=was.number,
            rules=None if readable is None else rules,
            readable_estimated=None if readable is None else readable.whole_estimated,
            read_estimated=None if readable is None else readable.left_estimated,
            read_reported=observed.sent.usage.read,
        )

    def beside(self, found: Finding | None, observed: Observed) -> Finding | None:
        """A finding at a place where another conversation begins, with the one that it comes from.

        Args:
            found: What was found; anything else than such a beginning is given as it is.
            observed: The request.
        """
        if found is None or NEW_CONVERSATION not in found.kinds:
            return found
        was = self._older(observed)
        if was is None:
            return found
        told: Beside = beside(_named(was, observed, None))
        return replace(found, alongside=(*found.alongside, told))

    def _older(self, observed: Observed) -> _Held | None:
        """The latest request, in another format, of the conversation that a request goes on with."""
        request = observed.request
        if observed.exchange.source != self._source:
            return None
        others = [one for one in self._held.values() if one.request.surface is not request.surface]
        marks = written(request) if others else frozenset()
        if not marks:
            return None
        return next((one for one in reversed(others) if _goes_on(one, observed, marks)), None)


def _goes_on(was: _Held, now: Observed, marks: frozenset[Mark]) -> bool:
    own = was.produced()
    missing = was.missing | now.exchange.parts_missing
    return (
        tell(own, own & marks)
        and same_agent(was.request, now.request, missing)
        and share_repeated(was.request, now.request) >= _LEAST_SHARE
    )


def _as_if_continued(was: _Held, now: Observed) -> Case:
    """The pair as it would have been had the conversation gone on where it was, under the rules there."""
    size = was.sent.bytes
    unbroken = Comparison(size, size, now.sent.bytes, stable=True, first=None, wire_drift=False)
    return Case(was.request, now.request, was.sent, replace(now.sent, known=was.sent.known), unbroken, size)


def _lost_estimated(case: Case, readable: Readable | None) -> tuple[EstimatedTokens, str | None]:
    """Tokens that a cache would have kept where the conversation was, and why they are none."""
    nothing = EstimatedTokens(0)
    if readable is None:
        return estimate_tokens(min(case.was.bytes, case.now.bytes)), None
    if not readable.whole_estimated:
        return nothing, nothing_yet(case)
    gap, ttl = case.gap, lifetime(case)
    if gap is not None and ttl is not None and gap > ttl:
        return nothing, f"its entry there had expired, {seconds_words(gap)} after its last use"
    read = case.now.usage.read or 0
    if read >= readable.whole_estimated:
        return nothing, f"the provider read {tokens_words(read)} all the same"
    whole = min(readable.whole_estimated, case.input_tokens)
    return EstimatedTokens(max(whole - read, 0)), None


def _named(was: _Held, now: Observed, why: str | None) -> Named:
    older, newer = _provider(was.request, was.sent), _provider(now.request, now.sent)
    same = older == newer or (was.sent.host == now.sent.host != "")
    place, here = _words(older, was.request), _words(newer, now.request)
    evidence = f"goes on with the conversation of request {was.number}, which went to {place}; "
    evidence += (
        f"caches are not known to be shared with {here}"
        if same
        else f"no cache of {here} holds any of it yet"
    )
    if why is not None:
        evidence += f"; {why}"
    return Named(
        API if same else PROVIDER,
        Verdict.COLD_START,
        Confidence.INFERRED,
        evidence,
        was=place,
        now=here,
    )


def _provider(request: PromptRequest, sent: Sent) -> str:
    """Who serves a request: by the rules that fit, else by its address, else by its format."""
    rules = sent.known.rules
    if rules is not None and not sent.known.named:
        return rules.provider
    return sent.host or request.provider


def _words(provider: str, request: PromptRequest) -> str:
    model = f" {plain(request.model)}" if request.model else ""
    return f"{plain(provider)}{model} ({request.surface.value})"

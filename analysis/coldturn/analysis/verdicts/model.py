"""What verdicts are made of: what is kept of each request, and a request beside its parent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from coldturn.analysis.breaks.findings import Verdict
from coldturn.analysis.entries.prefix import Grid
from coldturn.analysis.estimates.named_caches import Naming
from coldturn.analysis.estimates.ruleset import EntryModel, Parameters, RuleSet
from coldturn.analysis.estimates.usage import ProviderUsage
from coldturn.analysis.verdicts.entry_book import Lifetimes, Look, Places
from coldturn.analysis.verdicts.signs import NO_SIGNS, Signs
from coldturn.analysis.verdicts.words import count_words
from coldturn.reference.prefix.model import Comparison, Confidence, Fidelity, Zone
from coldturn.reference.prefix.request import PromptRequest
from coldturn.reference.tokens import EstimatedTokens

BYTES_PER_TOKEN = 4
_HIDDEN_FACTOR = 3
_HIDDEN_LEAST = 1_000


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From when on tokens that were not read count as a miss; both must hold.

    The defaults are those by which Claude Code warns of a broken cache.

    Attributes:
        tokens: Tokens that were processed again though they could have been read.
        share: The same as a share of what could have been read.
    """

    tokens: int = 2_000
    share: float = 0.05

    def exceeded(self, missed: int, readable: int) -> bool:
        """Whether so many missed tokens of so many readable ones are a miss."""
        return missed >= self.tokens and missed > self.share * readable


@dataclass(frozen=True, slots=True)
class Known:
    """The rules for one format, host and model; without any, `problem` says why.

    Attributes:
        host: Of the address; empty when the recording has none.
        named: A user named them, whatever the recording says.
        elsewhere: Names of rules for this format and model at other hosts, where there are none for this one.
        grid: Where a match may end.
    """

    rules: RuleSet | None
    parameters: Parameters
    host: str = ""
    problem: str | None = None
    named: bool = False
    elsewhere: tuple[str, ...] = ()
    grid: Grid = field(default_factory=Grid)

    @property
    def name(self) -> str | None:
        """Their name; None without any."""
        return None if self.rules is None else self.rules.name

    @property
    def provider(self) -> str | None:
        """Whose they are; None without any."""
        return None if self.rules is None else self.rules.provider

    @property
    def model(self) -> EntryModel | None:
        """The entry model; None without rules."""
        return None if self.rules is None else self.rules.model


@dataclass(slots=True)
class Sent:
    """What later requests need to know of one request; they change `intact` and `latest`.

    Attributes:
        bytes: Content bytes.
        started: Epoch seconds, as is `answered`, when its answer began; None when unknown.
        refused: The server did not answer it.
        continues: It names the response that it continues, so that its bytes are not all of its input.
        places: Where it writes and looks, for providers that read written entries only.
        ttl: Seconds that it asked its entries to be kept; None for the rules' own. `lifetimes` are the
            longest that any request of its lineage asked for so far.
        routes: Request headers that decide where it goes, and the betas it asks for.
        upstream: Who served it, where the answer names somebody.
        envelope: Top-level keys in the order sent, where that is part of the key.
        naming: The explicit cache that it names, and what was known of that then.
        parent: Index of its parent; `intact`: it repeats that in full.
        latest: Latest start of a request in its lineage that repeats it or that it repeats.
        signs: What its answer and its time tell besides usage.
    """

    known: Known
    model: str | None
    bytes: int
    started: float | None
    answered: float | None
    refused: bool
    usage: ProviderUsage
    continues: bool = False
    places: Places | None = None
    ttl: float | None = None
    lifetimes: Lifetimes | None = None
    routes: tuple[tuple[str, str], ...] = ()
    upstream: str | None = None
    envelope: tuple[str, ...] | None = None
    naming: Naming | None = None
    parent: int | None = None
    intact: bool = False
    latest: float | None = None
    signs: Signs = NO_SIGNS

    @property
    def host(self) -> str:
        """Where it was sent; empty when the recording has no address."""
        return self.known.host

    @property
    def is_plain(self) -> bool:
        """Whether neither a report, nor markers, nor the order of keys can tell anything of it."""
        return (
            self.usage.read is None
            and self.envelope is None
            and not self.known.named
            and self.known.model is not EntryModel.WRITTEN_ENTRIES
        )

    @property
    def counts_more(self) -> bool:
        """Whether the provider counts much that was not sent: pages it fetched, steps of its own tools."""
        if self.continues:
            return False
        sent = self.bytes / BYTES_PER_TOKEN
        return (self.usage.input or 0) > _HIDDEN_FACTOR * sent + _HIDDEN_LEAST

    @property
    def input(self) -> int | None:
        """Its reported input, where that stands for what was sent."""
        return None if self.counts_more else self.usage.input

    @property
    def tokens_per_byte(self) -> float | None:
        """By its reported input; None without one."""
        if self.continues:
            return None
        return self.input / self.bytes if self.input and self.bytes else None


def _nobody() -> Iterator[Sent]:
    return iter(())


@dataclass(slots=True)
class Case:
    """A request beside the one that it continues; nobody changes it (not frozen: that costs per request).

    Attributes:
        was: What is known of `parent`; `now` of `child`.
        stable_bytes: Content bytes of the parent without a tagged block at its end.
        missing: Zones that the recording does not hold.
        look: Which entries the child finds, where a provider reads written ones only.
        ancestors: Tells what is known of earlier requests that the parent repeats, the nearest first.
        cleared: Settings that no rule knows and that differed where all was read; they are suspected no more.
        earlier_bytes: Content bytes from the start that some earlier request left to be read, where a
            provider reads without markers.
    """

    parent: PromptRequest
    child: PromptRequest
    was: Sent
    now: Sent
    comparison: Comparison
    stable_bytes: int
    thresholds: Thresholds = field(default_factory=Thresholds)
    missing: frozenset[Zone] = frozenset()
    look: Look | None = None
    ancestors: Callable[[], Iterator[Sent]] = _nobody
    earlier_bytes: int = 0
    cleared: set[str] = field(default_factory=set)

    @property
    def known(self) -> Known:
        """The child's rules."""
        return self.now.known

    @property
    def by_reference(self) -> bool:
        """Whether the child names the response that it continues and sends only what is new."""
        return self.child.previous_response_id is not None

    @property
    def keeps_markers(self) -> bool:
        """Whether the recording holds bodies, with markers and key order, rather than messages alone."""
        kept = (Fidelity.WIRE, Fidelity.CANONICAL)
        return self.parent.fidelity in kept and self.child.fidelity in kept

    @property
    def same_cache(self) -> bool:
        """Whether both go to one model at one host, as far as the recording names hosts."""
        was, now = self.was, self.now
        return was.model == now.model and (was.host == now.host or not was.host or not now.host)

    @property
    def text_offset(self) -> int:
        """Content bytes that both have in common, at most the parent's stable part."""
        return self.stable_bytes if self.comparison.stable else self.comparison.common_bytes

    def tokens_estimated(self, size: int) -> EstimatedTokens:
        """Tokens of so many content bytes, by what the provider counted of the parent or the child."""
        rate = self.was.tokens_per_byte or self.now.tokens_per_byte or 1 / BYTES_PER_TOKEN
        return EstimatedTokens(round(size * rate))

    @property
    def input_tokens(self) -> int:
        """The child's whole input: reported, else estimated."""
        return self.now.input or self.tokens_estimated(self.now.bytes)

    @property
    def gap(self) -> float | None:
        """Seconds since the last use of the parent's entry that the recording shows; None without times."""
        since = self.was.latest if self.was.latest is not None else self.was.started
        if self.look is not None and self.look.text_hit is not None:
            since = self.look.text_hit.used
        if self.now.started is None or since is None:
            return None
        return self.now.started - since


@dataclass(frozen=True, slots=True)
class Named:
    """A cause that no prompt byte shows, with what it means.

    Attributes:
        evidence: In words with figures, without prompt text.
        tiers: Tiers that a setting takes out of the cache.
        keys: The settings, as paths in the body or names of headers.
        path: Of the block in the older request whose marker is at fault.
        remedy: Advice for this case in place of that for its cause.
    """

    cause: str
    verdict: Verdict
    confidence: Confidence
    evidence: str
    tiers: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    was: str | None = None
    now: str | None = None
    lost_bytes: int = 0
    path: str | None = None
    remedy: str | None = None

    @property
    def counts(self) -> bool:
        """Whether something was lost that could have been read."""
        return self.verdict is not Verdict.BROKEN_HARMLESS


def tokens_words(count: int) -> str:
    """``1 token``, ``2,000 tokens``."""
    return count_words(count, "token")
